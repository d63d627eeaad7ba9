"""Live figures draw what Python draws: mark by mark, in random states, at both widths."""

import re
from html import unescape
from pathlib import Path

import pytest
import torch

from selfattn_book.figures.divided_scores import divided_scores
from selfattn_book.figures.masking import masked_weights
from selfattn_book.figures.one_row import one_row
from selfattn_book.figures.projections import projections

BUNDLE = Path(__file__).parents[2] / "_config" / "static" / "live-figures.js"
WORDS = ["trees", "flowers", "university", "classroom"]
STATES = 25
DRAW = """([figure, svgs, state]) => {
    const { kinds, learn, paintAll } = liveFigures, kind = kinds[figure];
    return svgs.map(([svg, calls]) => {
        learn(svg);
        return [paintAll(kind.painters, calls, kind.values(state)).written(), kind.label(state)];
    });
}"""


def a_row(chance):
    x = 2 * torch.rand(4, 2, generator=chance, dtype=torch.float64) - 1
    return one_row(
        (100 * x).round() / 100,
        WORDS,
        row=int(torch.randint(4, (), generator=chance)),
        temperature=float(1 + torch.randint(4, (), generator=chance)) / 2,
    )


def a_mask(chance):
    scores = torch.randn(3, 3, generator=chance, dtype=torch.float64)
    mask = torch.rand(3, 3, generator=chance) < 0.6
    late = bool(torch.rand((), generator=chance) < 0.3)
    return masked_weights(scores, mask, ["the", "cat", "sat"], late=late)


def a_division(chance):
    query, keys = torch.randn(64, generator=chance), torch.randn(8, 64, generator=chance)
    step, power, scale = torch.randint(7, (3,), generator=chance).tolist()
    chosen = {"power": power / 6, "scale": 0.5 + scale / 4}
    return divided_scores(query.double(), keys.double(), step, **chosen)


def a_layer(chance):
    matrices = torch.randn(3, 3, 1, generator=chance, dtype=torch.float64)
    x = torch.randint(-1, 2, (3, 3), generator=chance).double()
    row = int(torch.randint(3, (), generator=chance))
    return projections(x, list(matrices), ["never", "fails", "here"], row)


DRAWINGS = {"one-row": a_row, "projections": a_layer, "masks": a_mask, "why-divide": a_division}


@pytest.fixture(scope="module")
def bundle(chromium):
    page = chromium.new_page()
    page.add_script_tag(path=BUNDLE)
    yield page
    page.close()


def both(ax):
    """Return the SVG of a drawing, its live marks and its label, on a page and on a phone."""
    parts = ax.figure.to_svg().split("\n")[1:-2]
    marks = [re.findall(r"<path .*?/>|<text .*?</text>", part.split("<g>")[1]) for part in parts]
    labels = [unescape(re.search(r'aria-label="(.*?)"', part)[1]) for part in parts]
    return parts, [[drawn, label] for drawn, label in zip(marks, labels, strict=True)]


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_live_figure_draws_the_marks_of_python(name, bundle):
    chance = torch.Generator().manual_seed(0)
    for _ in range(STATES):
        desk = DRAWINGS[name](chance)
        calls = [desk.live["calls"], desk.figure.phone.axes[0].live["calls"]]
        parts, expected = both(desk)
        svgs = list(zip(parts, calls, strict=True))
        assert bundle.evaluate(DRAW, [desk.live["figure"], svgs, desk.live["state"]]) == expected


def test_every_kind_of_figure_is_compared(bundle):
    assert set(bundle.evaluate("Object.keys(liveFigures.kinds)")) == set(DRAWINGS)
