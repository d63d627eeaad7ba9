"""Each name of this book in the table of names exists."""

import inspect
import pkgutil
import re
from typing import Any

import pytest

from tests.book.pages import DOCS

TEXT = (DOCS / "appendix" / "names.md").read_text("utf-8")
ROLE = r"\{py:(class|func|meth)\}`(?:~|[\w.]+ <)(selfattn_book\.[\w.]+)>?`"
ROLES = sorted(set(re.findall(ROLE, TEXT)))
ARGUMENTS = re.findall(
    rf"^\|[^|\n]+\| `(\w+)` \| {ROLE} \|$",
    TEXT.split("\n## Arguments\n")[1].split("\n## ")[0],
    re.MULTILINE,
)
KINDS = {"class": inspect.isclass, "func": inspect.isfunction}
KINDS["meth"] = inspect.isfunction  # a method of a class, not of an instance


def find(path: str) -> Any:
    """Return the object of a dotted path."""
    return pkgutil.resolve_name(path)


@pytest.mark.parametrize(("kind", "path"), ROLES, ids=lambda part: part)
def test_a_name_is_one_of_the_package(kind, path):
    assert KINDS[kind](find(path))


def test_every_role_is_of_a_kind_that_is_looked_up():
    assert len(re.findall(r"\{py:", TEXT)) == len(re.findall(ROLE, TEXT)) > 40


@pytest.mark.parametrize(("argument", "kind", "path"), ARGUMENTS)
def test_an_argument_is_one_of_what_takes_it(argument, kind, path):
    assert argument in inspect.signature(find(path)).parameters


def test_every_row_of_the_arguments_is_read():
    section = TEXT.split("\n## Arguments\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `", section, re.MULTILINE)
    assert len(rows) == len(ARGUMENTS)


def test_each_term_is_listed_once_and_has_a_chapter():
    section = TEXT.split("\n## Terms\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| .+ \| (.+) \|$", section, re.MULTILINE)
    terms = {term: pages for term, pages in rows if term != "this book"}
    pages = re.findall(r"\]\(\.\./(chapters/[\w-]+\.md)\)", " ".join(terms.values()))
    assert len(rows) - section.count("| this book |") == len(terms) > 100
    assert all("](../chapters/" in pages for pages in terms.values())
    assert all((DOCS / page).is_file() for page in pages)
