"""The engine knows nothing of the book that is built with it."""

import re

import pytest
from small_books import ENGINE, SMALL_BOOK

FILES = sorted((ENGINE / "bookproof").rglob("*.py")) + sorted(
    SMALL_BOOK.rglob("*.*")
)
OF_THE_BOOK = re.compile("selfattn|attention|transformer|softmax", re.IGNORECASE)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_of_the_book_is_named(file):
    lines = file.read_text("utf-8").splitlines()
    assert [line for line in lines if OF_THE_BOOK.search(line)] == []


def test_the_small_book_is_built_where_the_large_one_cannot_be_imported(built):
    """All small books are; here it is seen that the package is out of reach of both sides."""
    built.edit(
        "docs/number.md",
        "from tiny.numbers",
        "import selfattn_book.masks\nfrom tiny.numbers",
    )
    library = '["ipykernel", "selfattn-book"]'
    built.edit(
        "config/conf.py",
        'bookproof_libraries = ["ipykernel"]',
        f"bookproof_libraries = {library}",
    )
    listing = "```{listing} selfattn_book.masks\n```"
    built.edit("docs/data.md", "It reaches", f"{listing}\n\nIt reaches")
    failed = built.build()
    assert not failed.good
    assert "ImportError: the engine knows nothing of this package" in failed.said
    built.edit("docs/number.md", "import selfattn_book.masks\n", "")
    failed = built.build()
    assert (
        "data.md:10: ERROR: listing: there is no 'selfattn_book.masks' to show"
        in failed.said
    )
