"""Each numbered page says how to cite it, in words and as BibTeX that other programs can read."""

import re
from datetime import date
from html import unescape

import pytest
from bookproof.html.citing import Cited, in_bibtex, in_words
from pybtex.database import parse_string

SIGNS = r"50 % of $x_1$ & #2 {a ~ b^c \d in Zürich"
NAMED = {
    "braceleft": "{",
    "backslash": "\\",
    "asciitilde": "~",
    "asciicircum": "^",
}


def box(book, page):
    found = re.search(r'(?s)<details class="fold cite.*?</details>', book.html(page))
    return found[0] if found else ""


def entry(text):
    ((key, found),) = parse_string(text, "bibtex").entries.items()
    return key, found


def bibtex(book, page):
    text = re.search(r'(?s)<pre class="bibtex">(.*?)</pre>', box(book, page))[1]
    return entry(unescape(text))


def test_a_chapter_is_cited_as_part_of_the_book(built):
    key, found = bibtex(built, "word")
    assert (key, found.type) == ("a-small-book-word", "incollection")
    assert dict(found.fields) == {
        "title": "{A word}",
        "booktitle": "{A small book}",
        "chapter": "2",
        "edition": "Version 1.0",
        "year": "1979",
        "month": "October",
    }
    assert [str(person) for person in found.persons["author"]] == ["{Nobody}"]
    said = "Nobody (1979). A word. Chapter 2 of <em>A small book</em>, version 1.0.</p>"
    assert f"<p>{said}" in box(built, "word")
    assert "Appendix A of" in box(built, "data")


def test_the_cover_says_how_to_cite_the_book(built):
    key, found = bibtex(built, "index")
    assert (key, found.type) == ("a-small-book", "book")
    assert found.fields["title"] == "{A small book}"
    assert "chapter" not in found.fields


def test_the_address_is_that_of_the_edition_once_it_is_known(built):
    assert "href" not in box(built, "word")
    assert built.build("--define=html_baseurl=https://b.org/book").good
    where = "https://b.org/book/v1.0/"
    assert bibtex(built, "word")[1].fields["url"] == f"{where}word.html"
    assert bibtex(built, "index")[1].fields["url"] == where
    assert f'<a href="{where}word.html">' in box(built, "word")


def cited(**changed):
    known = {
        "key": "k",
        "author": "A",
        "book": "B",
        "version": "1_0",
        "published": date(2026, 5, 4),
        "address": "",
        "title": SIGNS,
        "number": "3",
    }
    return Cited(**(known | changed))


def test_signs_that_mean_something_to_latex_are_read_as_they_were_written():
    _, found = entry(in_bibtex(cited()))
    title = found.fields["title"]
    for escaped, sign in NAMED.items():
        title = title.replace(f"\\text{escaped}{{}}", sign)
    assert re.sub(r"\\([&%$#_])", r"\1", title) == f"{{{SIGNS}}}"


def test_a_citation_in_words_is_html():
    said = in_words(cited(title="Is 1 < 2?", book="A & B"))
    assert said == "A (2026). Is 1 &lt; 2? Chapter 3 of <em>A &amp; B</em>, version 1_0."


def test_a_book_without_a_date_has_no_year():
    _, found = entry(in_bibtex(cited(published=None)))
    assert not {"year", "month"} & set(found.fields)
    assert in_words(cited(published=None)).startswith("A. ")


@pytest.mark.parametrize("month", range(1, 13))
def test_every_month_has_the_name_that_bibtex_knows(month):
    _, found = entry(in_bibtex(cited(published=date(2026, month, 1))))
    assert found.fields["month"] == f"{date(2026, month, 1):%B}"
