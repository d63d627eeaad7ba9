"""The other end of the sandbox: load an answer file, ask it, and write down what came.

Run as ``python -m selfattn_book.course.student CHAPTER FILE RESULT MEMORY``.
"""

import json
import sys
import traceback
from pathlib import Path
from typing import Any

from selfattn_book.course.chapters import exercises_of
from selfattn_book.course.exercise import Exercise, Report


def main(chapter: str, file: Path, result: Path, memory: int) -> None:
    """Check an answer file, and write the result."""
    exercises = exercises_of(chapter)
    limit_memory(memory)
    result.with_suffix(".started").touch()
    try:
        names = load(file)
    except BaseException as error:
        write(result, [], stopped=told(error, file))
        return
    results = [
        as_data(exercise(names[exercise.name]))
        if exercise.name in names
        else nothing(exercise)
        for exercise in exercises
    ]
    write(result, results)


def load(file: Path) -> dict[str, Any]:
    """Run an answer file, and return what it defines."""
    names: dict[str, Any] = {"__name__": "answer", "__file__": str(file)}
    sys.path.insert(0, str(file.parent))
    exec(compile(file.read_text("utf-8"), str(file), "exec"), names)
    return names


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


def write(result: Path, results: list[dict[str, Any]], stopped: str = "") -> None:
    """Leave the result where the other end looks for it, whole or not at all."""
    part = result.with_suffix(".part")
    part.write_text(json.dumps({"results": results, "stopped": stopped}), "utf-8")
    part.replace(result)


if __name__ == "__main__":
    chapter, file, result, memory = sys.argv[1:]
    main(chapter, Path(file), Path(result), int(memory))
