"""A sheet holds what was drawn: in its place, with its looks, as text where it is text."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from selfattn_book.draw.colors import light, on_page
from selfattn_book.draw.matrices import heatmap
from selfattn_book.draw.sheet import INCH, Sheet
from selfattn_book.draw.style import BLUE, panels


@pytest.fixture
def ax():
    """Axes of 200 by 100 pixels that fill their sheet; a unit is a pixel, and y goes up."""
    figure = plt.figure(figsize=(200 / INCH, 100 / INCH), dpi=INCH)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 200), ylim=(0, 100))
    axes.set_axis_off()
    return axes


def marks(ax):
    sheet = Sheet(200, 100)
    ax.draw(sheet)
    return sheet.marks()


def test_a_line_is_drawn_from_point_to_point(ax):
    ax.plot([10, 60, 60], [10, 30, 100], color=BLUE, linewidth=1.5, linestyle="--")
    ax.plot(np.linspace(0, 200, 1000), np.linspace(0, 100, 1000))
    line, long = marks(ax)
    assert 'd="M0 100l200-100"' in long  # only its ends
    assert 'd="M10 90l50-20v-70"' in line
    assert f'fill="none" stroke="{on_page(BLUE)}" stroke-width="2"' in line
    assert "stroke-dasharray=" in line


def test_what_lies_outside_of_the_axes_is_not_written(ax):
    ax.plot([-100, 300], [50, 50], color=BLUE)
    ax.plot([-50, 50, 250], [20, 20, 20], "o", color=BLUE)
    ax.fill_between([-100, 300], [-100, -100], [40, 40], color=BLUE, alpha=0.25, linewidth=0)
    area, line, points = marks(ax)
    assert f'fill="{on_page(BLUE)}" fill-opacity="0.25"' in area
    assert 'd="M-1 50h202"' in line  # a pixel more
    assert points.count("M") == 1
    numbers = map(float, re.findall(r"-?[\d.]+", area.split('"')[1]))
    assert max(map(abs, numbers)) <= 200


def test_cells_of_one_shade_are_one_path_and_a_missing_one_is_none(ax):
    cells = np.array([[1, 1, np.nan], [0, 1, 1]])
    ax.pcolormesh([0, 10, 20, 30], [0, 10, 20], cells, cmap="Greys")
    pale, deep = sorted(marks(ax), key=len)
    assert 'd="M0 1h1"' in pale
    assert 'd="M0 0h1M1 0h1M1 1h1M2 1h1"' in deep
    assert 'transform="matrix(10 0 0 -10 0 95)"' in pale  # of 10 by 10, from below


def test_cells_that_differ_in_size_are_refused(ax):
    ax.pcolormesh([0, 10, 30], [0, 10], np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"must be of one size; got \[10\.0, 20\.0\]"):
        marks(ax)


def test_cells_of_a_wide_and_a_narrow_drawing_are_the_same_letters():
    (ax,) = panels(width=5, height=4)
    heatmap(np.arange(2400).reshape(40, 60) % 7, digits=None, ax=ax)
    wide, narrow = ax.figure.to_svg().split('class="narrow"')
    letters = [re.findall(r' d="(M[^"]*)" stroke="[^"]*" shape', svg) for svg in (wide, narrow)]
    assert letters[0] == letters[1]
    assert 2000 < len("".join(letters[0])) < 9 * 2400  # letters a cell


@pytest.mark.parametrize(
    ("side", "anchor"), [("left", None), ("center", "middle"), ("right", "end")]
)
def test_text_keeps_its_anchor_in_each_font(ax, side, anchor):
    ax.text(50, 40, "a < b & -1", ha=side, color=light("query"), fontsize=10.5)
    (text,) = marks(ax)
    assert 'x="50"' in text
    assert re.findall(r'text-anchor="(\w+)"', text) == ([anchor] if anchor else [])
    assert f'font-size="14" fill="{on_page(light("query"))}"' in text
    assert text.endswith(">a &lt; b &amp; −1</text>")


def test_turned_text_ends_at_its_axis(ax):
    ax.text(50, 40, "a word", rotation=90, va="top", ha="center")
    (text,) = marks(ax)
    assert 'text-anchor="end"' in text
    x, y = re.search(r'x="(\S+)" y="(\S+)"', text).groups()
    assert f"rotate(-90 {x} {y})" in text
    assert float(y) == pytest.approx(60, abs=0.2)


def test_powers_of_ten_are_raised():
    (ax,) = panels()
    ax.plot([1, 100], [1, 100])
    ax.set_yscale("log")
    svg = ax.figure.to_svg()
    assert '>10<tspan dy="-4" font-size="11">2</tspan></text>' in svg
    assert "$" not in svg
