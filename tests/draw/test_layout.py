"""Each panel is a picture of its own, with its size and its text; what is wide is drawn narrow, too."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import RendererAgg

from selfattn_book.draw.curves import lines
from selfattn_book.draw.layout import NARROW, WIDE
from selfattn_book.draw.matrices import heatmap
from selfattn_book.draw.palette import COLORS
from selfattn_book.draw.seeds import bands, ladder
from selfattn_book.draw.style import panels
from selfattn_book.figures.vectors import vectors

SVG = "{http://www.w3.org/2000/svg}"


def parts(ax):
    return list(ElementTree.fromstring(ax.figure.to_svg()))


def texts(part):
    return list(part.iter(f"{SVG}text"))


def size(part):
    return int(part.get("width")), int(part.get("height"))


DRAWN = {
    "heatmap": lambda: heatmap(np.eye(3), title="A matrix", row_title="row"),
    "mask": lambda: heatmap(np.eye(3, dtype=bool)),
    "signed": lambda: heatmap(np.linspace(-1, 1, 60).reshape(6, 10), digits=None),
    "lines": lambda: lines([1, 2, 3], {"a": [1, 2, 3], "b": [3, 2, 9]}, log=True, markers=True),
    "bands": lambda: bands({"a": np.eye(4), "b": np.ones((4, 2))}, floors={"ln 2": 0.7}),
    "ladder": lambda: ladder({"a\nb": [1.0, 2.0]}, {"a\nb": 0.5}, rungs={"half": 0.5}),
    "vectors": lambda: vectors(np.eye(3)[:, :2], "abc", moved=np.ones((3, 2)), hull=True),
}
every_kind = pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)


@every_kind
def test_a_picture_has_only_colors_that_were_measured(draw):
    svg = draw().figure.to_svg()
    named = r"var\(--fig-[\w-]+,#\w{6}\)"
    looks = set(re.findall(r'(?:fill|stroke)="(.*?)"', svg)) - {"none"}
    known = rf"{named}|color-mix\(in oklab,{named},{named} \d+%\)"
    assert looks
    assert [look for look in looks if not re.fullmatch(known, look)] == []
    assert set(re.findall(r"--fig-([\w-]+),", svg)) <= set(COLORS)


@every_kind
def test_a_picture_is_deterministic_without_ids_and_tooltips(draw):
    svg = draw().figure.to_svg()
    assert svg == draw().figure.to_svg()
    assert [mark for mark in ("id=", "<title", "<style", "clip-path", "href") if mark in svg] == []


@every_kind
def test_a_picture_fits_on_a_page_and_on_a_phone(draw):
    ax = draw()
    root = ElementTree.fromstring(ax.figure.to_svg())
    assert size(root)[0] <= WIDE + 20
    for part in root:
        if part.get("class") != "wide":
            assert size(part)[0] <= NARROW + 8
        assert part.get("viewBox").split()[2:] == list(map(str, size(part)))
        assert f"--width:{size(part)[0]}px" in part.get("style")


def test_each_panel_says_what_it_shows_and_the_picture_says_all():
    axes = panels(2)
    labels = [
        heatmap(np.eye(2), title=name, ax=ax).get_label()
        for name, ax in zip('"<', axes, strict=True)
    ]
    root = ElementTree.fromstring(axes[0].figure.to_svg())
    assert [part.get("aria-label") for part in (root, *root)] == [" ".join(labels), *labels]
    assert {part.get("role") for part in (root, *root)} == {"img"}


def test_the_names_of_floors_are_above_their_lines_on_a_phone():
    ax = bands({"a": np.eye(4)}, floors={"a floor": 0.7}, title="Two")
    before = ax.texts[0].get_position(), ax.texts[0].get_ha()
    names = [text for part in parts(ax) for text in texts(part) if text.text == "a floor"]
    assert [name.get("text-anchor") for name in names] == [None, "end"]
    assert (ax.texts[0].get_position(), ax.texts[0].get_ha()) == before


@pytest.mark.parametrize(
    ("curve", "floors", "limits", "below"),
    [
        (0.36, {"high": 0.9, "low": 0.3}, (0, 1), [True, True]),  # a curve ends above the low one
        (0.90, {"low": 0.3}, (0, 1), [False]),
        (0.25, {"low": 0.03}, (0.01, 1), [False]),
    ],
)
def test_such_a_name_is_toward_the_middle_unless_a_curve_ends_there(curve, floors, limits, below):
    ax = bands({"a": np.full((4, 3), curve)}, floors=floors, log=limits[0] > 0)
    ax.set_ylim(limits)
    _, narrow = parts(ax)
    dotted = narrow.iterfind(f"{SVG}path[@stroke-dasharray]")
    (lines_,) = (path.get("d") for path in dotted if path.get("stroke-dasharray")[:4] == "1.33")
    heights = map(float, re.findall(r"M[\d.]+ ([\d.]+)h", lines_))
    names = [float(text.get("y")) for name in floors for text in texts(narrow) if text.text == name]
    assert [name > height for name, height in zip(names, heights, strict=True)] == below


def test_names_below_a_ladder_are_turned_where_they_would_touch():
    names = [f"a model\nwith {k} blocks" for k in range(6)]
    ax = ladder({name: [1.0] for name in names}, dict.fromkeys(names, 0.5), bar="mean")
    assert "a model with 3 blocks, 1 seeds: mean 0.5" in ax.get_label()
    wide, narrow = ([text.text for text in texts(part)] for part in parts(ax))
    assert "with 3 blocks" in wide
    assert "a model with 3 blocks" in narrow
    assert [label.get_text() for label in ax.get_xticklabels()] == names


def test_what_is_wide_is_drawn_again_for_a_phone():
    long = "A long title, so long that a phone has two lines of it"
    wide, narrow = both = parts(lines([0, 1], {"a": [0, 1]}, title=long))
    assert [part.get("class") for part in both] == ["wide", "narrow"]
    assert [part.get("display") for part in both] == [None, "none"]
    assert wide.get("aria-label") == narrow.get("aria-label")
    assert texts(wide)[-1].text == long
    assert [text.text for text in texts(narrow)[-2:]] == [long[:26], long[27:]]


def test_the_figure_is_as_it_was():
    ax = lines([0, 1], {"a": [0, 1]}, title="A long title " * 9)
    before = ax.get_title(), ax.figure.get_size_inches().tolist()
    ax.figure.to_svg()
    assert (ax.get_title(), ax.figure.get_size_inches().tolist()) == before


def test_a_lower_panel_is_dropped_as_far_as_it_is_lower():
    left, right = panels(2)
    heatmap(np.eye(4), ax=left)
    heatmap(np.ones((1, 4)), ax=right)
    high, low = parts(left)
    drop = int(low.get("y")) - int(high.get("y"))
    assert drop > 20
    assert low.get("style").endswith(f"--drop:{drop}px")
    assert "--drop" not in high.get("style")


def test_a_figure_is_laid_out_with_what_it_is_drawn_with(monkeypatch):
    def drawn():
        (ax,) = panels(width=3)
        ax.set(yscale="log", ylim=(1e-30, 1), ylabel="share")
        ax.plot([0.5, 1e-25])
        return ax.figure.to_svg()

    before = drawn()
    for other in (RendererAgg, RendererBase):  # what would measure
        monkeypatch.delattr(other, "get_text_width_height_descent")
    assert drawn() == before
