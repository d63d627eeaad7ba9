"""A mask is drawn as broadcasting repeats it."""

import matplotlib.pyplot as plt
import pytest

from selfattn_book.draw.masking import repeated_mask
from selfattn_book.masks import causal_mask, padding_mask


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def ticks(ax):
    return sum(text.get_text() == "✓" for text in ax.texts)


@pytest.mark.parametrize(("heads", "queries"), [(1, 1), (3, 2), (2, 4)])
def test_what_is_seen_is_seen_by_every_query_of_every_head(heads, queries):
    ax = repeated_mask(padding_mask([4, 1, 2]), heads, queries)
    assert ticks(ax) == 7 * (1 + heads * queries)
    assert ticks(ax.figure.phone.axes[0]) == ticks(ax)
    assert f"repeated to (3, {heads}, {queries}, 4)." in ax.get_label()


def test_a_sentence_of_padding_is_seen_by_nobody():
    label = repeated_mask(padding_mask([0, 2]), 2, 3).get_label()
    assert "Sentence 0: every query of every head may see keys none." in label


def test_a_mask_that_is_not_repeated_is_refused():
    with pytest.raises(ValueError, match=r"S from 2 to 4; got \(4, 4\)"):
        repeated_mask(causal_mask(4), 1, 4)
    with pytest.raises(TypeError, match="boolean"):
        repeated_mask(padding_mask([4]).double(), 1, 4)
