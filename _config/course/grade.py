"""Grade the answers in a folder: a row of a gradebook for each student, and a report to hand back.

`python -m _config.course.grade CHAPTER FOLDER GRADEBOOK.csv --key KEY`
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from _config.course import gradebook
from _config.course.gradebook import Graded
from _config.course.submissions import Submission, submissions
from _config.course.weeks import Week, week_of
from selfattn_book.course import sandbox
from selfattn_book.course.sandbox import Limits
from selfattn_book.course.variants import checked_id, week_code


def main(words: list[str]) -> int:
    """Grade a folder, and return the exit code."""
    options = arguments(words)
    begun = time.monotonic()
    try:
        week = week_of(options.chapter)
        code = week_code(options.key, week.chapter)
        found = submissions(options.folder)
        book = gradebook.Gradebook(week, options.gradebook)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    with book:
        limits = Limits(seconds=options.seconds)
        for number, graded in enumerate(each(week, code, found, limits), 1):
            book.add(graded)
            told = graded.outcome.stopped or f"{graded.points:g} of {graded.possible:g} points"
            print(f"{number} of {len(found)}: {graded.student}: {told}", flush=True)
    print(f"\n{book.summary()} It took {time.monotonic() - begun:.0f} seconds.")
    return 0


def arguments(words: list[str]) -> argparse.Namespace:
    """Read what is asked for."""
    parser = argparse.ArgumentParser(
        prog="grade", description="Grade the answers in a folder.", fromfile_prefix_chars="@"
    )
    parser.add_argument("chapter", help="as in masks")
    parser.add_argument("folder", type=Path, help="of ID.py or ID.ipynb")
    parser.add_argument("gradebook", type=Path, help="a new CSV file")
    parser.add_argument("--key", required=True, help="the one that the assignments were made with")
    parser.add_argument("--seconds", type=float, default=60, help="that an answer may run")
    return parser.parse_args(words)


def each(week: Week, code: str, found: list[Submission], limits: Limits) -> Iterator[Graded]:
    """Yield what came of each answer, as soon as it has come; several are asked at once."""
    with ThreadPoolExecutor(max_workers=max(1, os.cpu_count() or 1)) as pool:
        tasks = [pool.submit(one, week, code, submission, limits) for submission in found]
        try:
            for task in as_completed(tasks):
                yield task.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def one(week: Week, code: str, submission: Submission, limits: Limits) -> Graded:
    """Grade one answer, alone in a folder: it may read what lies beside it."""
    numbers = week.drawn(code, submission.student)
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder, f"answer{submission.file.suffix}")
        shutil.copyfile(submission.file, alone)
        outcome = sandbox.grade(week.checks, numbers, alone, limits)
    return Graded(submission.student, numbers, outcome, other_id(submission, outcome.student))


def other_id(submission: Submission, given: str) -> str:
    """Return the id that an answer gives itself, if it is not that of its file."""
    try:
        return "" if not given or checked_id(given) == checked_id(submission.student) else given
    except ValueError:
        return given


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
