"""A ladder draws every seed once, and every floor where it is."""

import numpy as np
import pytest

from selfattn_book.draw.seeds import ladder


def test_points_and_bars_are_the_data(draw):
    ends, floors = {"a": draw(7).exp(), "b\nc": draw(5, seed=1).exp()}, [0.5, 0.1]
    ax = ladder(ends, dict(zip(ends, floors, strict=True)), title="T")
    assert [line.get_ydata()[0] for line in ax.lines[:2]] == sorted(floors)
    drawn = zip(ends.values(), floors, ax.lines[2::2], ax.lines[3::2], strict=True)
    for column, (heights, floor, bar, points) in enumerate(drawn):
        np.testing.assert_array_equal(points.get_ydata(), heights)
        assert (np.abs(points.get_xdata() - column) < 0.3).all()
        assert len(set(points.get_xdata())) == len(heights)
        assert bar.get_ydata().tolist() == [floor, floor]
        assert bar.get_xdata().mean() == pytest.approx(column)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == list(ends)
    assert (ax.get_title(), ax.get_ylabel()) == ("T", "loss at the end")


@pytest.mark.parametrize(("bar", "rungs"), [("floor", 1), ("mean", 0)])
def test_models_of_one_floor_share_a_rung_and_other_bars_have_none(bar, rungs):
    ax = ladder({"a": [1.0], "b": [2.0]}, {"a": 0.5, "b": 0.5}, bar=bar)
    assert len(ax.lines) == rungs + 2 * 2


def test_the_lower_of_two_near_rungs_is_named_below_its_line():
    rungs = {"top": 0.7, "upper": 0.42, "lower": 0.41, "bottom": 0.0}
    ends = {key: [0.7, 0.0] for key in "abcd"}
    ax = ladder(ends, dict(zip("abcd", rungs.values(), strict=True)), rungs=rungs)
    places = {text.get_text(): (text.xy[1], text.get_va()) for text in ax.texts}
    assert places == {
        "top 0.7000": (0.7, "bottom"),
        "upper 0.4200": (0.42, "bottom"),
        "lower 0.4100": (0.41, "top"),
        "bottom 0.0000": (0.0, "bottom"),
    }
    assert ax.get_label().startswith("A rung at 0.7: top. A rung at 0.42: upper. ")


def test_a_lens_shows_what_lies_between_two_heights_and_names_it():
    rungs = {"top": 0.7, "upper": 0.42, "lower": 0.41}
    ax = ladder({"a": [0.7, 0.415]}, {"a": 0.41}, rungs=rungs, between=(0.4, 0.43))
    assert ax.get_ylim() == (0.4, 0.43)
    assert [text.get_text() for text in ax.texts] == ["upper 0.4200", "lower 0.4100"]
    assert {text.get_va() for text in ax.texts} == {"bottom"}  # no longer near
    assert ax.get_label().startswith("Heights from 0.4 to 0.43. A rung at 0.42")
