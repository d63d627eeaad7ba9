"""Every assignment: its source, its solution, students' numbers, and one week up to otter's verdict."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from types import SimpleNamespace
from zipfile import ZipFile

import nbformat
import pytest
from course import assignments, credit, for_otter
from course.weeks import TEACHING, calendar, chapters, exercise, week_of

from selfattn_book.exercises.checking.variants import draw, week_code
from tests.book.pages import ROOT

CODE, STUDENTS = "a code", ("ada", "Émilie du Châtelet")
IDS = [f"student-{number}" for number in range(400)]
week_of = cache(week_of)
WEEKS = [week_of(name) for name in chapters()]
EVERY = [
    pytest.param(week, exercise, id=f"{week.chapter}-{exercise.name}")
    for week in WEEKS
    for exercise in week.exercises
]
CHECKED = [param for param in EVERY if not param.values[1].by_person]


# -- Weeks: numbered as the table for instructors, or as a file ------------------------------


def test_weeks_are_those_of_the_table_for_instructors():
    weeks = calendar()
    assert weeks.keys() == set(chapters())
    assert [weeks[name] for name in ("masks", "order", "positions", "scaling-out")] == [5, 7, 7, 14]
    assert weeks["case-study"] == 15, "the table has 14 weeks and not this chapter"
    assert (week_of("positions").name, week_of("positions").number) == ("week-07-positions", 7)


@pytest.mark.parametrize(("week", "exercise"), CHECKED)
def test_code_has_a_question_that_it_is_about(week, exercise):
    gate = week.checked()[exercise.name].gate
    assert (gate is not None) == (exercise.kind == "in code")


def test_an_exercise_has_its_parts():
    what = {"kind": "in code", "level": 1, "minutes": 5, "points": 1}
    with pytest.raises(ValueError, match="part ### Misconceptions; 'A mask' has none"):
        exercise("A mask\nWrite it.\n### Solution\nSo.\n", "mask", what, None)


def test_a_file_numbers_the_weeks_that_it_has(tmp_path):
    file = tmp_path / "my.csv"
    file.write_text("week,chapter\n1,masks\n2, order\n", "utf-8")
    assert calendar(file) == {"masks": 1, "order": 2}
    assert week_of.__wrapped__("masks", calendar(file)).name == "week-01-masks"
    with pytest.raises(ValueError, match="block has none"):
        week_of.__wrapped__("block", calendar(file))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("week,chapter\n1,mask", "a chapter with an assignment"),
        ("week,chapter\none,masks", "a week, a number"),
        ("week,chapter\n1,masks\n2,masks", "each once"),
        ("number,name\n1,masks", "a line must have a week"),
        ("", "the columns must be week and chapter"),
    ],
)
def test_another_file_of_weeks_is_refused(lines, message, tmp_path):
    file = tmp_path / "my.csv"
    file.write_text(lines, "utf-8")
    with pytest.raises(ValueError, match=message):
        calendar(file)


def test_a_sheet_says_what_it_takes_and_what_a_person_marks():
    assert credit.credit("masks") == ["55 minutes", "14 points"]
    assert credit.credit("order") == ["65 minutes", "16 points", "8 by a person: 5 hours"]
    page = TEACHING.read_text("utf-8")
    assert f"at {{given}}`{credit.MINUTES}` minutes an answer" in page
    assert f"for {{given}}`{credit.STUDENTS}` students" in page


@pytest.mark.parametrize("week", WEEKS, ids=lambda week: week.chapter)
def test_a_week_has_one_exercise_in_code_and_another_and_perhaps_a_bug(week):
    code, other, *more = week.exercises
    assert code.kind == "in code"
    assert other.kind in {"by hand", "a proof", "an experiment"}
    assert [exercise.kind for exercise in more] in ([], ["find the bug"])
    assert all(2 <= exercise.level <= 4 for exercise in week.exercises)


@pytest.mark.parametrize(("week", "exercise"), CHECKED)
def test_the_solution_has_all_points_and_the_stub_none(week, exercise):
    names = {"numbers": week.drawn(CODE, "ada")}
    exec(exercise.cells["stub"] + "\n" + exercise.cells["public"], names)
    assert week.checked(CODE, "ada")[exercise.name](names[exercise.name]).points == 0
    for student in STUDENTS:
        solved = {"numbers": week.drawn(CODE, student)}
        exec("import math\nimport torch\n" + exercise.cells["solution"], solved)
        report = week.checked(CODE, student)[exercise.name](solved[exercise.name])
        assert report, report
        names["test_form"](solved[exercise.name])


WITH_BUGS = [week for week in WEEKS if "program" in week.numbers]


def test_enough_weeks_have_a_bug_to_find():
    assert len(WITH_BUGS) >= 5


@pytest.mark.parametrize("week", WITH_BUGS, ids=lambda week: week.chapter)
def test_a_notebook_shows_one_program_with_a_bug(week):
    cell, names = for_otter.drawing(week, CODE), {"student_id": "ada"}
    exec(cell, names)
    assert names["numbers"] == week.drawn(CODE, "ada")
    assert not any(line in cell for line in week.numbers["program"][0].splitlines()[1:])


@pytest.mark.parametrize("week", WITH_BUGS, ids=lambda week: week.chapter)
def test_each_bug_is_found_by_the_solution_and_hidden_on_no_line_of_its_own(week):
    exercise = next(one for one in week.exercises if one.name == "found_bug")
    programs, lines = week.numbers["program"], set()
    assert len(set(programs)) >= 4
    for program in programs:
        numbers = {**week.drawn(CODE, "ada"), "program": program}
        solved = {"numbers": numbers}
        exec(exercise.cells["solution"], solved)
        answer = solved["found_bug"]()
        lines.add(answer["line"])
        checks = week.checks_with(numbers)["found_bug"]
        assert checks(lambda answer=answer: answer).points == 3
        assert checks(lambda answer=answer: answer | {"line": 1}).points == 2
    assert len(lines) >= 3, "the line cannot be guessed"


@pytest.mark.parametrize(("week", "exercise"), [p for p in EVERY if p not in CHECKED])
def test_a_rubric_gives_all_points(week, exercise):
    points = re.findall(r"^\| (\d+) \|", exercise.rubric, re.MULTILINE)
    assert sum(map(int, points)) == exercise.points
    assert "half" in exercise.rubric


# -- Students' numbers: always the same, and not to be guessed ------------------------------


def test_all_choices_are_drawn_about_equally_often():
    drawn = Counter(draw("code", one, {"n": "1..4"})["n"] for one in IDS)
    assert set(drawn) == {1, 2, 3, 4}
    assert min(drawn.values()) > 60


def test_another_name_or_week_is_drawn_independently():
    both = {"a": "1..99", "b": "1..99"}
    codes = [week_code("key", chapter) for chapter in ("masks", "order")]
    first, second = ([draw(code, one, both) for one in IDS] for code in codes)
    assert [draw(codes[0], one, {"b": "1..99"})["b"] for one in IDS] == [x["b"] for x in first]
    assert sum(x["a"] == x["b"] for x in first) < 20
    assert sum(x["a"] == y["a"] for x, y in zip(first, second, strict=True)) < 20


@pytest.mark.parametrize("given", ["", "3..", "5..2", "2-5", "4 of 1..3", "abc", [], None, 7])
def test_another_range_is_refused(given):
    with pytest.raises(ValueError, match="width must be drawn from"):
        draw("code", "ada", {"width": given})


@pytest.mark.parametrize(
    "student", [None, 7, ..., "", "  ", "a\x00b", "a\nb", "x" * 101, "a\u202eb"]
)
def test_an_odd_id_is_refused(student):
    with pytest.raises(ValueError, match="a student id must"):
        draw("code", student, {})


# -- One week from its source to otter's verdict --------------------------------------------

WEEK, KINDS = "week-05-masks", ("solution", "student")
# A mask that forgets the padding and deserves 6 points of 8.
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
    """Make one week in a folder of its own."""
    folder, run = tmp_path_factory.mktemp("assignments"), subprocess.run

    def without_trial(command, **options):
        """Run a command; otter does not try its archive on the solution, as the tests below do."""
        return run([*command, *(["--no-run-tests"] if "assign" in command else [])], **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignments, "MADE", folder)
        patch.setattr(subprocess, "run", without_trial)
        assert assignments.main(["masks", "--key", "a key"]) == 0
    return folder


def notebook(made, kind):
    return nbformat.read(made / WEEK / kind / "masks.ipynb", 4)


@pytest.fixture(scope="module")
def graded(made, tmp_path_factory):
    """Return a function with which otter grades a notebook without a network."""
    folder = tmp_path_factory.mktemp("graded")
    (folder / "sitecustomize.py").write_text(OFFLINE, "utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}

    def grade(notebook):
        file, archive = folder / "masks.ipynb", made / WEEK / "autograder.zip"
        nbformat.write(notebook, file)
        run = [sys.executable, "-m", "otter", "run", "--no-logo"]
        options = {"check": True, "capture_output": True, "env": environment}
        subprocess.run([*run, "-a", archive, "-o", folder, file], **options)
        results = json.loads((folder / "results.json").read_text("utf-8"))["tests"]
        return {result["name"]: result for result in results}

    return grade


def solution(made, mask=""):
    """Return the solution with an id as students have it, and another mask if there is one."""
    changed = notebook(made, "solution")
    for cell in changed.cells:
        if mask and "mask = past &" in cell.source:
            begin = cell.source.split("    mask = ")[0]
            cell.source = f"{begin}    mask = {mask}\n    return mask[:, None]"
        if cell.source.startswith("student_id"):
            cell.source = 'student_id = "Zoë Ångström"'
    return changed


def test_otter_gives_a_right_answer_all_points_and_a_stub_none(made, graded):
    for answer, scores in (solution(made), [8, 6]), (notebook(made, "student"), [0, 0]):
        results = graded(answer)
        assert [results[name]["score"] for name in ("packed_mask", "masked_row")] == scores


def test_one_week_has_its_files_and_otter_names_a_misconception(made, graded, monkeypatch):
    """All that is asked of the week that is made, which takes long, in one test: it is made once."""
    texts = [(made / WEEK / kind / "masks.ipynb").read_text("utf-8") for kind in KINDS]
    assert [bool(assignments.leaks(week_of("masks"), text)) for text in texts] == [True, False]
    assert_students_need_no_otter(made, monkeypatch)
    with ZipFile(made / "instructors.zip") as archive:
        names = set(archive.namelist())
        notes = archive.read(f"{WEEK}/instructor-notes.md").decode()
    wanted = {"autograder.zip", *(f"{kind}/masks.ipynb" for kind in KINDS)}
    assert {f"{WEEK}/{name}" for name in wanted} <= names
    assert {"sources/projects.md", "sources/checks/masks.py"} <= names
    assert "### Solution" in notes
    assert "| padding attends to nothing and is not attended to | 2 |" in notes

    with ZipFile(made / WEEK / "autograder.zip") as archive:
        names = archive.namelist()
        settings = json.loads(archive.read("otter_config.json"))
        environment = archive.read("environment.yml").decode()
    for package in ("selfattn_book", "selfattn_book_grader"):
        assert any(name.startswith(f"files/{package}-") for name in names)
    assert not settings.get("pdf")
    assert "- --extra-index-url https://download.pytorch.org/whl/cpu\n      - torch" in environment

    results = graded(solution(made, PARTLY))
    message = results["packed_mask"]["output"]
    assert results["packed_mask"]["score"] == 6
    assert results["masked_row"]["score"] == 6
    assert "Padding was forgotten." in message
    assert "the-padding-mask again" in message


def assert_students_need_no_otter(made, monkeypatch):
    first = next(cell for cell in notebook(made, "student").cells if cell.cell_type == "code")
    for otter in (None, SimpleNamespace(Notebook=lambda name: name)):
        monkeypatch.setitem(sys.modules, "otter", otter)
        names = {}
        exec(first.source.replace("%pip", "raise AssertionError  # "), names)
        if otter:
            assert names["grader"] == "masks.ipynb"
        else:
            assert "after you hand it in" in names["grader"].check("packed_mask")
    assert f"%pip install --quiet {for_otter.CPU} selfattn_book-" in first.source


# What gave all points while the tests ran in the kernel of the answers.
ATTACK = """
from otter.test_files import TestFile
for kind in TestFile.__subclasses__():
    kind.run = lambda file, names: file.update_score(file.possible)
open("../results/results.json", "w").write('{"score": 14, "tests": []}')
"""


def test_an_attack_on_the_kernel_of_otter_has_no_points(made, graded):
    attack = notebook(made, "student")
    attack.cells.append(nbformat.v4.new_code_cell(ATTACK))
    results = graded(attack)
    assert [results[name]["score"] for name in ("packed_mask", "masked_row")] == [0, 0]
    assert results["packed_mask"]["max_score"] == 8


def test_solutions_are_not_in_the_package_and_not_in_the_book():
    included = (ROOT / "pyproject.toml").read_text("utf-8").split("wheel.force-include]")[1]
    assert "docs/course" not in included.split("[")[0]
    assert '"course/**"' in (ROOT / "_config" / "conf.py").read_text("utf-8")


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


def test_the_key_may_be_in_a_file(tmp_path):
    file = tmp_path / "key"
    file.write_text("--key\na secret of two words\n", "utf-8")
    options = assignments.arguments(["masks", f"@{file}"])
    assert (options.chapters, options.key) == (["masks"], "a secret of two words")
