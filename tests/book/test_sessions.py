"""A session finds what it runs."""

import pytest

import noxfile


class Session:
    """Stands in for nox's, where only its errors count."""

    def error(self, message):
        raise ValueError(message)


def test_a_module_is_found_by_name_with_its_tests():
    found = noxfile.files_of_module(Session(), "masks")
    assert {file.name for file in found} == {"masks.py", "test_masks.py"}
    assert all((noxfile.ROOT / file).is_file() for file in found)


def test_a_module_that_is_none_is_named():
    with pytest.raises(ValueError, match=r"must be a .*nothing\.py.*; got none"):
        noxfile.files_of_module(Session(), "nothing")
