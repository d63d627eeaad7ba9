"""A listing is the source as it runs, and nothing of its docstring."""

import sys

import pytest
from bookproof.listing import caption_of, source_without_docstring

MODULE = '''
"""A module."""

import functools


class Counter:
    """It counts."""

    start = 1

    @functools.cache
    def count(self, step: int) -> int:
        """Return a number.

        Of the second kind.
        """

        # Added first, so that nothing is lost.
        return self.start + step

    def _hidden(self):
        "One line."
'''


@pytest.fixture
def counter(tmp_path, monkeypatch):
    """A class of a module that lies in a file."""
    (tmp_path / "counting.py").write_text(MODULE, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield __import__("counting").Counter
    del sys.modules["counting"]


def test_docstrings_are_left_out_and_comments_are_not(counter):
    source = source_without_docstring(counter)
    assert source.startswith("class Counter:\n    start = 1")
    assert '"' not in source
    assert "# Added first" in source


def test_a_method_is_dedented_and_keeps_its_decorators(counter):
    lines = source_without_docstring(counter.count.__wrapped__).splitlines()
    assert lines[:2] == ["@functools.cache", "def count(self, step: int) -> int:"]
    assert lines[2].strip() == "# Added first, so that nothing is lost."


def test_the_listing_is_valid_code_that_does_the_same(counter):
    names = {"functools": __import__("functools")}
    exec(source_without_docstring(counter.count.__wrapped__), names)
    assert names["count"](counter(), 3) == counter().count(3) == 4


def test_the_caption_is_the_name_in_the_package_and_links_to_the_reference():
    caption = caption_of("tiny.numbers.answer")
    assert caption == "{py:obj}`numbers.answer <tiny.numbers.answer>`"
    assert caption_of("tiny") == "{py:obj}`tiny <tiny>`"


def test_the_caption_of_a_private_name_has_no_link():
    """The reference does not document it, so that a link would lead nowhere."""
    assert caption_of("tiny.numbers.Number._twice") == "`numbers.Number._twice`"
