"""A mask is drawn as broadcasting repeats it."""

import pytest

from selfattn_book.figures.masking import repeated_mask
from selfattn_book.masks import padding_mask


def ticks(ax):
    return sum(text.get_text() == "✓" for text in ax.texts)


@pytest.mark.parametrize(("heads", "queries"), [(1, 1), (3, 2), (2, 4)])
def test_what_is_seen_is_seen_by_every_query_of_every_head(heads, queries):
    ax = repeated_mask(padding_mask([4, 1, 2]), heads, queries)
    assert ticks(ax) == 7 * (1 + heads * queries)
    assert ticks(ax.figure.phone.axes[0]) == ticks(ax)
    assert f"repeated to (3, {heads}, {queries}, 4)." in ax.get_label()


def test_a_sequence_of_padding_shows_no_keys():
    label = repeated_mask(padding_mask([0, 2]), 2, 3).get_label()
    assert "Sentence 0: every query of every head may attend to keys none." in label
