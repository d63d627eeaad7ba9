"""One source makes three books: with solutions, without them, and with notes for who teaches."""

import pytest

NOTE = b"Many halve"


def edition(book, name):
    assert book.build(f"--define=bookproof_edition={name}").good
    return book


@pytest.mark.parametrize(
    ("name", "has_solutions", "has_notes"),
    [("", True, False), ("students", False, False), ("instructors", True, True)],
)
def test_each_edition_has_what_it_is_for(built, name, has_solutions, has_notes):
    book = edition(built, name)
    assert ("Nobody knows" in book.page("word")) == has_solutions
    assert ("Many halve" in book.page("promise")) == has_notes
    assert "What is the question?" in book.page("word")


def test_a_notebook_is_of_its_edition(built):
    file = built.root / "_build" / "html" / "notebooks" / "word.ipynb"
    assert "Nobody knows" in file.read_text("utf-8")
    edition(built, "students")
    assert "Nobody knows" not in file.read_text("utf-8")


def test_no_edition_lets_what_it_lacks_be_found_by_a_search(built):
    book = edition(built, "students")
    script = (book.root / "_build" / "html" / "sections.js").read_text("utf-8")
    assert "Nobody knows" not in script
    assert "Many halve" not in script


@pytest.mark.parametrize("name", ["", "students", "instructors"])
def test_a_note_for_instructors_is_in_no_file_of_another_edition(built, name):
    site = edition(built, name).root / "_build" / "html"
    files = {p.name for p in site.rglob("*") if p.is_file() and NOTE in p.read_bytes()}
    message = {"promise.html"} if name == "instructors" else set()
    assert files == message


def test_another_edition_is_refused(built):
    refused = built.build("--define=bookproof_edition=teachers")
    assert not refused.good
    assert "must be one of ('', 'students', 'instructors'); got 'teachers'" in refused.said


def test_a_figure_in_a_solution_is_missed_by_the_whole_book_alone(built):
    text = (built.root / "config" / "addresses.list").read_text("utf-8")
    built.write("config/addresses.list", text + "word#fig-of-a-solution\n")
    edition(built, "students")
    result = built.build("--define=bookproof_edition=instructors")
    assert not result.good
    assert "word#fig-of-a-solution lead nowhere" in result.said
