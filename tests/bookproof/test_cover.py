"""The cover and the route are made of what the pages say; previews, of what links lead to."""

import json
import re

import pytest


def chapters(book):
    """Return what the cover shows of each page: its name, and its words."""
    cover = book.html("index").partition('class="chapters"')[2]
    items = re.findall(r'(?s)<li data-page="(\w+)">(.*?)</li>', cover)
    return {name: re.sub(r"<[^>]+>", " ", item).split() for name, item in items}


def previews(book, name):
    """Return what is kept of a page, by its id."""
    file = book.root / "_build" / "html" / "_static" / "previews" / f"{name}.js"
    head, _, kept = file.read_text("utf-8").partition(" = ")
    assert head == f'bookPreviews["{name}"]'
    return json.loads(kept.rstrip(";\n"))


def test_the_cover_shows_chapters_in_order_with_what_they_promise(built):
    shown = chapters(built)
    assert list(shown) == [
        "number",
        "word",
        "data",
        "reference",
        "promise",
        "changes",
    ]
    assert " ".join(shown["number"]) == (
        "1 A number Double 42, with 2.0 exactly, and halve it. 5 minutes"
    )
    assert " ".join(shown["word"]) == "2 A word Draw a line. 7 minutes"
    assert " ".join(shown["promise"][1:]) == ("A promise Find σ &lt; 2 &amp; more of it. 1 minutes")
    beside = " ".join(shown["data"])  # a page beside chapters says its first sentence
    assert re.fullmatch(r"A Data It .*\. \d+ minutes", beside)
    assert "<h3>Behind the book</h3>" in built.html("index")


def test_the_cover_shows_the_first_picture_without_its_words(built):
    cover = built.html("index")
    pictures = re.findall(r'(?s)class="thumbnail" aria-hidden="true">(.*?)</span>', cover)
    assert ["<path" in picture for picture in pictures[:2]] == [False, True]
    assert "A line of 300 points" not in cover


def test_the_reader_begins_with_the_first_chapter(built):
    begin = re.search(r'(?s)<p class="begin">.*?</p>', built.html("index"))[0]
    assert 'href="number.html"' in begin
    assert "Begin with chapter 1" in begin


def test_passages_of_the_route_are_listed_and_marked(built):
    stops = re.search(r'(?s)<ol class="route".*?</ol>', built.html("index"))[0]
    assert re.findall(r'href="(.*?)">(.*?)</a>', stops) == [
        ("number.html#its-double", "Its double"),
        ("word.html#two-pictures", "Two pictures"),
    ]
    first, second = built.page("number"), built.page("word")
    assert "Stop 1 of 2 on the 5-minute route" in first
    assert "Next on the 5-minute route: Two pictures" in first
    assert "Stop 2 of 2" in second
    assert "Next on the" not in second


def test_the_cover_follows_the_chapters(built):
    """Though nobody has touched its own page."""
    built.edit("docs/word.md", "draw a line", "draw a long line")
    assert built.build().good
    assert "2 A word Draw a long line." in " ".join(chapters(built)["word"])


def test_the_passages_follow_the_route(built):
    """Though nobody has touched their own pages."""
    built.edit("docs/index.md", "its-double 2", "its-double 4")
    assert built.build().good
    assert "Stop 1 of 2 on the 7-minute route" in built.page("number")
    built.edit("docs/index.md", "word.md#two-pictures 3\n", "")
    assert built.build().good
    assert "Stop 1 of 1 on the 4-minute route" in built.page("number")
    assert "Stop" not in built.page("word")


def test_a_chapter_may_name_its_key_figure(built):
    built.edit("docs/word.md", "file_format:", "key_figure: a-line\nfile_format:")
    assert built.build().good
    assert "M0 4h120" in built.html("index").partition('class="thumbnail"')[2]


FAULTS = [
    (
        "docs/index.md",
        "#its-double 2",
        "#nowhere 2",
        "there is no number.md#nowhere",
    ),
    (
        "docs/index.md",
        "#its-double 2",
        "#its-double",
        "route: a line is PAGE.md#SECTION",
    ),
    (
        "docs/word.md",
        "file_format:",
        "key_figure: lost\nfile_format:",
        "no figure is called 'lost'",
    ),
]


@pytest.mark.parametrize(("page", "old", "new", "why"), FAULTS)
def test_what_the_cover_asks_for_must_be_there(built, page, old, new, why):
    built.edit(page, old, new)
    failed = built.build()
    assert not failed.good
    assert why in failed.said


def test_what_other_pages_lead_to_is_kept_for_them(built):
    kept = previews(built, "number")
    assert {"equation-twice", "claim-double-is-even"} <= set(kept)
    assert "katex" in kept["equation-twice"]
    assert kept["claim-double-is-even"].startswith("<div")
    assert kept["claim-double-is-even"].endswith("</div>")
    assert "check-twice" not in kept  # the cell of a check is no thing to be shown
    assert previews(built, "word").keys() == {"claim-full-stop"}  # its own links do not count


def test_a_term_is_kept_with_what_is_said_of_it(built):
    entry = "\n```{glossary}\nanswer\n  It is 42.\n\nquestion\n  Nobody knows.\n```\n"
    text = (built.root / "docs" / "data.md").read_text("utf-8")
    built.write("docs/data.md", text + entry)
    built.edit("docs/number.md", "It reaches one", "The {term}`answer` reaches one")
    assert built.build().good
    [(name, kept)] = previews(built, "data").items()
    assert name == "term-answer"
    assert "It is 42." in kept
    assert "question" not in kept
