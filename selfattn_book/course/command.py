"""Check an answer file from the command line: ``python -m selfattn_book check CHAPTER FILE``."""

import argparse
import json
import re
import sys
from pathlib import Path

from selfattn_book import __version__
from selfattn_book.course.chapters import chapters, exercises_of
from selfattn_book.course.sandbox import Limits, Outcome, run

EDITION = re.compile(r"^# edition: *(\S+)", re.MULTILINE)


def main(words: list[str]) -> int:
    """Check an answer file, or write the beginning of one, and return the exit code."""
    options = _options(words)
    try:
        if options.stub:
            _write_stub(options.chapter, options.file)
            return 0
        _look_at(options.chapter, options.file)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    outcome = run(options.chapter, options.file, Limits(seconds=options.seconds))
    print(json.dumps(vars(outcome)) if options.json else told(outcome))
    return 0 if _is_whole(outcome) else 1


def told(outcome: Outcome) -> str:
    """Say in words what came of an answer file."""
    if outcome.stopped:
        printed = f"\nIt had printed:\n{outcome.printed}" if outcome.printed else ""
        return f"No points: {outcome.stopped}.{printed}"
    return "\n".join(result["told"] for result in outcome.results)


def _is_whole(outcome: Outcome) -> bool:
    results = outcome.results
    return bool(results) and all(
        result["points"] == result["possible"] for result in results
    )


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m selfattn_book check",
        description="Check your answer to a chapter's exercises in code.",
        epilog=f"Chapters: {', '.join(chapters())}.",
    )
    parser.add_argument("chapter", help="as in its address, such as masks")
    parser.add_argument("file", type=Path, help="your answer, such as answer.py")
    parser.add_argument(
        "--stub", action="store_true", help="write a file to begin with"
    )
    parser.add_argument(
        "--json", action="store_true", help="print what a grader reads"
    )
    parser.add_argument(
        "--seconds", type=float, default=60, help="how long it may run"
    )
    return parser.parse_args(words)


def _look_at(chapter: str, file: Path) -> None:
    """Refuse what cannot be an answer to the exercises of a chapter."""
    exercises_of(chapter)
    if not file.is_file():
        raise ValueError(f"an answer must be a file; there is no {file}")
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"an answer must be Python, as text in UTF-8; {file} is not"
        ) from error
    if not text.strip():
        raise ValueError(f"an answer must define something; {file} is empty")
    edition = EDITION.search(text)
    if edition and edition[1] != __version__:
        rule = f"these checks are of edition {__version__}"
        raise ValueError(f"{rule}; {file} was begun with edition {edition[1]}")


def _write_stub(chapter: str, file: Path) -> None:
    """Write what a student begins with; a file that is there is left alone."""
    stubs = [exercise.stub for exercise in exercises_of(chapter)]
    head = f"# {chapter}\n# edition: {__version__}\nimport torch\n"
    if file.exists():
        raise ValueError(f"a stub must be a new file; there is a {file} already")
    file.write_text("\n\n".join([head, *stubs]) + "\n", "utf-8")
    print(
        f"{file} is yours to fill in. Then: python -m selfattn_book check {chapter} {file}"
    )
