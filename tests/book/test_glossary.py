"""Every term of the glossary says where it belongs, and chapters lead to it where a reader needs it."""

import re

import pytest

from tests.book.pages import CHAPTERS, DOCS, PAGES, prose

GLOSSARY = (DOCS / "appendix" / "glossary.md").read_text("utf-8")
ENTRY = re.compile(r"^(\w.*)\n((?:  .*\n|\n)+)", re.MULTILINE)
ENTRIES = dict(ENTRY.findall(GLOSSARY.partition(":sorted:")[2]))
LINK = re.compile(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`")
OF_CHAPTERS = [page for page in PAGES if page.parent.name == "chapters"]


def test_there_are_terms_and_each_is_explained_once():
    assert 40 <= len(ENTRIES) <= 110
    terms = re.findall(r"^\w.*$", GLOSSARY.partition(":sorted:")[2], re.MULTILINE)
    assert terms == sorted(ENTRIES, key=lambda term: term.lower())


@pytest.mark.parametrize("term", ENTRIES)
def test_a_term_has_a_sentence_or_two_and_a_chapter(term):
    meaning, _, place = ENTRIES[term].strip().partition("\n\n")
    assert 1 <= len(meaning.splitlines()) <= 2
    assert all(line.endswith(".") for line in meaning.splitlines())
    assert "](../chapters/" in place


def test_every_term_is_used_by_a_chapter_that_leads_to_it():
    linked = {
        term
        for page in OF_CHAPTERS
        for term in LINK.findall(page.read_text("utf-8"))
    }
    assert set(ENTRIES) - linked == set()


@pytest.mark.parametrize("page", CHAPTERS, ids=lambda page: page.stem)
def test_a_chapter_leads_to_a_few_terms_once_each_and_in_prose_only(page):
    links = LINK.findall(page.read_text("utf-8"))
    assert 3 <= len(links) <= 8
    assert len(set(links)) == len(links)
    lines = [line for line in prose(page).splitlines() if "{term}" in line]
    assert sum(line.count("{term}`") for line in lines) == len(links)
    assert [
        line for line in lines if line.lstrip().startswith(("#", "|", ":"))
    ] == []
