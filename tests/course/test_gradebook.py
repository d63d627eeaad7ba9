"""From an export to grades that platforms read; the grader itself is replaced by a table."""

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from zipfile import ZipFile

import pytest

from _config.course import grade, gradebook
from _config.course.grading import Graded, QuestionResult
from _config.course.submissions import Student, named, read_roster, student_of, submissions
from _config.course.weeks import week_of
from selfattn_book.exercises.checking.variants import week_code

MASKS = week_of("masks")
CODE = week_code("a key", "masks")
MOODLE = "{name}_{number}_assignsubmission_file/masks.ipynb"
CANVAS = "{sorted}_{number}_99{number}_masks.ipynb"
STUDENTS = [
    ("ada", "Ada Lovelace", "lovelaceada", 4711),
    ("emmy-2", "Emmy Noether", "noetheremmy", 4712),
    ("zoë", "Zoë Ångström", "ångströmzoë", 4713),
]


# -- What names say -------------------------------------------------------------------------


FOLDER = "Ada Lovelace_4711_assignsubmission_file"
NAMES = [  # a path, and platform, name, number, late, place of the feedback
    (f"{FOLDER}/masks.ipynb", "moodle", "Ada Lovelace", "4711", False, f"{FOLDER}/feedback.html"),
    (f"{FOLDER}_/m.ipynb", "moodle", "Ada Lovelace", "4711", False, f"{FOLDER}_/feedback.html"),
    (f"{FOLDER}_masks.ipynb", "moodle", "Ada Lovelace", "4711", False, f"{FOLDER}_feedback.html"),
    (f"{FOLDER}/sub/x_1_2_y", "moodle", "Ada Lovelace", "4711", False, f"{FOLDER}/feedback.html"),
    (f"{FOLDER}/", "moodle", "Ada Lovelace", "4711", False, f"{FOLDER}/feedback.html"),
    (f"class/{FOLDER}/a", "moodle", "Ada Lovelace", "4711", False, f"class/{FOLDER}/feedback.html"),
    ("lovelaceada_4711_994711_masks.ipynb", "canvas", "lovelaceada", "4711", False, ...),
    ("lovelaceada_LATE_4711_994711_masks-1.ipynb", "canvas", "lovelaceada", "4711", True, ...),
    ("export/li2_4711_994711_my_masks 2.ipynb", "canvas", "li2", "4711", False, ...),
    ("ångströmzoë_4713_5_m_1.ipynb", "canvas", "ångströmzoë", "4713", False, ...),
    ("o_brien_4714_5_masks.ipynb", "canvas", "o_brien", "4714", False, ...),
    ("anon_4iL3b_994711_masks.ipynb", "canvas", "", "anon_4iL3b", False, ...),
    ("LATE_anon_4iL3b_994711_masks.ipynb", "canvas", "", "anon_4iL3b", True, ...),
    ("lovelaceada_4711_text.html", "canvas", "lovelaceada", "4711", False, ...),
    ("ada.ipynb", "", "ada", "", False, "ada.html"),
    ("ada (1).ipynb", "", "ada", "", False, "ada (1).html"),
    ("ada/masks_3_2.ipynb", "", "ada", "", False, "ada/masks_3_2.html"),
]


@pytest.mark.parametrize("row", NAMES, ids=lambda row: row[0])
def test_a_name_of_an_export_says_whose_file_it_is(row):
    path, *_, feedback = row
    found = named(path)
    said = found.path, found.platform, found.name, found.number, found.late
    assert said == row[:-1]
    assert found.feedback == (path if feedback is ... else feedback)


@pytest.mark.parametrize(
    ("student", "path", "found"),
    [
        ({"name": "Ada Lovelace"}, "Ada Lovelace_1_assignsubmission_file/m.ipynb", True),
        ({"name": "Lovelace, Ada"}, "Ada Lovelace_1_assignsubmission_file/m.ipynb", True),
        ({"name": "Ada King-Noel of Lovelace"}, "lovelaceadakingnoelof_1_2_m.ipynb", True),
        ({"name": "Ada", "canvas": "7"}, "lovelaceada_7_2_m.ipynb", True),
        ({"name": "Ada Lovelace", "canvas": "8"}, "lovelaceada_7_2_m.ipynb", False),
        ({"name": "Ada", "moodle": "7"}, "lovelaceada_7_2_m.ipynb", False),
        ({"name": "Zoe\u0308 Li"}, "lizo\u00eb_7_2_m.ipynb", True),
        ({"login": "al11"}, "al11.ipynb", True),
        ({}, "Ada.ipynb", True),
        ({"login": "al11"}, "eve.ipynb", False),
        ({"name": "Adam"}, "lovelaceada_7_2_m.ipynb", False),
        ({"canvas": "8"}, "lovelaceada_7_2_m.ipynb", False),
        ({"login": "al11"}, "lovelaceada_7_2_m.ipynb", None),
    ],
)
def test_a_file_is_paired_with_the_roster(student, path, found):
    roster, file = {"ada": Student("ada", **student)}, named(path)
    if found is False:
        with pytest.raises(ValueError, match=f"no student of the roster goes by '{file.name}'"):
            student_of(file, roster)
    else:
        assert student_of(file, roster) == (roster["ada"] if found else None)


def test_two_of_one_name_are_not_guessed():
    roster = {"1": Student("ada", name="Ada Li", canvas="1"), "2": Student("ada2", name="Ada Li")}
    assert student_of(named("liada_1_2_m.ipynb"), roster).id == "ada"
    assert student_of(named("liada_3_2_m.ipynb"), roster).id == "ada2"
    with pytest.raises(ValueError, match="2 students of the roster go by 'Ada Li'"):
        student_of(named("Ada Li_1_assignsubmission_file/m.ipynb"), roster)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,login\nAda,al", "must have the column id; got name, login"),
        ("id\nada\nADA\n", "must be given once"),
        ("id,name\n,Ada\n", "1 to 100 characters"),
        ("id\n", "a line for each student; got none"),
    ],
)
def test_a_bad_roster_is_refused(text, message, tmp_path):
    (tmp_path / "roster.csv").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=message):
        read_roster(tmp_path / "roster.csv")


def test_a_roster_may_come_from_a_spreadsheet(tmp_path):
    (tmp_path / "roster.csv").write_text("id;name;seat\nada;Ada Li;4\n", "utf-8-sig")
    assert read_roster(tmp_path / "roster.csv") == {"ada": Student("ada", name="Ada Li")}


# -- From an export to grades ---------------------------------------------------------------


def answer(student, code=CODE, points=14):
    """Return a notebook; the grader of these tests reads the points from it."""
    sources = f"student_id = {student!r}", f"numbers = draw({code!r}, student_id, {{}})"
    cells = [{"cell_type": "code", "source": source} for source in sources]
    form = {"metadata": {"points": points}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps({"cells": cells, **form})


def grader(notebook, checked, code):
    points = json.loads(notebook.read_text("utf-8"))["metadata"]["points"]
    results = [
        QuestionResult("packed_mask", "no *future*", min(points, 8), 8, "=1+1 <b> \udce9"),
        QuestionResult("masked_row", "context", max(points - 8, 0), 6, ""),
    ]
    return Graded("", "", results, ["cell 3 failed: \udce9", "not confined: the network"])


@pytest.fixture
def graded(tmp_path, monkeypatch, capsys):
    """Return a function that grades an export, given as texts or bytes by their names."""
    monkeypatch.setattr(grade, "grade", grader)
    monkeypatch.setattr(grade, "GRADES", tmp_path / "grades")
    (tmp_path / "key.txt").write_text("--key\na key\n", "utf-8")

    def run(files, *words, roster=None, times=None, chapter="masks"):
        export = tmp_path / "export.zip"
        with ZipFile(export, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
                if times:
                    archive.filelist[-1].date_time = (*times[name], 0)
        if roster:
            (tmp_path / "roster.csv").write_text(roster, "utf-8")
            words = ("--roster", str(tmp_path / "roster.csv"), *words)
        key = f"@{tmp_path / 'key.txt'}"
        code = grade.main([chapter, str(export), key, "--jobs", "1", *words])
        out = capsys.readouterr()
        assert code == 0, out.err
        folder = tmp_path / "grades" / week_of(chapter).name
        return read(folder / "gradebook.csv"), out.out, folder

    return run


def read(file):
    with file.open(encoding="utf-8-sig", newline="") as lines:
        return list(csv.DictReader(lines))


def by_id(rows):
    return {row["id"]: row for row in rows}


def class_of(pattern):
    return {
        pattern.format(name=name, sorted=turned, number=number): answer(x)
        for x, name, turned, number in STUDENTS
    }


LINES = [f"{x},login-{x},{name},{x}@x.org" for x, name, *_ in STUDENTS]
ROWS = "\n".join(["id,login,name,email", *LINES])


@pytest.mark.parametrize("pattern", [MOODLE, MOODLE.replace("/", "_"), CANVAS])
def test_an_export_becomes_a_gradebook_and_feedback(graded, pattern):
    files = class_of(pattern)
    rows, out, folder = graded(files, roster=ROWS)
    assert [row["points"] for row in rows] == ["14"] * 3
    assert rows[0]["packed_mask (of 8)"] == "8"
    assert rows[0]["notes"] == "cell 3 failed: ?"
    assert "3 graded, 0 not graded, 0 without a file." in out
    platform = "canvas" if pattern == CANVAS else "moodle"
    with ZipFile(folder / "feedback" / f"{platform}.zip") as archive:
        names = {name.replace("feedback.html", "masks.ipynb") for name in archive.namelist()}
        text = archive.read(archive.namelist()[0]).decode()
    assert names == files.keys()
    assert "8 of 8" in text
    assert "<b>" not in text
    assert "**" not in text
    assert (folder / f"{platform}.csv").exists()
    assert len(list(folder.glob("*.csv"))) == 2


def test_moodle_reads_its_table(graded):
    *_, folder = graded(class_of(MOODLE), roster=ROWS)
    first = read(folder / "moodle.csv")[0]
    assert first.pop("Last modified (grade)") <= f"{datetime.now():%Y-%m-%d %H:%M}"
    assert first == {
        "Identifier": "Participant 4711",
        "Full name": "Ada Lovelace",
        "Grade": "14",
        "Maximum Grade": "14",
        "Feedback comments": "packed_mask: 8 of 8, masked_row: 6 of 6. The details are in"
        " feedback.html.",
    }


def test_canvas_reads_its_table(graded):
    *_, folder = graded(class_of(CANVAS), roster=ROWS)
    text = (folder / "canvas.csv").read_text("utf-8")
    head, possible, ada, *_ = csv.reader(text.splitlines())
    assert head[:4] == ["Student", "ID", "SIS Login ID", "Section"]
    assert head[4:] == ["Week 5: Causal and padding masks"]
    assert possible == ["    Points Possible", "", "", "", "14"]
    assert ada == ["Ada Lovelace", "4711", "login-ada", "", "14"]


def test_canvas_gets_notebooks_back_with_a_cell_more(graded):
    *_, folder = graded(class_of(CANVAS), roster=ROWS)
    with ZipFile(folder / "feedback" / "canvas.zip") as archive:
        cell, *others = json.loads(archive.read("lovelaceada_4711_994711_masks.ipynb"))["cells"]
    assert (cell["id"], len(others)) == ("feedback", 2)
    assert "ada: packed_mask: 8 of 8" in cell["source"]
    assert r"no \*future\*" in cell["source"]


@pytest.mark.parametrize(
    ("files", "refused"),
    [
        ({"lovelaceada_1_2_m.ipynb": answer("zoë")}, "has the id 'zoë', the roster 'ada'"),
        ({"lovelaceada_1_2_m.ipynb": answer("ada", "")}, "the notebook has no week's code"),
        ({"lovelaceada_1_2_m.ipynb": answer("ada", "c0de")}, "another week's code, 'c0de'"),
        ({"lovelaceada_1_2_m.ipynb": answer("")}, "the notebook has no student_id"),
        ({"eveeve_1_2_m.ipynb": answer("ada")}, "no student of the roster goes by 'eveeve'"),
        ({"lovelaceada_1_2_m.ipynb": b"\xff{"}, "must be a notebook of Jupyter; got"),
        ({"lovelaceada_1_2_m.pdf": b"%PDF"}, "there is no notebook (.ipynb), only lovelaceada"),
        ({"Ada Lovelace_1_assignsubmission_file/": ""}, "the folder is empty"),
        ({"ada.ipynb": answer("ada"), "login-ada.ipynb": answer("ada")}, "2 students have the id"),
        ({"ada.ipynb": 999 * " "}, "cannot be read: it is damaged, locked or too large"),
    ],
)
def test_what_disagrees_is_a_row_and_no_stop(graded, files, refused, monkeypatch):
    monkeypatch.setattr("_config.course.submissions.LARGEST", 900)
    zoe = {"zoë.ipynb": answer("zoë")}
    rows, out, folder = graded(files | zoe, roster=ROWS)
    bad = [row for row in rows if row["notes"].startswith("not graded: ")]
    assert len(bad) == len(files)
    assert all(refused in row["notes"] and row["points"] == "" for row in bad)
    assert by_id(rows)["zoë"]["points"] == "14" or "zoë" in refused
    lacking = sum(not row["file"] for row in rows)
    assert f"not graded, {lacking} without a file: see the column" in out
    assert not (folder / "canvas.csv").exists()


def test_of_two_files_the_newest_counts(graded):
    files = {
        "lovelaceada_1_30_masks-1.ipynb": answer("ada", points=13),
        "lovelaceada_1_4_masks-at-home.ipynb": answer("ada", points=2),
        "lovelaceada_1_50_masks.pdf": b"%PDF",
        "lovelaceada_1_40_scratch.ipynb": answer("ada", points=1),
    }
    (row,), *_ = graded(files)
    assert row["points"] == "13"
    assert "4 files: the newest notebook counts, lovelaceada_1_30_masks-1.ipynb" in row["notes"]


def test_the_newest_by_time_counts_where_names_do_not_tell(graded):
    days = {3: 3, 1: 9, 2: 2}
    files = {f"ada/masks{x}.ipynb": answer("ada", points=x) for x in days}
    times = {f"ada/masks{x}.ipynb": (2026, 1, day, 1, 1) for x, day in days.items()}
    (row,), *_ = graded(files, times=times)
    assert row["points"] == "1"


def test_who_has_handed_in_nothing_is_listed(graded):
    rows, out, _ = graded({"ada.ipynb": answer("ada")}, roster=ROWS)
    assert by_id(rows)["emmy-2"]["notes"] == "nothing handed in"
    assert "1 graded, 0 not graded, 2 without a file" in out


def test_without_a_roster_the_id_in_the_notebook_counts(graded):
    rows, out, _ = graded(class_of(MOODLE))
    assert (rows[0]["id"], rows[0]["name"]) == ("ada", "Ada Lovelace")
    assert "3 graded, 0 not graded." in out


def test_a_roster_of_ids_alone_is_enough(graded):
    files = {"x_1_2_m.ipynb": answer("ada"), "y_3_4_m.ipynb": answer("eve")}
    rows, *_ = graded(files, roster="id\nada\n")
    assert by_id(rows)["ada"]["notes"].startswith("paired by the id in the notebook alone")
    assert "the notebook has the id 'eve', which is not in the roster" in by_id(rows)[""]["notes"]


DEEP = "[" * 900 + "]" * 900


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ('"nbformat_minor": 5', '"nbformat_minor": "5"'),
        ('"nbformat": 4, "nbformat_minor": 5', '"nbformat": 4'),
        ('"nbformat": 4', f'"x": {DEEP}'),
        ('"cells": [', '"cells": {}, "other": ['),
        ("{", "[{"),
    ],
)
def test_an_odd_notebook_gets_its_feedback_too(part, other, graded):
    text = answer("ada")
    assert part in text
    *_, folder = graded({"lovelaceada_1_2_masks.ipynb": text.replace(part, other, 1)})
    with ZipFile(folder / "feedback" / "canvas.zip") as archive:
        (name,) = archive.namelist()
        assert "Week 5" in json.loads(archive.read(name))["cells"][0]["source"]


def test_canvas_gets_no_page_under_the_name_of_another_file(graded):
    *_, folder = graded({"lovelaceada_1_2_masks.pdf": b"%PDF"})
    assert not list((folder / "feedback").iterdir())


def test_copies_and_questions_in_person_are_written_where_asked_for(graded):
    *_, folder = graded({"ada.ipynb": answer("ada")}, "--similar", "--orals", "1")
    assert "exercise,at least alike" in (folder / "similar.csv").read_text("utf-8")
    assert "## ada" in (folder / "orals.md").read_text("utf-8")
    *_, folder = graded({"ada.ipynb": answer("ada")})
    assert not {"similar.csv", "orals.md"} & {file.name for file in folder.iterdir()}


def test_where_most_disagree_the_likely_reason_is_said(graded):
    _, out, _ = graded({f"{x}.ipynb": answer(x, "c0de") for x in "abc"})
    assert "are this the chapter and the key they were made with?" in out
    _, out, _ = graded({f"{x}_1_2_m.ipynb": answer(x) for x in "abc"}, roster=ROWS)
    assert "Most files match no student on the roster" in out
    files = {f"{x}.ipynb": answer(f"login-{x}") for x, *_ in STUDENTS}
    _, out, _ = graded(files, roster=ROWS)
    assert "Most ids disagree" in out
    assert "in its column login." in out


def test_several_are_graded_at_a_time(graded, monkeypatch):
    monkeypatch.setattr(grade, "ProcessPoolExecutor", lambda jobs, **_: ThreadPoolExecutor(jobs))
    rows, *_ = graded(class_of(MOODLE), "--jobs", "2")
    assert [row["points"] for row in rows] == ["14"] * 3


def test_what_concerns_the_machine_is_said_once(graded):
    _, out, folder = graded(class_of(MOODLE))
    assert out.count("not confined: the network") == 1
    assert "not confined" not in (folder / "gradebook.csv").read_text("utf-8")


# -- Lateness -------------------------------------------------------------------------------

LATE = ("--deadline", "2026-11-26T23:59")


def test_canvas_marks_what_is_late(graded):
    (row,), *_ = graded({"lovelaceada_LATE_4711_9_masks.ipynb": answer("ada")})
    assert (row["late"], row["points"]) == ("late", "14")
    assert "marked LATE by Canvas" in row["notes"]


def test_elsewhere_the_time_of_the_file_says_it(graded):
    files = {"ada.ipynb": answer("ada"), "zoë.ipynb": answer("zoë")}
    times = {"ada.ipynb": (2026, 11, 26, 23, 58), "zoë.ipynb": (2026, 11, 28, 2, 4)}
    rows, *_ = graded(files, *LATE, times=times)
    assert [(row["late"], row["points"]) for row in rows] == [("", "14"), ("26 h 05 min", "14")]
    assert "late by the time of the file in the export" in rows[1]["notes"]


def elsewhere(minute, hours):
    """Return this minute before midnight as a clock says it that is so many hours away."""
    here = datetime(2026, 11, 26, 23, minute)
    return here.astimezone(timezone(timedelta(hours=hours))).isoformat()


DEADLINES = [("2026-11-26", ""), ("2026-11-26T23:57", "0 h 01 min")]
DEADLINES += [(elsewhere(57, -9), "0 h 01 min"), (elsewhere(59, 9), "")]


@pytest.mark.parametrize(("words", "late"), DEADLINES)
def test_a_deadline_is_a_day_or_a_time(words, late, graded):
    times = {"ada.ipynb": (2026, 11, 26, 23, 58)}
    (row,), *_ = graded({"ada.ipynb": answer("ada")}, "--deadline", words, times=times)
    assert row["late"] == late


def test_the_time_of_the_download_is_nobodys(graded):
    times = dict.fromkeys(class_of(MOODLE), (2026, 11, 28, 2, 4))
    rows, *_ = graded(class_of(MOODLE), *LATE, times=times)
    assert {row["late"] for row in rows} == {"unknown"}
    assert "probably that of the download" in rows[0]["notes"]


# -- Files that are kept --------------------------------------------------------------------


def test_a_former_gradebook_is_kept(graded):
    for points in (3, 4, 5):
        *_, folder = graded({"ada.ipynb": answer("ada", points=points)})
    places = [folder.with_name(f"{folder.name}{end}") for end in (".1", ".2", "")]
    assert [read(place / "gradebook.csv")[0]["points"] for place in places] == ["3", "4", "5"]
    assert {x.name for x in folder.parent.iterdir()} == {place.name for place in places}


def test_a_failure_leaves_the_former_as_it_was(graded, monkeypatch):
    *_, folder = graded({"ada.ipynb": answer("ada")})
    before = (folder / "gradebook.csv").read_bytes()
    monkeypatch.setattr(gradebook, "keep", lambda folder: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        graded({"ada.ipynb": answer("ada", points=1)})
    assert (folder / "gradebook.csv").read_bytes() == before


def test_marks_by_a_person_are_taken_over(graded):
    week = week_of("order")
    proof = week.exercises[1]
    code = week_code("a key", "order")
    files = {"lovelaceada_4711_1_order.ipynb": answer("ada", code)}
    _, out, folder = graded(files, chapter="order")
    assert "1 wait for marks by a person" in out
    assert not (folder / "canvas.csv").exists()
    text = (folder / "gradebook.csv").read_text("utf-8-sig")
    head, cells = csv.reader(text.splitlines())
    cells[head.index(gradebook.column(proof))] = "3,5"  # as a spreadsheet may write it
    (folder / "gradebook.csv").write_text(gradebook.text([head, cells]), "utf-8")
    (row,), _, folder = graded(files, chapter="order")
    assert row[gradebook.column(proof)] == "3.5"
    assert row["points"] == "3.5"
    assert (folder / "canvas.csv").exists()


def test_no_cell_is_a_formula(graded):
    name = "=HYPERLINK(1)_7_assignsubmission_file/masks.ipynb"
    *_, folder = graded({name: answer("@ada"), "-1+1.ipynb": answer("+zoë")})
    for file in folder.glob("*.csv"):
        with file.open(encoding="utf-8-sig", newline="") as lines:
            cells = [cell for row in csv.reader(lines) for cell in row]
        assert not [cell for cell in cells if cell.startswith(gradebook.FORMULAS)]
        assert any(cell.startswith("'=HYPER") for cell in cells)


def test_a_bad_deadline_is_refused(capsys):
    with pytest.raises(SystemExit):
        grade.main(["masks", "x.zip", "--key", "k", "--deadline", "tomorrow"])
    assert "must be written as in 2026-11-26T23:59; got 'tomorrow'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mask", "x", "--key", "k"], "Did you mean 'masks'?"),
        (["masks", "nowhere", "--key", "k"], "must be in a folder or a zip; there is no nowhere"),
        (["masks", __file__, "--key", "k"], "must be in a folder or a zip; got"),
        (["masks", "nowhere", "--key", " "], "must be a text that only you know"),
    ],
)
def test_bad_words_are_refused(words, message, capsys):
    assert grade.main(words) == 2
    assert message in capsys.readouterr().err


def test_a_folder_is_read_like_a_zip_without_what_systems_leave(tmp_path):
    odd = "odd\udce9.ipynb"  # a name that is not UTF-8
    for name in (odd, "ada/masks.ipynb", "__MACOSX/ada/._masks.ipynb", "zoë/.DS_Store", ".x.ipynb"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}", "utf-8")
    (tmp_path / "link.ipynb").symlink_to(tmp_path / "ada" / "masks.ipynb")
    found = submissions(tmp_path, tmp_path)
    assert [x.path for x in found] == ["ada/masks.ipynb", "odd?.ipynb", "zoë/"]


def test_a_zip_writes_nothing_under_its_names(tmp_path):
    scratch = tmp_path / "a" / "b"
    scratch.mkdir(parents=True)
    with ZipFile(tmp_path / "x.zip", "w") as archive:
        for name in ("../../evil.ipynb", "/evil.ipynb", "C:\\evil.ipynb", "a/../../evil.ipynb"):
            archive.writestr(name, "{}")
    found = submissions(tmp_path / "x.zip", scratch)
    assert [x.file.parents[1] for x in found] == [scratch, scratch]
    assert [x.feedback for x in found] == ["evil.html", "C:\\evil.html"]
    assert not list(tmp_path.rglob("evil*"))


def test_what_is_too_large_or_damaged_has_no_file(tmp_path, monkeypatch):
    with ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("ada.ipynb", "12345")
        archive.writestr("zoë.ipynb", "1234567")
    content = (tmp_path / "x.zip").read_bytes().replace(b"12345", b"x2345", 1)
    (tmp_path / "x.zip").write_bytes(content)
    monkeypatch.setattr("_config.course.submissions.LARGEST", 6)
    assert [x.file for x in submissions(tmp_path / "x.zip", tmp_path)] == [None, None]
