"""Curves and bands draw their data and their floors, and say in words what they drew."""

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from selfattn_book.draw.curves import lines
from selfattn_book.draw.seeds import bands, ladder
from selfattn_book.draw.style import BLUE, ORANGE, panels

STEPS, SEEDS = 7, 3


@pytest.fixture
def losses(draw):
    """``(STEPS, SEEDS)``, positive."""
    return draw(STEPS, SEEDS).exp()


# Lines.
def test_a_line_goes_through_its_numbers(draw):
    x, y = draw(STEPS).sort().values, draw(STEPS, seed=1)
    ax = lines(x, {"a": y, "b": 2 * y}, x_title="time", y_title="height", markers=True)
    for line, values in zip(ax.lines, (y, 2 * y), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), torch.stack([x, values], dim=1))
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_yscale()) == ("time", "height", "linear")
    # They differ by more than color.
    looks = {(line.get_linestyle(), line.get_marker()) for line in ax.lines}
    assert all(len(set(kind)) == 2 for kind in zip(*looks, strict=True))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_a_line_is_described_by_its_course():
    ax = lines([0, 1, 5], {"ends early": [3, -1, np.nan]}, title="T", log=True)
    assert (ax.get_title(), ax.get_yscale()) == ("T", "log")
    assert ax.get_label().endswith("5. ends early: from 3 to -1, least -1, greatest 3.")


def test_one_curve_needs_no_legend_and_no_markers():
    ax = lines(np.arange(2), {"a": np.arange(2)})
    assert ax.get_legend() is None
    assert ax.lines[0].get_marker() in ("", "None")


# Bands.
def test_a_band_lies_between_the_least_and_the_greatest(losses):
    ax = bands({"a": losses, "b": 2 * losses})
    for scale, line, band in zip((1, 2), ax.lines, ax.collections, strict=True):
        expected = scale * losses.median(1).values  # of three seeds, the middle one
        np.testing.assert_array_equal(line.get_xdata(), range(STEPS))
        np.testing.assert_array_equal(line.get_ydata(), expected)
        corners = band.get_paths()[0].vertices
        for step, values in enumerate(scale * losses.numpy()):
            inside = corners[corners[:, 0] == step, 1]
            assert (inside.min(), inside.max()) == (values.min(), values.max())
        assert to_hex(band.get_facecolor()[0]) == line.get_color().lower()
        assert band.get_alpha() < 0.5
    assert [line.get_color() for line in ax.lines] == [BLUE, ORANGE]
    assert len({line.get_linestyle() for line in ax.lines}) == 2


def test_floors_are_drawn_named_and_described(losses):
    floors = {"ln 2": np.log(2), "none": 0.0}
    ax = bands({"a": losses, "b": losses}, floors=floors)
    *_, high, low = ax.lines
    assert [high.get_ydata(), low.get_ydata()] == [[y, y] for y in floors.values()]
    assert list(high.get_xdata()) == [0, 1]  # all across
    names = {text.get_text(): text.xy for text in ax.texts}
    assert names == {name: (1, y) for name, y in floors.items()}
    assert ax.get_label().endswith("A line at 0.693: ln 2. A line at 0: none.")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


# Both.
def test_curves_are_drawn_into_given_axes(losses):
    left, middle, right = panels(3)
    assert lines(np.arange(2), {"a": np.arange(2)}, ax=left) is left
    assert bands({"a": losses}, ax=middle) is middle
    assert ladder({"a": [1.0]}, {"a": 0.0}, ax=right) is right


@pytest.mark.parametrize("count", [0, 5])
def test_there_are_one_to_four_curves(count):
    curves = dict.fromkeys("abcde"[:count], ((0,),))
    for draw in (lambda: lines([0], curves), lambda: bands(curves)):
        with pytest.raises(ValueError, match=f"1 to 4 curves; got {count}"):
            draw()
