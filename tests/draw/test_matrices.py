"""Pictures draw their data, say it in words, and refuse what they cannot draw."""

from itertools import pairwise

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib import rcParams
from matplotlib._pylab_helpers import Gcf
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from selfattn_book.draw.colors import STEPS, light, shade
from selfattn_book.draw.matrices import heatmap
from selfattn_book.draw.style import DescribedFigure, book_style
from selfattn_book.figures.vectors import vectors


def test_a_heatmap_shows_its_numbers():
    values = torch.tensor([[0.25, 0.75], [1.0, -0.001]])
    names = {"rows": ["a", "b"], "columns": ["c", "long"], "title": "T"}
    ax = heatmap(values, row_title="query", column_title="key", **names)
    np.testing.assert_array_equal(ax.collections[0].get_array(), values)
    written = {text.get_position(): text.get_text() for text in ax.texts}
    assert written == {(0, 0): "0.25", (1, 0): "0.75", (0, 1): "1.00", (1, 1): "0.00"}
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b"]
    assert (ax.get_ylabel(), ax.get_xlabel(), ax.get_title()) == ("query", "key", "T")
    assert ax.get_xticklabels()[0].get_rotation() == 30
    assert not ax.spines["left"].get_visible()


def test_deep_cells_have_other_numbers_than_pale_ones():
    ax = heatmap(np.array([[0.0, 1.0, 0.6, 0.7]]))
    pale, deep = light("on-pale"), light("on-deep")
    assert [text.get_color() for text in ax.texts] == [pale, deep, pale, deep]


def test_signed_numbers_go_both_ways_from_zero():
    cells = heatmap(np.array([[-2.0, 0.0, 1.0]])).collections[0]
    assert cells.get_clim() == (-2, 2)
    expected = [shade(-STEPS), shade(0), shade(STEPS // 2)]
    assert [to_hex(color) for color in cells.to_rgba(cells.get_array())[0]] == expected
    assert heatmap(np.ones((1, 1)), limits=(0, 2)).collections[0].get_clim() == (0, 2)


def test_a_cell_covers_the_square_around_its_indices():
    ax = heatmap(np.ones((2, 3)))
    corners = ax.collections[0].get_coordinates()
    assert corners[0, 0].tolist() == [-0.5, -0.5]
    assert corners[-1, -1].tolist() == [2.5, 1.5]
    assert (ax.get_xlim(), ax.get_ylim()) == ((-0.5, 2.5), (1.5, -0.5))
    assert ax.get_aspect() == 1


def test_a_mask_is_described_by_what_each_row_sees():
    mask = torch.tensor([[True, False], [False, False]])
    ax = heatmap(mask, title="M")
    assert ax.get_label() == "M. Mask, 2 rows by 2 columns. 0 sees 0. 1 sees none."
    assert [text.get_text() for text in ax.texts] == ["✓", "·", "·", "·"]
    assert ax.collections[0].get_clim() == (0, 1.25)
    ax = heatmap(mask, rows=["ours", "theirs"], columns=["a", "b"], verb="passes")
    assert ax.get_label() == "Table, 2 rows by 2 columns. ours passes a. theirs passes none."


def test_a_missing_number_is_left_blank():
    ax = heatmap(np.array([[np.nan, 2.0]]), digits=0)
    assert [text.get_text() for text in ax.texts] == ["", "2"]
    assert "none, 2" in ax.get_label()


def test_a_large_matrix_is_described_by_its_range_and_named_sparsely():
    ax = heatmap(np.arange(180.0).reshape(60, 3), digits=None)
    assert "Values from 0.00 to 179.00" in ax.get_label()
    assert len(ax.texts) == 0
    assert len(ax.get_yticks()) <= 16


def test_arrows_join_points_with_where_they_move():
    points, moved = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.5, 0.5], [1.0, 1.0]])
    ax = vectors(points, ["a", "b"], moved=moved)
    assert [text.xy for text in ax.texts if text.arrow_patch] == [(0.5, 0.5), (1.0, 1.0)]
    names = [(text.get_text(), text.get_ha()) for text in ax.texts if text.get_text()]
    assert names == [("a", "right"), ("b", "left")]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["before", "after"]
    np.testing.assert_array_equal([line.get_xydata() for line in ax.lines[2:]], [points, moved])


def test_the_hull_has_all_points_on_its_left(draw):
    points = draw(31, 2).numpy()
    corners = vectors(points, [""] * len(points), hull=True).patches[0].get_xy()
    assert tuple(corners[0]) == tuple(corners[-1])
    for (x, y), (u, v) in pairwise(corners):
        turns = (u - x) * (points[:, 1] - y) - (v - y) * (points[:, 0] - x)
        assert (turns > -1e-12).all()
        assert (np.abs(turns) < 1e-12).sum() == 2  # the corners themselves


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: heatmap(np.zeros(3)), r"must be a matrix .*; got shape \(3,\)"),
        (lambda: heatmap(np.ones((0, 3))), r"with a row and a column; got shape \(0, 3\)"),
        (lambda: heatmap(np.ones((3, 0))), r"with a row and a column; got shape \(3, 0\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_the_reader_s_own_settings_are_left_alone():
    before = dict(rcParams)
    heatmap(np.eye(2))
    assert dict(rcParams) == before


def test_a_notebook_shows_the_described_picture(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append((data, raw)))
    ax = heatmap(np.eye(2), title="Identity")
    ax.figure._ipython_display_()
    expected = {"text/plain": ax.get_label(), "image/svg+xml": ax.figure.to_svg()}
    assert shown == [(expected, True)]
    assert 'aria-label="Identity. Heat map, 2 rows by 2 columns.' in ax.figure.to_svg()
    assert DescribedFigure().text_alternative() == ""


@pytest.mark.parametrize("interactive", [True, False])
def test_a_backend_that_turns_itself_on_stays_on(interactive, monkeypatch):
    monkeypatch.setitem(rcParams, "interactive", not interactive)
    book_style(matplotlib.interactive)(interactive)
    assert matplotlib.is_interactive() == interactive


def test_a_notebook_does_not_draw_a_figure_that_it_shows_as_svg(monkeypatch):
    drawn = []
    monkeypatch.setattr(FigureCanvasAgg, "draw", lambda canvas: drawn.append(canvas))
    axes = [heatmap(torch.eye(2)), plt.figure().add_subplot()]
    Gcf.draw_all()  # as after each cell
    assert drawn == [axes[1].figure.canvas]
