"""The square of four sentences says what every sum over their words does."""

import torch

from selfattn_book.experiments.words import xor_sentences
from selfattn_book.figures.sum_square import sum_square

NAMES = ["never", "fails", "here", "works", "always"]
CORNERS = ["good", "bad", "good", "bad"]


def test_what_it_says_of_sums_is_so(draw):
    tokens, labels = xor_sentences()
    label = sum_square(tokens, labels, NAMES, CORNERS).get_label()
    assert "The two plus sentences together have the same words" in label
    z = draw(5, 3)[tokens, torch.arange(3)].sum(dim=1)
    torch.testing.assert_close(z[0] + z[2], z[1] + z[3])


def test_a_note_stands_at_its_corner_on_a_phone_too():
    tokens, labels = xor_sentences()
    ax = sum_square(tokens, labels, list("01234"), CORNERS, ["first", "", "", "last"])
    assert "Plus: 0 1 2, good, first" in ax.get_label()
    assert ax.figure.to_svg().count("first</text>") == 2  # on a desk, and on a phone


def test_long_words_stand_one_below_the_other_on_a_phone():
    tokens, labels = xor_sentences()
    heights = [
        sum_square(tokens, labels, words, CORNERS).figure.phone.get_size_inches()[1]
        for words in (NAMES, list("01234"))
    ]
    assert heights[0] > heights[1]
