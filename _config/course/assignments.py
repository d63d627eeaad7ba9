"""Make the assignments: for students a notebook, for otter an archive, for instructors notes.

`python -m _config.course.assignments CHAPTER ... --key KEY`; without a chapter, all weeks. Weeks are
numbered as in the table for instructors, or as in a file of yours: `--weeks FILE.csv`. With `--roster
FILE.csv`, exercises by hand are also printed, with a page for each student, and a key.
Each week is in `_build/assignments/week-05-masks/`, and `_build/assignments/instructors.zip` has all.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from _config.course import for_otter
from _config.course.notes import notes
from _config.course.printed import write
from _config.course.submissions import read_roster
from _config.course.weeks import ROOT, SOURCES, Week, calendar, week_of
from selfattn_book.exercises.checking.variants import week_code

MADE = ROOT / "_build" / "assignments"
GRADER = "__init__", "plugin", "grading", "answering", "confined", "wire"
GRADER_PROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "selfattn-book-grader"
version = "1"
requires-python = ">=3.11"

[tool.hatch.build.targets.wheel]
packages = ["_config"]
"""


def main(words: list[str]) -> int:
    """Make the chosen assignments, and return the exit code."""
    options = arguments(words)
    try:
        numbers = calendar(options.weeks)
        weeks = [week_of(name, numbers) for name in options.chapters or numbers]
        codes = [week_code(options.key, week.chapter) for week in weeks]
        who = [*read_roster(options.roster).values()] if options.roster else []
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    MADE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=MADE, prefix=".making-") as scratch:
        wheels = [make_wheel(Path(scratch)), make_wheel(Path(scratch), grader(Path(scratch)))]
        for week, code in zip(weeks, codes, strict=True):
            made = make(week, code, wheels, Path(scratch))
            if who and not write(week, code, who, made):
                print(f"{week.name}: no exercise by hand to print")
            print(f"{week.name}: {sum(e.points for e in week.exercises)} points", flush=True)
    archive()
    print(f"\nStudents get student/, instructors {MADE / 'instructors.zip'}.")
    return 0


def arguments(words: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="assignments", description="Make the assignments.", fromfile_prefix_chars="@"
    )
    parser.add_argument("chapters", nargs="*", help="as in masks; all without a name")
    parser.add_argument("--weeks", type=Path, help="a CSV file with the columns week and chapter")
    parser.add_argument("--roster", type=Path, help="a CSV file with the columns id and name")
    parser.add_argument("--key", required=True, help="a secret, the same for the whole course")
    return parser.parse_args(words)


def make_wheel(folder: Path, source: Path = ROOT) -> Path:
    """Build a package, by default the book's, for the archive."""
    before = {*folder.glob("*.whl")}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    [wheel] = {*folder.glob("*.whl")} - before
    return wheel


def grader(folder: Path) -> Path:
    """Return a folder with the package of the grader, which students do not get."""
    package = folder / "grader" / "_config" / "course"
    package.mkdir(parents=True)
    for name in GRADER:
        shutil.copy(Path(__file__).with_name(f"{name}.py"), package)
    (folder / "grader" / "pyproject.toml").write_text(GRADER_PROJECT, "utf-8")
    return folder / "grader"


def make(week: Week, code: str, wheels: list[Path], scratch: Path) -> Path:
    """Make one week in a scratch folder, move it to its place, and return that."""
    work = scratch / week.chapter
    work.mkdir()
    source = for_otter.write(week, code, wheels, work)
    assign(source, work / "dist")
    made = scratch / week.name
    for part in ("source", "student", "solution"):
        (made / part).mkdir(parents=True)
    shutil.copy(source, made / "source")
    for_students = work / "dist" / "student" / source.name
    if leaked := leaks(week, for_students.read_text("utf-8")):
        raise RuntimeError(f"the notebook for students must have no solutions; got {leaked!r}")
    shutil.copy(for_students, made / "student")
    shutil.copy(work / "dist" / "autograder" / source.name, made / "solution")
    (archive,) = (work / "dist" / "autograder").glob("*.zip")
    shutil.copy(archive, made / "autograder.zip")
    (made / "instructor-notes.md").write_text(notes(week, code), "utf-8")
    shutil.rmtree(MADE / week.name, ignore_errors=True)
    return made.replace(MADE / week.name)


def leaks(week: Week, notebook: str) -> str:
    """Return a line of a solution that is in a notebook for students, or an empty string."""
    for exercise in week.exercises:
        begun = exercise.cells.get("stub", "")
        code = exercise.cells.get("solution", "").splitlines()
        lines = [line.strip() for line in [*code, *exercise.solution.splitlines()]]
        for line in lines:
            if len(line) > 25 and line not in begun and json.dumps(line)[1:-1] in notebook:
                return line
    return ""


def assign(source: Path, made: Path) -> None:
    """Let otter make its notebooks and archive, and try the archive on the solution."""
    command = [sys.executable, "-m", "otter", "assign", "--no-pdfs", source, made]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}  # for the plugin
    options = {"cwd": source.parent, "env": environment, "capture_output": True, "text": True}
    run = subprocess.run(command, **options)
    if run.returncode:
        raise RuntimeError(f"otter could not make {source.stem}:\n{run.stdout}{run.stderr}")


def archive() -> None:
    """Pack everything for instructors into one file."""
    part = MADE / "instructors.part"
    with ZipFile(part, "w", ZIP_DEFLATED) as archive:
        for file in sorted(MADE.glob("week-*/**/*")):
            if file.is_file():
                archive.write(file, file.relative_to(MADE))
        for file in [*SOURCES.glob("*.md"), *SOURCES.glob("checks/*.py")]:
            archive.write(file, Path("sources") / file.relative_to(SOURCES))
    part.replace(MADE / "instructors.zip")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
