"""Drawings of maps say what they draw, from what they are given."""

import numpy as np
import pytest
import torch

from selfattn_book.figures.attention_strips import attention_strips
from selfattn_book.figures.induction import induction_heads
from selfattn_book.figures.map_grid import map_grid


def test_a_strip_is_as_high_as_its_share():
    message = torch.tensor([False, True, False, False])
    shares = {"One": torch.tensor([0.0, 0.75, 0.25, 0.0])}
    ax = attention_strips("abca", shares, message)
    heights = [patch.get_height() for patch in ax.patches if patch.get_height() > 1]
    columns = [h for h in heights if h not in (28,)]
    assert columns[0] == pytest.approx(3 * columns[1])
    assert "is at position 1. One: 0.00, 0.75, 0.25, 0.00; on the answer 0.75." in (ax.get_label())


def test_a_text_is_written_once_for_each_row():
    message = torch.zeros(3, dtype=torch.bool)
    rows = {name: torch.full((3,), 1 / 3) for name in ("One", "Two")}
    written = [text.get_text() for text in attention_strips("xyz", rows, message).texts]
    assert all(written.count(letter) == 2 for letter in "xyz")
    assert written.count("0.33") == 6


@pytest.mark.parametrize(
    ("text", "place", "answer"), [("cabdc", 1, "a"), ("abca", 1, "b"), ("xaya", 2, "y")]
)
def test_the_two_steps_find_what_followed(text, place, answer):
    message = induction_heads(text).get_label()
    assert f"finds {answer} at position {place}, and says that {answer} comes" in message


def test_the_wall_is_in_the_order_of_the_scores():
    scores = np.array([0.1, 0.9, 0.5, 0.3])
    ax = map_grid(np.zeros((4, 5, 5)), scores, bright=0.5)
    written = [text.get_text() for text in ax.texts]
    assert written == ["0.90", "0.50", "0.30", "0.10"]
    assert [text.get_weight() for text in ax.texts] == ["bold"] * 2 + ["normal"] * 2
    assert ax.get_label().endswith("with a score of 0.50 or more: 2.")


def test_each_map_is_drawn_at_its_place():
    maps = np.stack([np.eye(3), np.zeros((3, 3))])
    ax = map_grid(maps, np.array([0.2, 0.8]))
    drawn = [mesh.get_array().reshape(3, 3) for mesh in ax.collections]
    assert np.array_equal(drawn[0], maps[1])
    assert np.array_equal(drawn[1], maps[0])
    assert ax.get_xlim() == (0, 640)
