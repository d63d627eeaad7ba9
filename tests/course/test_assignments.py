"""One week from its source to otter's verdict: what a student gets, and what an instructor gets."""

import json
import os
import subprocess
import sys
from zipfile import ZipFile

import nbformat
import pytest
from course import assignments
from course.weeks import week_of

from tests.book.pages import ROOT

WEEK = "week-05-masks"
# Another mask than the solution's, which forgets the padding and deserves 6 points of 8.
PARTLY = "past & (same | prompt)"
OFFLINE = """
import socket

connect = socket.socket.connect


def local(self, address):
    if isinstance(address, tuple) and not str(address[0]).startswith("127."):
        raise OSError(f"no network here: {address}")
    return connect(self, address)


socket.socket.connect = local
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make one week, beside nothing."""
    folder = tmp_path_factory.mktemp("assignments")
    assignments.MADE, kept = folder, assignments.MADE
    assert assignments.main(["masks", "--key", "a key"]) == 0
    assignments.MADE = kept
    return folder


@pytest.fixture(scope="module")
def graded(made, tmp_path_factory):
    """Return a function that lets otter grade a notebook without a network."""
    folder = tmp_path_factory.mktemp("graded")
    (folder / "sitecustomize.py").write_text(OFFLINE, "utf-8")
    paths = os.pathsep.join([str(folder), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": paths}

    def grade(notebook):
        file = folder / "masks.ipynb"
        nbformat.write(notebook, file)
        archive = made / WEEK / "autograder.zip"
        command = [
            "-m",
            "otter",
            "run",
            "--no-logo",
            "-a",
            archive,
            "-o",
            folder,
            file,
        ]
        subprocess.run(
            [sys.executable, *command],
            check=True,
            capture_output=True,
            env=environment,
        )
        results = json.loads((folder / "results.json").read_text("utf-8"))["tests"]
        return {result["name"]: result for result in results}

    return grade


def notebook(made, kind):
    return nbformat.read(made / WEEK / kind / "masks.ipynb", 4)


def planted(made, answer=""):
    """Return the solution with another mask, and with ids as students have them."""
    changed = notebook(made, "solution")
    for cell in changed.cells:
        if answer and "mask = past &" in cell.source:
            begin, end = (
                cell.source.split("    mask = ")[0],
                "    return mask[:, None]",
            )
            cell.source = f"{begin}    mask = {answer}\n{end}"
        if cell.source.startswith("student_id"):
            cell.source = 'student_id = "Zoë Ångström"'
    return changed


@pytest.mark.weekly
def test_otter_gives_a_right_answer_all_points(made, graded):
    results = graded(planted(made))
    assert results["packed_mask"]["score"] == 8
    assert results["masked_row"]["score"] == 6


@pytest.mark.weekly
def test_an_empty_notebook_has_no_points(made, graded):
    results = graded(notebook(made, "student"))
    assert results["packed_mask"]["score"] == results["masked_row"]["score"] == 0


def test_otter_gives_part_of_the_points_and_names_the_misconception(made, graded):
    results = graded(planted(made, PARTLY))
    message = results["packed_mask"]["output"]
    assert results["packed_mask"]["score"] == 6
    assert results["masked_row"]["score"] == 6
    assert "Padding was forgotten." in message
    assert "sentences-of-different-lengths-the-padding-mask again" in message


def test_students_get_no_solution(made):
    week = week_of("masks")
    solution = (made / WEEK / "solution" / "masks.ipynb").read_text("utf-8")
    student = (made / WEEK / "student" / "masks.ipynb").read_text("utf-8")
    assert assignments.leaks(week, solution)
    assert assignments.leaks(week, student) == ""
    assert "checks" not in {cell.get("source") for cell in notebook(made, "student").cells}


def test_instructors_get_everything_in_one_file(made):
    with ZipFile(made / "instructors.zip") as archive:
        names = set(archive.namelist())
        notes = archive.read(f"{WEEK}/instructor-notes.md").decode()
    wanted = {"autograder.zip", "solution/masks.ipynb", "student/masks.ipynb"}
    assert {f"{WEEK}/{name}" for name in wanted} <= names
    assert {"sources/projects.md", "sources/checks/masks.py"} <= names
    assert "### Solution" in notes
    assert "| padding attends to nothing and is not attended to | 2 |" in notes


def test_the_archive_brings_the_package_and_asks_for_no_pdf(made):
    with ZipFile(made / WEEK / "autograder.zip") as archive:
        names = archive.namelist()
        settings = json.loads(archive.read("otter_config.json"))
    assert any(name.startswith("files/selfattn_book-") for name in names)
    assert not settings.get("pdf")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mask", "--key", "k"], "Did you mean 'masks'?"),
        (["masks", "--key", " "], "must be a text that only you know"),
    ],
)
def test_bad_words_are_refused_before_any_work(words, message, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(assignments, "MADE", tmp_path / "none")
    assert assignments.main(words) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_the_key_may_stand_in_a_file(tmp_path):
    file = tmp_path / "key"
    file.write_text("--key\na secret of two words\n", "utf-8")
    options = assignments.arguments(["masks", f"@{file}"])
    assert (options.chapters, options.key) == (["masks"], "a secret of two words")


def test_the_package_that_students_install_has_no_solutions():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    included = text.split("[tool.hatch.build.targets.wheel.force-include]")[1].split("[")[0]
    assert "docs/course" not in included


def test_the_site_has_no_solutions():
    assert '"course/**"' in (ROOT / "_config" / "conf.py").read_text("utf-8")
