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
