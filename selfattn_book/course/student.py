"""The other end of the sandbox: load an answer file, ask it, and write down what came.

Run as ``python -m selfattn_book.course.student``, with a :class:`Job` as JSON at its standard input.
"""

import json
import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfattn_book.course.chapters import exercises_in, exercises_of
from selfattn_book.course.exercise import Exercise, Report
from selfattn_book.course.guard import Untouched, confine


@dataclass(frozen=True)
class Job:
    """What is to be done.

    Args:
        chapter: the name of a chapter that has exercises in code, or empty.
        checks: instead of a chapter, a file with exercises for credit.
        numbers: those of the student, for exercises for credit.
        file: the answer.
        result: where the result is looked for.
        memory: bytes that the answer may use in addition to those at its start.
        seal: a word that the result has to carry, and that no answer can guess.
        confined: keep the answer from other files, from starting programs, and from the checks.
    """

    chapter: str
    checks: str
    numbers: dict[str, Any]
    file: str
    result: str
    memory: int
    seal: str
    confined: bool

    def exercises(self) -> list[Exercise]:
        """Return what the answer is asked."""
        if self.checks:
            return list(exercises_in(Path(self.checks), self.numbers))
        return list(exercises_of(self.chapter))


def main(job: Job) -> None:
    """Check an answer file, and write the result."""
    file, result = Path(job.file), Path(job.result)
    exercises = job.exercises()
    limit_memory(job.memory)
    result.with_suffix(".started").touch()
    relied_on = Untouched()
    if job.confined:
        confine(file)
    try:
        names = load(file)
    except BaseException as error:
        write(job, [], stopped=told(error, file))
        return
    results = [
        as_data(exercise(names[exercise.name]))
        if exercise.name in names
        else nothing(exercise)
        for exercise in exercises
    ]
    if job.confined and (touched := relied_on.changed()):
        write(job, [], stopped=f"it exchanged {touched}, which is not its own")
        return
    write(job, results, student=names.get("student_id"))


def load(file: Path) -> dict[str, Any]:
    """Run an answer file or notebook, and return what it defines."""
    names: dict[str, Any] = {"__name__": "answer", "__file__": str(file)}
    sys.path.insert(0, str(file.parent))
    if file.suffix == ".ipynb":
        run_notebook(file, names)
    else:
        exec(compile(file.read_text("utf-8"), str(file), "exec"), names)
    return names


def run_notebook(file: Path, names: dict[str, Any]) -> None:
    """Run the cells of a notebook; as in Jupyter, one that fails does not stop those after it."""
    for cell in json.loads(file.read_text("utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code" or is_for_otter(source):
            continue
        kept = [
            line for line in source.splitlines() if line.lstrip()[:1] not in "%!"
        ]
        try:
            exec(compile("\n".join(kept), str(file), "exec"), names)
        except Exception as error:
            print(f"{type(error).__name__} in a cell: {error}")


def is_for_otter(source: str) -> bool:
    """Tell whether a cell only asks otter for its own checks.

    Example:
        >>> is_for_otter('grader.check("mask")'), is_for_otter("import torch")
        (True, False)
    """
    return "grader." in source or "import otter" in source


def told(error: BaseException, file: Path) -> str:
    """Say in a line what stopped an answer file, and where."""
    said = " ".join(str(error).split()) or "no message"
    line = line_of(error, file)
    place = f" in line {line}" if line else ""
    return f"it stopped{place} with {type(error).__name__}: {said}"


def line_of(error: BaseException, file: Path) -> int | None:
    """Return the last line of a file that an error has come through, if any."""
    if isinstance(error, SyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    return lines[-1] if lines else None


def as_data(report: Report) -> dict[str, Any]:
    """Return a report as what JSON can hold."""
    asked = [
        {
            "told": question.told,
            "points": question.points if answer else 0,
            "possible": question.points,
            "kind": answer.kind,
            "reason": answer.reason,
            "misconception": answer.misconception,
            "reread": question.reread,
        }
        for question, answer in report.results
    ]
    return {
        "name": report.name,
        "points": report.points,
        "possible": report.possible,
        "asked": asked,
        "told": repr(report),
    }


def nothing(exercise: Exercise) -> dict[str, Any]:
    """Return the result of an exercise that was not answered."""
    possible = sum(asked.points for asked in exercise.questions)
    told = f"{exercise.name}: 0 of {possible} points\n  no   nothing of this name is defined"
    return {
        "name": exercise.name,
        "points": 0,
        "possible": possible,
        "asked": [],
        "told": told,
    }


def limit_memory(extra: int) -> None:
    """Let this process take no more than so much in addition to what it has, where that can be said."""
    pages = Path("/proc/self/statm")
    if not pages.exists():  # as on macOS and Windows
        return
    import resource

    now = int(pages.read_text("utf-8").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + extra, now + extra))


def write(
    job: Job,
    results: list[dict[str, Any]],
    stopped: str = "",
    student: object = None,
) -> None:
    """Leave the result where the other end looks for it, whole or not at all.

    Args:
        job: what was to be done.
        results: of each exercise.
        stopped: why there are none.
        student: the id that the answer gives itself, if any.
    """
    by = student if isinstance(student, str) else ""
    result = Path(job.result)
    part = result.with_suffix(".part")
    told = {"results": results, "stopped": stopped, "student": by}
    found = {**told, "seal": job.seal}
    part.write_text(json.dumps(found), "utf-8")
    os.replace(part, result)


if __name__ == "__main__":
    main(Job(**json.load(sys.stdin)))
