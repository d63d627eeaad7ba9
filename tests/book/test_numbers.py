"""A number in a sentence comes from a cell, or is declared as given."""

import re

import pytest

from tests.book.pages import PAGES, prose

DECIMAL = re.compile(r"(?<![\w.])-?\d*\.\d+(?!\.?\d)")


def typed_decimals(text: str) -> list[str]:
    """Return the decimals of a text outside of mathematics, code, roles and links."""
    text = re.sub(r"sections? \d+(\.\d+)+( and \d+(\.\d+)+)?", " ", text)
    for aside in (
        r"\$\$.*?\$\$",
        r"\$[^$]*\$",
        r"\{[\w:]+\}`[^`]*`",
        r"`[^`]*`",
        r"\]\([^)]*\)",
    ):
        text = re.sub(aside, " ", text, flags=re.DOTALL)
    return DECIMAL.findall(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_decimal_is_typed(page):
    assert typed_decimals(prose(page)) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It keeps 0.49 of it.", ["0.49"]),
        ("| a | .62 |", [".62"]),
        ("minus -0.5, then", ["-0.5"]),
        ("{given}`0.49` and $0.5$ and `0.5` and {glue:text}`x:.2f`", []),
        ("section 3.2.3 and Chapter 9.", []),
        ("It ends in 2017. Then", []),
        ("Half is 0.5.", ["0.5"]),
        ("It grew 0.3x.", ["0.3"]),
    ],
)
def test_the_search_finds_what_it_should(text, found):
    assert typed_decimals(text) == found
