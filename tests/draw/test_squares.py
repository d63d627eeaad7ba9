"""Small panels show what they say, and say what they show."""

import numpy as np
import pytest
import torch

from selfattn_book.draw.matrices import attention_grid
from selfattn_book.experiments.squares import square_sequences
from selfattn_book.figures.squares import squares_grid

POINTS = square_sequences(7, seed=3).points


def test_each_head_has_its_panel():
    weights = torch.rand(3, 2, 5, generator=torch.Generator().manual_seed(0))
    axes = attention_grid(weights, rows=["a", "b"], title="Weights")
    assert [ax.get_title() for ax in axes] == [f"Weights, head {h}" for h in (1, 2, 3)]
    for ax, head in zip(axes, weights, strict=True):
        np.testing.assert_allclose(ax.collections[0].get_array(), head)
        assert ax.collections[0].get_clim() == (0, 1)
    assert axes[0].get_label().startswith("Weights, head 1. Heat map, 2 rows by 5 columns. a:")


def test_heads_without_a_title_are_named():
    (ax,) = attention_grid(torch.ones(1, 1, 1))
    assert ax.get_title() == "Head 1"


def test_the_rows_are_named_once():
    axes = attention_grid(torch.ones(2, 1, 1), row_title="asks", column_title="is asked")
    assert [ax.get_ylabel() for ax in axes] == ["asks", ""]
    assert [ax.get_xlabel() for ax in axes] == ["is asked"] * 2


def test_a_square_is_drawn_as_it_was_walked():
    predicted = -POINTS[:, :2]
    axes = squares_grid(POINTS, predicted, columns=4)
    assert len(axes) == 7
    for ax, walk, ends in zip(axes, POINTS, predicted, strict=True):
        path, source, target, crosses = (line.get_xydata() for line in ax.lines)
        np.testing.assert_allclose(path, walk)
        np.testing.assert_allclose(source, walk[:2])
        np.testing.assert_allclose(target, walk[2:])
        np.testing.assert_allclose(crosses, ends)
        assert [text.get_text() for text in ax.texts] == ["1", "2", "3", "4"]


def test_without_predictions_there_are_no_crosses():
    axes = squares_grid(POINTS[:2], names=["a", "b"], title="Two")
    assert [len(ax.lines) for ax in axes] == [3, 3]
    assert axes[0].get_label().startswith("Two. a: corners (1.0, ")
    assert axes[1].get_label().startswith("b: corners (")
    assert "predicted" not in axes[0].get_label()


def test_panels_fill_rows():
    axes = squares_grid(POINTS, columns=3)
    assert axes[0].get_gridspec().get_geometry() == (3, 3)
    assert squares_grid(POINTS[:2])[0].get_gridspec().get_geometry() == (1, 2)


def test_as_many_names_as_squares():
    with pytest.raises(ValueError, match="one name for each of 7; got 1"):
        squares_grid(POINTS, names=["a"])


def test_weights_have_three_axes():
    with pytest.raises(ValueError, match=r"weights must have shape \(H, T, S\); got \(2, 2\)"):
        attention_grid(torch.ones(2, 2))


def test_a_grid_of_no_heads_is_refused():
    with pytest.raises(ValueError, match=r"shape \(H, T, S\); got \(0, 2, 2\)"):
        attention_grid(np.ones((0, 2, 2)))
