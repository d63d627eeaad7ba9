"""The judgement on a model that was trained once more."""

import pytest
from retrain import judged


def test_a_model_as_good_as_the_one_that_is_kept_passes(capsys):
    assert judged(1.05, 1.043) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("loss", [1.10, 0.98, float("nan")])
def test_a_model_that_is_not_as_the_book_says_is_told(loss, capsys):
    assert judged(loss, 1.043) == 1
    assert f"another model than the book says: {loss:.3f}" in capsys.readouterr().out
