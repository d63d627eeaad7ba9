"""Figures draw what they are given, on a page and on a phone, and say it in words."""

import math
import re
from itertools import combinations

import numpy as np
import pytest
import torch

from selfattn_book.draw.matrices import attention_grid
from selfattn_book.experiments.squares import square_sequences
from selfattn_book.experiments.words import xor_sentences
from selfattn_book.figures.attention_strips import attention_strips
from selfattn_book.figures.grouped_heads import grouped_heads
from selfattn_book.figures.map_grid import map_grid
from selfattn_book.figures.masking import repeated_mask
from selfattn_book.figures.paged_cache import paged_cache
from selfattn_book.figures.patching import patching
from selfattn_book.figures.prerequisites import _lanes, prerequisites
from selfattn_book.figures.rotation import rotation
from selfattn_book.figures.shapes import _steps, shapes
from selfattn_book.figures.sum_square import sum_square
from selfattn_book.figures.tiny_squares import tiny_squares
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.multi_head import MultiHeadAttention


# Masks.
@pytest.mark.parametrize(("heads", "queries"), [(1, 1), (3, 2), (2, 4)])
def test_every_query_of_every_head_has_the_same_mask(heads, queries):
    ax = repeated_mask(padding_mask([4, 1, 2]), heads, queries)
    for drawn in (ax, ax.figure.phone.axes[0]):
        assert [text.get_text() for text in drawn.texts].count("✓") == 7 * (1 + heads * queries)


# Attention weights.
def test_a_bar_is_as_high_as_its_weight_over_a_text_for_each_row():
    answer = torch.tensor([False, True, False, False])
    rows = {"One": torch.tensor([0.0, 0.75, 0.25, 0.0]), "Two": torch.full((4,), 0.25)}
    ax = attention_strips("abca", rows, answer)
    high, low, *others = (h for p in ax.patches if 1 < (h := p.get_height()) != 28)
    assert others == [low] * 4
    assert high == pytest.approx(3 * low)
    assert [text.get_text() for text in ax.texts].count("b") == 2


@pytest.mark.parametrize("position", [0, 2, 3])
def test_the_patched_state_stands_under_its_letter_in_both_passes(position):
    ax = patching("abcab", "abdab", position)
    states = [p for p in ax.patches if getattr(p, "get_height", int)() == 20]
    bold = [p for p in states if p.get_linewidth() > min(q.get_linewidth() for q in states)]
    letters = [text.get_position()[0] for text in ax.texts if len(text.get_text()) == 1]
    assert [p.get_x() + p.get_width() / 2 for p in bold] == [letters[position]] * 2
    assert f"letter {position + 1} of the first" in ax.get_label()


def test_attention_maps_are_in_the_order_of_their_scores():
    maps = np.stack([np.eye(3), np.zeros((3, 3)), np.ones((3, 3))])
    ax = map_grid(maps, np.array([0.2, 0.8, 0.5]), cells=np.eye(3, k=-1), names={1: "Ada"})
    looks = [(text.get_text(), text.get_weight()) for text in ax.texts]
    assert looks == [("Ada 0.80", "bold"), ("0.50", "bold"), ("0.20", "normal")]
    plain = map_grid(maps, np.array([0.2, 0.8, 0.5]))
    assert len(ax.patches) == len(plain.patches) + 3 * 2  # two cells in each of three maps
    assert ax.get_label().endswith("with a score of 0.50 or more: 2.")
    for mesh, i in zip(ax.collections, (1, 2, 0), strict=True):
        np.testing.assert_array_equal(mesh.get_array().reshape(3, 3), maps[i])
    assert ax.get_xlim() == (0, 640)


def test_each_head_has_its_panel_and_the_rows_are_named_once(draw):
    weights = draw(3, 2, 5).softmax(-1)
    axes = attention_grid(weights, title="Weights", row_title="query", column_title="key")
    for h, ax in enumerate(axes):
        assert ax.get_title() == f"Weights, head {h + 1}"
        assert (ax.get_ylabel(), ax.get_xlabel()) == ("" if h else "query", "key")
        assert ax.collections[0].get_clim() == (0, 1)
        np.testing.assert_allclose(ax.collections[0].get_array(), weights[h])
    assert attention_grid(torch.ones(1, 1, 1))[0].get_title() == "Head 1"


def test_shared_heads_are_drawn_once():
    ax = grouped_heads([MultiHeadAttention(16, 4, num_kv_heads=g) for g in (4, 2, 1)])
    stored = re.findall(r"The cache stores (\d+) numbers", ax.get_label())
    assert stored == ["32", "16", "8"]  # of keys and values
    svg = ax.figure.to_svg()
    assert [svg.count(f">{letter}<") for letter in "qkv"] == [24, 14, 14]


def test_the_score_is_that_of_the_rotated_pair():
    query, key = torch.tensor([1.0, 0.0]), torch.tensor([0.8, 0.6])
    label = rotation(query, key, (2, 0), shift=3).get_label()
    for apart, times in ((2, 2), (5, 1)):
        score = math.cos(apart - math.atan2(0.6, 0.8))
        assert label.count(f"their score is {score:.2f}") == times
    assert "The query at 5 and the key at 3 are 1.36 rad apart" in label


# The cost of attention.
@pytest.mark.parametrize(("length", "empty"), [(8, 0), (9, 3), (11, 1)])
def test_each_token_is_drawn_in_its_text_and_in_the_pool(length, empty):
    ax = paged_cache({"A": ([5, 2, 6][: -(-length // 4)], length)}, blocks=7, size=4)
    for drawn in (ax, ax.figure.phone.axes[0]):
        texts = [text.get_text() for text in drawn.texts]
        assert all(texts.count(str(n)) == 2 + (n < 7) for n in range(1, length + 1))
        hatched = [line for line in drawn.lines if line.get_zorder() == 5]
        assert (len(hatched) > 0) == (empty > 0)
        assert len(drawn.patches) == 2 * (length + empty) + 7 - (length + empty) // 4


# Prerequisites.
def test_each_direct_prerequisite_has_a_dot():
    builds_on = {1: [], 2: [1], 3: [1, 2], 4: [1], 7: [3, 4]}  # 5 and 6 are no chapters
    ax = prerequisites(dict(zip(builds_on, "abcde", strict=True)), builds_on, {"All": 1})
    assert sum(type(patch).__name__ == "Circle" for patch in ax.patches) == 5


def test_two_lines_in_one_lane_do_not_meet():
    needing = {1: [2, 4], 2: [3], 3: [5], 4: [5]}
    lanes = _lanes(needing)
    for a, b in combinations(needing, 2):
        assert lanes[a] != lanes[b] or needing[a][-1] <= b


# The card of shapes.
def test_shapes_are_those_of_the_module(draw):
    attention = MultiHeadAttention(6, 2, d_head=4)
    mask = padding_mask([4] * 7, 5) & causal_mask(3, 5)
    x, memory = draw(7, 3, 6, dtype=torch.float32), draw(7, 5, 6, dtype=torch.float32)
    steps = _steps(attention, x, memory, mask)
    made = attention(x, memory, memory, mask)
    torch.testing.assert_close((steps["output"], steps["weights"]), made)
    ax = shapes(attention, x, memory, {"mask": mask})
    svg = ax.figure.to_svg()
    assert svg.count("(B, H, T, S)</text>") == svg.count("(B,H,T,S)</text>") == 2  # and phone
    free = shapes(attention, x, memory, {"mask": torch.ones(3, 5, dtype=torch.bool)})
    assert len(ax.lines) > len(free.lines)  # masked entries are hatched


# Squares.
@pytest.mark.parametrize(("count", "rows"), [(10, 2), (7, 1), (2, 1)])
def test_squares_fill_rows(count, rows):
    ax = tiny_squares(square_sequences(count, seed=3).points)
    assert ax.get_ylim()[0] == 29 + 90 * rows
    assert [text.get_text() for text in ax.texts].count("3") == count


def test_predictions_are_crosses():
    points = square_sequences(7, seed=3).points
    without, answered = tiny_squares(points), tiny_squares(points, -points[:, :2])
    crosses = len(answered.lines) - len(without.lines)
    assert crosses >= 2 * 2 * (len(points) + 1 / 2)  # two strokes each, and one in the key


# The square of four sentences.
def test_long_words_are_one_below_the_other_on_a_phone():
    tokens, labels = xor_sentences()
    words, corners = ["never", "fails", "here", "works", "always"], ["good", "bad", "good", "bad"]
    long, short = (sum_square(tokens, labels, w, corners) for w in (words, "01234"))
    assert long.figure.to_svg().count("bad</text>") == 4  # two on a desk, and two on a phone
    heights = [ax.figure.phone.get_size_inches()[1] for ax in (long, short)]
    assert heights[0] > heights[1]
