"""Each panel is a picture of its own, with its size and its text; what is wide is drawn narrow, too."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import RendererAgg

from selfattn_book.draw.curves import lines
from selfattn_book.draw.layout import NARROW, WIDE, balanced
from selfattn_book.draw.matrices import heatmap
from selfattn_book.draw.palette import COLORS
from selfattn_book.draw.seeds import bands, ladder
from selfattn_book.draw.style import panels
from selfattn_book.figures.vectors import vectors

SVG = "{http://www.w3.org/2000/svg}"


def parts(ax):
    return list(ElementTree.fromstring(ax.figure.to_svg()))


def size(part):
    return int(part.get("width")), int(part.get("height"))


def dotted(path):
    return (path.get("stroke-dasharray") or "").startswith("1.33")


DRAWN = {
    "heatmap": lambda: heatmap(np.eye(3), title="A matrix", row_title="row"),
    "mask": lambda: heatmap(np.eye(3, dtype=bool)),
    "signed": lambda: heatmap(np.linspace(-1, 1, 60).reshape(6, 10), digits=None),
    "lines": lambda: lines([1, 2, 3], {"a": [1, 2, 3], "b": [3, 2, 9]}, log=True, markers=True),
    "bands": lambda: bands({"a": np.eye(4), "b": np.ones((4, 2))}, floors={"ln 2": 0.7}),
    "ladder": lambda: ladder({"a\nb": [1.0, 2.0]}, {"a\nb": 0.5}, rungs={"half": 0.5}),
    "vectors": lambda: vectors(np.eye(2), ["a", "b"], moved=np.ones((2, 2)), hull=True),
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


@every_kind
def test_text_is_not_smaller_than_small(draw):
    sizes = re.findall(r'font-size="([\d.]+)"', draw().figure.to_svg())
    powers = 11
    assert min(map(float, sizes)) >= powers


def test_each_panel_says_what_it_shows_and_the_picture_says_all():
    left, right = panels(2)
    heatmap(np.eye(2), title='"Left" & <right>', ax=left)
    lines([0, 1], {"a": [0, 1]}, title="Up", ax=right)
    root = ElementTree.fromstring(left.figure.to_svg())
    assert [part.get("aria-label") for part in root] == [left.get_label(), right.get_label()]
    assert root.get("aria-label") == f"{left.get_label()} {right.get_label()}"
    assert {part.get("role") for part in (root, *root)} == {"img"}


def test_the_names_of_floors_stand_above_their_lines_on_a_phone():
    ax = bands({"a": np.eye(4)}, floors={"a floor": 0.7}, title="Two")
    before = ax.texts[0].get_position(), ax.texts[0].get_ha()
    wide, narrow = parts(ax)
    for part, anchor in ((wide, None), (narrow, "end")):
        (name,) = (text for text in part.iter(f"{SVG}text") if text.text == "a floor")
        assert name.get("text-anchor") == anchor
    assert (ax.texts[0].get_position(), ax.texts[0].get_ha()) == before


def test_such_a_name_is_toward_the_middle_unless_a_curve_ends_there():
    ax = bands({"a": np.full((4, 3), 0.36)}, floors={"high": 0.9, "low": 0.3})
    ax.set_ylim(0, 1)
    _, narrow = parts(ax)
    heights = {text.text: float(text.get("y")) for text in narrow.iter(f"{SVG}text")}
    (floors,) = (path.get("d") for path in narrow.iter(f"{SVG}path") if dotted(path))
    high, low = map(float, re.findall(r"M[\d.]+ ([\d.]+)h", floors))
    assert heights["high"] > high + 5
    assert heights["low"] > low + 5
    ax = bands({"a": np.eye(4)}, floors={"low": 0.03}, log=True)
    ax.set_ylim(0.01, 1)
    _, narrow = parts(ax)
    (y,) = (float(text.get("y")) for text in narrow.iter(f"{SVG}text") if text.text == "low")
    (floor,) = (path.get("d") for path in narrow.iter(f"{SVG}path") if dotted(path))
    assert y < float(floor.split()[1].split("h")[0])


def test_names_below_a_ladder_are_turned_where_they_would_touch():
    names = [f"a model\nwith {k} blocks" for k in range(6)]
    ax = ladder({name: [1.0] for name in names}, dict.fromkeys(names, 0.5))
    wide, narrow = parts(ax)
    said = [[text.text for text in part.iter(f"{SVG}text")] for part in (wide, narrow)]
    assert "with 3 blocks" in said[0]
    assert "a model with 3 blocks" in said[1]
    assert [label.get_text() for label in ax.get_xticklabels()] == names


def test_what_is_wide_is_drawn_again_for_a_phone():
    long = "A long title, so long that a phone has two lines of it"
    wide, narrow = parts(lines([0, 1], {"a": [0, 1]}, title=long))
    assert (wide.get("class"), narrow.get("class")) == ("wide", "narrow")
    assert wide.get("aria-label") == narrow.get("aria-label")
    assert (wide.get("display"), narrow.get("display")) == (None, "none")
    titles = [[text.text for text in part.iter(f"{SVG}text")][-2:] for part in (wide, narrow)]
    assert titles[0][1:] == [long]
    assert titles[1] == ["A long title, so long that", "a phone has two lines of it"]


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


@pytest.mark.parametrize(
    ("text", "width", "broken"),
    [
        ("", 100, []),
        ("short", 100, ["short"]),
        ("one two three four", 100, ["one two", "three four"]),
        ("incomprehensibilities", 50, ["incomprehensibilities"]),
    ],
)
def test_titles_are_broken_into_even_lines(text, width, broken):
    assert balanced(text, width) == broken


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
