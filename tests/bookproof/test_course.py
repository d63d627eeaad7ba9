"""Objectives, a syllabus and reading sheets are made of what chapters say of themselves."""

import re

from lxml import html


def rows(book):
    """Return the rows of the syllabus on the first page, each as the words of its cells."""
    page = html.fromstring(book.html("index"))
    (table,) = page.find_class("syllabus")
    return [
        [" ".join(" ".join(cell.itertext()).split()) for cell in row]
        for row in table.xpath(".//tr")
    ]


def test_objectives_are_the_chapters_own(built):
    said = re.findall(r"<li><p>After (.*?)</p>", built.html("index"))
    assert said == [
        '<a class="reference internal" href="promise.html">A promise</a>'
        " you can halve a number, and double it."
    ]


def test_objectives_follow_the_chapter(built):
    built.edit(
        "docs/promise.md",
        "halve a number, and double it",
        "do as you like",
    )
    assert built.build().good
    assert "you can do as you like." in built.html("index")


def test_a_part_that_is_not_there_stops_the_build(built):
    built.edit("docs/index.md", "{objectives} Behind", "{objectives} Before")
    failed = built.build()
    assert not failed.good
    rule = "objectives: a part with chapters is named by its caption"
    assert f"{rule}; got 'Before the book'" in failed.said


def test_a_syllabus_has_a_row_for_each_chapter(built):
    head, number, word, promise = rows(built)
    assert head[:3] == ["Week", "Read", "Afterwards you can"]
    assert [row[:2] for row in (number, word, promise)] == [
        ["1", "1 A number"],
        ["", "2 A word"],
        ["2", "C A promise"],
    ]
    minutes = "1 to read 1 deeper 5 for exercises"
    assert promise[2:] == [
        "Halve a number, and double it.",
        minutes,
        "Halve it",
        "2",
    ]


def test_a_week_names_chapters(built):
    built.edit("docs/index.md", "number word\n", "number wordy\n")
    failed = built.build()
    assert not failed.good
    assert "syllabus: 'wordy' must be a chapter" in failed.said


def test_a_sheet_has_what_its_chapter_asks(built):
    built.edit(
        "docs/promise.md",
        "# A promise\n",
        "# A promise\n\nWhat is $\\sigma$?\n",
    )
    built.edit(
        "docs/promise.md",
        "## Its *parts*\n",
        ":::{predict}\n:choices: more | fewer\nHow many?\n:::\n\n"
        "Two.\n\n:::{predict-end}\n:::\n\n## Its *parts*\n",
    )
    assert built.build().good
    sheet = built.html("sheets/promise")
    words = " ".join(html.fromstring(sheet).text_content().split())
    assert "C A promise 1 minutes to read, 5 for exercises; builds on 2" in words
    assert "How many? more fewer" in words
    assert "Two." not in words
    assert "<h2>To look up</h2><div" in sheet  # the card
    assert "Halve it By hand. Level 1 of 5, 5 minutes" in words
    assert 'class="question"><p>What is <' in sheet
    assert "<h2>Words</h2>" not in sheet  # it has none
    assert 'href="sheets/promise.html"' in built.html("promise")


def test_a_card_that_is_not_there_stops_the_build(built):
    built.edit("config/conf.py", "#equation-twice", "#equation-thrice")
    failed = built.build()
    assert not failed.good
    assert "there is no number.html#equation-thrice" in failed.said
