"""Each argument in the table of names exists, and each term; the build finds all other names."""

import inspect
import pkgutil
import re

import pytest

from tests.book.pages import DOCS

TEXT = (DOCS / "appendix" / "names.md").read_text("utf-8")
ROLE = r"\{py:\w+\}`(?:~|[\w.]+ <)(selfattn_book\.[\w.]+)>?`"


def section(heading):
    return TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]


ARGUMENTS = re.findall(rf"^\|[^|\n]+\| `(\w+)` \| {ROLE} \|$", section("Arguments"), re.MULTILINE)


@pytest.mark.parametrize(("argument", "path"), ARGUMENTS)
def test_an_argument_is_one_of_what_takes_it(argument, path):
    assert argument in inspect.signature(pkgutil.resolve_name(path)).parameters


def test_every_row_of_the_arguments_is_read():
    assert len(re.findall(r"^\| `", section("Arguments"), re.MULTILINE)) == len(ARGUMENTS)


def test_each_term_is_listed_once_and_has_a_chapter():
    rows = re.findall(r"^\| (.+) \| .+ \| (.+) \|$", section("Terms"), re.MULTILINE)
    terms = {term: pages for term, pages in rows if term != "this book"}
    assert len(rows) - section("Terms").count("| this book |") == len(terms) > 100
    assert all("](../chapters/" in pages for pages in terms.values())
