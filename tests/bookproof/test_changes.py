"""What changed for readers is one part of the change log, and each foot leads to it."""

import re
from datetime import date

import pytest
from bookproof.html.edition import written

PAGE = "changes"


def test_readers_are_told_their_part_of_each_version_that_has_one(built):
    html = built.html(PAGE)
    heads = re.findall(r'<section id="(version.*?)">\s*<h2>(.*?)<a', html)
    assert heads == [
        ("version-1-0", "Version 1.0, 12 October 1979"),
        ("version-0-8", "Version 0.8, 1 March 1978"),
    ]
    assert "A number has <em>two</em> parts" in html
    assert "faster" not in html
    assert 'href="word.html"' in html


def test_the_page_follows_the_log(built):
    built.edit("CHANGELOG.md", "The first pages.", "The very first pages.")
    assert built.build().good
    assert "The very first pages." in built.html(PAGE)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("../CHANGELOG.md", "../NOTHING.md", "There must be a change log"),
        (":part: For readers", ":part: For cats", "a part called 'For cats'"),
    ],
)
def test_a_log_without_anything_to_show_is_refused(book, old, new, said):
    book.edit(f"docs/{PAGE}.md", old, new)
    built = book.build()
    assert not built.good
    assert said in built.said


def foot(html):
    return re.search(r'<p class="edition">(.*?)</p>', html)[1]


def test_the_foot_of_a_page_names_its_edition_and_leads_to_what_changed(built):
    edition = 'Version 1.0, <time datetime="1979-10-12">12 October 1979</time>'
    link = '<a href="changes.html">What changed for readers</a>'
    assert foot(built.html("number")) == f"{edition}. {link}"
    assert foot(built.html(PAGE)) == edition


def test_a_date_is_in_the_language_of_the_book_whatever_that_of_the_machine():
    assert written(date(2026, 5, 4), "de") == "4 Mai 2026"


def test_a_page_of_changes_that_is_none_is_named(book):
    book.edit(
        "config/conf.py",
        'bookproof_changes = "changes"',
        'bookproof_changes = "news"',
    )
    built = book.build()
    assert not built.good
    assert "bookproof_changes must name a page of the book; got 'news'" in built.said
    assert "What changed for readers" not in book.html("number")
