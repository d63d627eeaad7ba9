"""A folder of answers becomes a gradebook, whatever the answers do."""

import csv
import json
import re
from pathlib import Path

import pytest
from course.grade import main
from course.weeks import week_of

from selfattn_book.course import sandbox
from selfattn_book.course.sandbox import Limits
from selfattn_book.course.variants import week_code
from tests.course.hostile import HOSTILE

KEY = "a key"
MASKS = week_of("masks")


def answer(student, *, change=("", "")):
    """Return a right answer with a student's numbers, or one that is changed."""
    numbers = MASKS.drawn(week_code(KEY, "masks"), student)
    cells = "\n\n".join(exercise.cells["solution"] for exercise in MASKS.exercises)
    return f"import torch\nnumbers = {numbers}\n{cells}\n".replace(*change)


def rows(file):
    with file.open(encoding="utf-8-sig", newline="") as lines:
        return {row["id"]: row for row in csv.DictReader(lines)}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "answers"
    made.mkdir()
    return made


def grade(folder, book, *words):
    return main(["masks", str(folder), str(book), "--key", KEY, *words])


def test_a_folder_becomes_a_gradebook(folder, tmp_path, capsys):
    (folder / "ada.py").write_text(answer("Ada"), "utf-8")
    (folder / "=1+1.py").write_text(
        answer("=1+1", change=("tril()", "triu()")), "utf-8"
    )
    (folder / "Zoë Ångström").mkdir()
    (folder / "Zoë Ångström" / "any.py").write_text(answer("ada"), "utf-8")
    (folder / "notes.txt").write_text("not an answer", "utf-8")
    book = tmp_path / "gradebook.csv"
    assert grade(folder, book) == 0
    found = rows(book)
    assert set(found) == {"ada", "'=1+1", "Zoë Ångström"}
    assert (found["ada"]["points"], found["ada"]["possible"]) == ("14", "14")
    assert found["'=1+1"]["packed_mask (of 8)"] == "3"
    assert "later" in found["'=1+1"]["packed_mask: said"]
    # The numbers are those of the file's name: with another's, what is by hand is wrong.
    assert int(found["Zoë Ångström"]["masked_row (of 6)"]) < 6
    report = (tmp_path / "gradebook-reports" / "ada.md").read_text("utf-8")
    assert "packed_mask: 8 of 8 points" in report
    assert "3 answers are in" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {
        "answers",
        "gradebook.csv",
        "gradebook-reports",
    }


# What the guard refuses ends an answer in one way; all kinds of it are tried below.
REFUSED = {
    kind: text for kind, (text, told) in HOSTILE.items() if "an answer may" in told
}
ENDED = [kind for kind in HOSTILE if kind not in REFUSED or kind == "the checks"]


@pytest.mark.parametrize("kind", ENDED)
def test_harm_is_told_and_has_no_points(kind, tmp_path):
    text, told = HOSTILE[kind]
    file = tmp_path / "answer.py"
    file.write_text(text, "utf-8")
    numbers = MASKS.drawn(week_code(KEY, "masks"), "eve")
    seconds = 2 if "endless" in kind else 60
    outcome = sandbox.grade(MASKS.checks, numbers, file, Limits(seconds=seconds))
    assert outcome.results == []
    assert re.search(told, outcome.stopped)


def test_each_kind_of_harm_is_refused(tmp_path):
    tries = (
        f"for kind, text in {REFUSED!r}.items():\n"
        "    try:\n        exec(text)\n"
        "    except PermissionError as error:\n        print(f'{kind}: {error!s:.36}')\n"
    )
    file = tmp_path / "answer.py"
    file.write_text(tries, "utf-8")
    numbers = MASKS.drawn(week_code(KEY, "masks"), "eve")
    outcome = sandbox.grade(MASKS.checks, numbers, file)
    said = dict(line.split(": ") for line in outcome.printed.splitlines())
    assert len(said) == len(REFUSED) == 7
    for kind in REFUSED:
        assert said[kind].startswith(HOSTILE[kind][1])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "has none"),
        (["ada.py", "ADA.ipynb"], "each student must have one answer"),
        (["a\tb.py"], "characters that can be printed"),
    ],
)
def test_a_folder_is_looked_at_before_any_work(
    names, message, folder, tmp_path, capsys
):
    for name in names:
        (folder / name).write_text("", "utf-8")
    assert grade(folder, tmp_path / "g.csv") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "g.csv").exists()


def test_a_gradebook_is_never_written_over(folder, tmp_path, capsys):
    (folder / "ada.py").write_text("", "utf-8")
    (tmp_path / "g.csv").write_text("precious", "utf-8")
    assert grade(folder, tmp_path / "g.csv") == 2
    assert grade(folder, tmp_path / "nowhere" / "g.csv") == 2
    assert grade(tmp_path / "nothing", tmp_path / "h.csv") == 2
    told = capsys.readouterr().err
    assert "there is a" in told
    assert "must be in a folder" in told
    assert "there is no" in told
    assert (tmp_path / "g.csv").read_text("utf-8") == "precious"


def test_a_place_that_cannot_be_written_is_told(
    folder, tmp_path, capsys, monkeypatch
):
    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    (folder / "ada.py").write_text("", "utf-8")
    monkeypatch.setattr(Path, "touch", refuse)
    assert grade(folder, tmp_path / "g.csv") == 2
    assert "error: [Errno 13] Permission denied" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["answers"]


def test_what_is_stopped_leaves_nothing(folder, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    (folder / "ada.py").write_text("", "utf-8")
    monkeypatch.setattr(sandbox, "grade", stop)
    with pytest.raises(KeyboardInterrupt):
        grade(folder, tmp_path / "g.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["answers"]


def test_a_cell_that_fails_is_told(folder, tmp_path):
    cells = [
        "def masked_row(:",
        "x = 1 / 0",
        answer("ada", change=("def masked_row", "def row")),
    ]
    notebook = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    (folder / "ada.ipynb").write_text(json.dumps(notebook), "utf-8")
    assert grade(folder, tmp_path / "g.csv") == 0
    row = rows(tmp_path / "g.csv")["ada"]
    assert row["masked_row: said"] == "nothing of this name is defined"
    assert row["points"] == "8"
    assert "SyntaxError in a cell: " in row["printed"]
    assert "ZeroDivisionError in a cell: " in row["printed"]
    report = (tmp_path / "g-reports" / "ada.md").read_text("utf-8")
    assert "SyntaxError in a cell" in report


def test_a_notebook_says_with_whose_numbers_it_was_made(tmp_path):
    source = "student_id = 'bob'\n%matplotlib inline\n!ls\n1 / 0"
    cell = {"cell_type": "code", "source": [source]}
    right = {"cell_type": "code", "source": answer("ada")}
    file = tmp_path / "ada.ipynb"
    file.write_text(json.dumps({"cells": [cell, right]}), "utf-8")
    numbers = MASKS.drawn(week_code(KEY, "masks"), "ada")
    outcome = sandbox.grade(MASKS.checks, numbers, file)
    assert [result["points"] for result in outcome.results] == [8, 6]
    assert outcome.student == "bob"
