"""The engine knows nothing of the book that is built with it."""

import re

import pytest
from small_books import ENGINE, SMALL_BOOK

FILES = sorted((ENGINE / "bookproof").rglob("*.py")) + sorted(SMALL_BOOK.rglob("*.*"))
OF_THE_BOOK = re.compile(r"\b(selfattn\w*|attention|softmax)\b", re.IGNORECASE)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_of_the_book_is_named(file):
    lines = file.read_text("utf-8").splitlines()
    assert [line for line in lines if OF_THE_BOOK.search(line)] == []


def test_small_books_are_built_where_the_large_one_cannot_be_imported(built):
    """All of these tests do; here it is seen to be out of reach of the kernels and of the build."""
    built.write("tiny/large.py", "import selfattn_book.masks\n")
    built.edit("docs/data.md", "from pathlib", "import tiny.large\nfrom pathlib")
    failed = built.build()
    assert not failed.good
    assert "ImportError: the engine knows nothing of this package" in failed.said

    built.edit("docs/data.md", "import tiny.large\n", "")
    listing = "```{listing} selfattn_book.masks\n```\n\nIt reaches"
    built.edit("docs/data.md", "It reaches", listing)
    failed = built.build()
    assert not failed.good
    place = "docs/data.md:10: ERROR: listing: there is no 'selfattn_book.masks' to show"
    assert f"{place} (the engine knows nothing of this package)" in failed.said
