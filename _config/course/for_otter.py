"""Write an assignment for otter: a notebook with raw cells as marks."""

import json
import re
import shutil
import tomllib
from base64 import b64encode
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

import selfattn_book
from _config.bookproof.notebooks import installing
from _config.course.weeks import ROOT, Exercise, Week
from selfattn_book.exercises.checking.exercise import Question

Cell = Any
HAND_IN = """Write your id as a text, run all cells from the top, and hand in this notebook.
Your numbers are drawn from your id, so each student has different ones.
The cells below each exercise check the form of your answer; its points are given later."""
CPU = "--extra-index-url https://download.pytorch.org/whl/cpu"  # PyTorch without CUDA
BEGIN = """\
try:
    import otter

    grader = otter.Notebook("{notebook}")
except (ImportError, ValueError):  # not installed, or on Colab
    from types import SimpleNamespace

    grader = SimpleNamespace(check=lambda name: f"{{name}} is checked after you hand it in.")"""


def notebook(week: Week, code: str, wheels: list[Path]) -> nbformat.NotebookNode:
    """Return the notebook of a week for `otter assign`."""
    heading = f"# Week {week.number}: {week.title}\n\n{week.opening}\n\n{HAND_IN}"
    cells = [
        new_raw_cell("# ASSIGNMENT CONFIG\n" + settings(week, code, wheels)),
        new_markdown_cell(heading),
        new_code_cell(beginning(week)),
        new_code_cell(f'student_id = "solution-{week.chapter}"  # SOLUTION'),
        new_code_cell(drawing(week, code)),
    ]
    for exercise in week.exercises:
        cells += cells_of(week, exercise)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def beginning(week: Week) -> str:
    """Return the cell that installs the book where it is missing, and begins otter where it is there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    site = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["site"]
    installed = installing("selfattn_book", selfattn_book.__version__, site, CPU)
    return f"{installed}\n\n{BEGIN.format(notebook=f'{week.chapter}.ipynb')}"


def settings(week: Week, code: str, wheels: list[Path]) -> str:
    """Return otter's settings for an assignment: points are those of the plugin."""
    files = ["checks.py", *(wheel.name for wheel in wheels)]
    installed = [f"/autograder/source/files/{wheel.name}" for wheel in wheels]
    credit = {"_config.course.plugin.Credit": {"code": code, "numbers": week.numbers}}
    return f"""name: {week.chapter}
solutions_pdf: false
template_pdf: false
export_cell: false
init_cell: false
strip_solutions_from_all_cells: true
tests: {{ok_format: false}}
generate: {{pdf: false, show_hidden: true, force_public_test_summary: false, show_stdout: true}}
autograder_files: {json.dumps(files)}
requirements: {json.dumps([CPU, "torch", *installed])}
plugins: {json.dumps([credit])}
"""


def drawing(week: Week, code: str) -> str:
    """Return the cell that draws a student's numbers; programs to draw from are encoded in it."""
    choices, imports = "", "import math\n\nimport torch"
    for name, given in week.numbers.items():
        if name == "program":
            encoded = [b64encode(program.encode()).decode() for program in given]
            choices += f"    {name!r}: [b64decode(text).decode() for text in {encoded}],\n"
            imports = "import math\nfrom base64 import b64decode\n\nimport torch"
        else:
            choices += f"    {name!r}: {given!r},\n"
    return (
        f"{imports}\n\nfrom selfattn_book.exercises.checking.variants import draw\n\n"
        f"numbers = draw({code!r}, student_id, {{\n{choices}}})\nnumbers"
    )


def cells_of(week: Week, exercise: Exercise) -> list[Cell]:
    """Return the cells of one exercise."""
    manual = "\nmanual: true" if exercise.by_person else ""
    config = f"# BEGIN QUESTION\nname: {exercise.name}\npoints: {exercise.points}{manual}"
    return [
        new_raw_cell(config),
        new_markdown_cell(f"## {exercise.title}\n\n{worth(exercise)}\n\n{exercise.text}"),
        *answer(exercise),
        *([] if exercise.by_person else tests(week, exercise)),
        new_raw_cell("# END QUESTION"),
    ]


def worth(exercise: Exercise) -> str:
    """Return the kind, the level and the points of an exercise."""
    kind = exercise.kind[0].upper() + exercise.kind[1:]
    points = f"{exercise.points} points" if exercise.points != 1 else "1 point"
    return f"*{kind}. Level {exercise.level} of 5, {exercise.minutes} minutes, {points}.*"


def answer(exercise: Exercise) -> list[Cell]:
    """Return the solution, and the stub as a prompt in otter's marks."""
    cells = []
    if right := exercise.cells.get("solution"):
        stub = exercise.cells["stub"]
        prompt = f'""" # BEGIN PROMPT\n{stub}\n""" # END PROMPT'
        code = f"{prompt}\n# BEGIN SOLUTION NO PROMPT\n{right}\n# END SOLUTION"
        cells.append(new_code_cell(code))
    if exercise.by_person:
        cells.append(new_markdown_cell(exercise.solution))
    return [new_raw_cell("# BEGIN SOLUTION"), *cells, new_raw_cell("# END SOLUTION")]


def tests(week: Week, exercise: Exercise) -> list[Cell]:
    """Return the public check of the form, and a hidden test for each question."""
    questions = week.checked()[exercise.name].questions
    cells = [new_code_cell(configured("points: 0", exercise.cells["public"]))]
    cells += [
        new_code_cell(hidden(exercise.name, number, one)) for number, one in enumerate(questions)
    ]
    return [new_raw_cell("# BEGIN TESTS"), *cells, new_raw_cell("# END TESTS")]


def hidden(name: str, number: int, question: Question) -> str:
    """Return the test of one question, whose result is the plugin's."""
    body = f"def test_{name}_{number}(env):\n    raise AssertionError('this is graded apart')"
    message = re.sub(r"[\"\\]", "", f"{question.message}: read {question.section} again")
    settings = f"points: {question.points}\nhidden: true\nfailure_message: {message!r}"
    return configured(settings, body)


def configured(settings: str, body: str) -> str:
    """Return a test with its settings."""
    return f'""" # BEGIN TEST CONFIG\n{settings}\n""" # END TEST CONFIG\n{body}'


def write(week: Week, code: str, wheels: list[Path], folder: Path) -> Path:
    """Write what otter needs into a folder, and return the notebook."""
    source = folder / f"{week.chapter}.ipynb"
    nbformat.write(notebook(week, code, wheels), source)
    shutil.copy(week.checks, folder / "checks.py")
    for wheel in wheels:
        shutil.copy(wheel, folder)
    return source
