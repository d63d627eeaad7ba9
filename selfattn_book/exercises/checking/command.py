"""Check an answer file from the command line: ``python -m selfattn_book check CHAPTER FILE``.

The answer runs in one plain subprocess with a time limit. This protects against endless loops and
crashes of one's own code; it is not an examination, and grades belong to otter-grader.
"""

import argparse
import re
import subprocess
import sys
import traceback
from pathlib import Path

from selfattn_book import __version__
from selfattn_book.exercises.checking.chapters import chapters, exercise_of

EDITION = re.compile(r"^# edition: *(\S+)", re.MULTILINE)
NOTE = "(A self-check for learners, not an examination.)"


def main(words: list[str]) -> int:
    """Check an answer file, or write the stub of one, and return the exit code."""
    options = _options(words)
    try:
        if options.stub:
            _write_stub(options.chapter, options.file)
            return 0
        _refuse_unless_answer(options.chapter, options.file)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    program = f"import sys; from {__name__} import check_file; sys.exit(check_file(*sys.argv[1:]))"
    command = [sys.executable, "-c", program, options.chapter, str(options.file)]
    try:
        code = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=options.seconds).returncode
    except subprocess.TimeoutExpired:
        print(f"No points: the answer did not finish within {options.seconds:g} seconds.")
        code = 1
    if code not in (0, 1):
        print(f"No points: the answer ended the program (exit code {code}).")
    print(NOTE)
    return min(abs(code), 1)


def check_file(chapter: str, file: str) -> int:
    """Run an answer file, check its answer, and return 0 if it is right."""
    names = {"__name__": "answer", "__file__": file}
    sys.path.insert(0, str(Path(file).parent))
    try:
        exec(compile(Path(file).read_text("utf-8"), file, "exec"), names)
    except BaseException as error:
        print(f"No points: {_place(error, file)}{' '.join(str(error).split())}")
        return 1
    exercise = exercise_of(chapter)
    if exercise.name not in names:
        print(f"{exercise.name}: 0 points; nothing with this name is defined")
        return 1
    report = exercise(names[exercise.name])
    print(report)
    return 0 if report else 1


def _place(error: BaseException, file: str) -> str:
    """Return the line of an answer file that raised an error."""
    frames = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    line = error.lineno if isinstance(error, SyntaxError) else next(reversed(frames), None)
    return f"line {line} raised {type(error).__name__}: "


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m selfattn_book check",
        description="Check your answer to the coding exercise of a chapter.",
        epilog=f"Chapters: {', '.join(chapters())}.",
    )
    parser.add_argument("chapter", help="name of the chapter, such as masks")
    parser.add_argument("file", type=Path, help="your answer, such as answer.py")
    parser.add_argument("--stub", action="store_true", help="write a file to start from")
    parser.add_argument("--seconds", type=float, default=60, help="time limit")
    return parser.parse_args(words)


def _refuse_unless_answer(chapter: str, file: Path) -> None:
    """Raise unless the chapter has an exercise and the file holds text of this edition."""
    exercise_of(chapter)
    if not file.is_file():
        raise ValueError(f"an answer must be a file; got {file}, which does not exist")
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"an answer must be Python code in UTF-8; got {file}") from error
    if not text.strip():
        raise ValueError(f"an answer must define something; {file} is empty")
    edition = EDITION.search(text)
    if edition and edition[1] != __version__:
        rule = f"these checks are for edition {__version__}"
        raise ValueError(f"{rule}; {file} was started with edition {edition[1]}")


def _write_stub(chapter: str, file: Path) -> None:
    """Write the stub of a chapter's exercise to a new file."""
    stub = exercise_of(chapter).stub
    if file.exists():
        raise ValueError(f"a stub must be a new file; {file} exists")
    file.write_text(f"# {chapter}\n# edition: {__version__}\nimport torch\n\n\n{stub}\n", "utf-8")
    print(f"Complete {file}, then run: python -m selfattn_book check {chapter} {file}")
