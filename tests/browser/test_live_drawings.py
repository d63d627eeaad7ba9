"""Live figures draw and compute what Python does: mark by mark at both widths, and in float64."""

import math
import re
from html import unescape

import pytest
import torch

from selfattn_book.attention import masked_softmax, scaled_dot_product_attention
from selfattn_book.figures.divided_scores import divided_scores
from selfattn_book.figures.masking import masked_weights
from selfattn_book.figures.one_row import one_row
from selfattn_book.figures.projections import projections
from selfattn_book.figures.rotation import rotation
from selfattn_book.measure.softmax import entropy, softmax_jacobian
from selfattn_book.rotary import rotate
from tests.browser.live_clocks import a_shift, encoded_positions
from tests.browser.live_decoding import a_step, counted_work
from tests.browser.live_heads import an_entry, reached
from tests.browser.live_knockout import a_knockout, knocked_out
from tests.browser.live_reversal import a_reversal, reversed_words
from tests.browser.live_writer import a_text_that_is_written, written_texts

WORDS = ["trees", "flowers", "university", "classroom"]
# How many are drawn, each in a third of a second in Python, and computed; all with --every-look.
STATES, CASES = {False: 2, True: 25}, {False: 20, True: 200}
DRAW = """([figure, svgs, state]) => {
    const { kinds, learn, paintAll } = liveFigures, kind = kinds[figure];
    return svgs.map(([svg, calls]) => {
        learn(svg);
        return [paintAll(kind.painters, calls, kind.values(state)).written(), kind.label(state)];
    });
}"""


def below(limit, chance):
    return int(torch.randint(limit, (), generator=chance))


def a_row(chance):
    x = (200 * torch.rand(4, 2, generator=chance) - 100).round().double() / 100
    return one_row(x, WORDS, row=below(4, chance), temperature=(1 + below(4, chance)) / 2)


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
    return projections(x, list(matrices), ["never", "fails", "here"], below(3, chance))


def two_hands(chance):
    query, key = (200 * torch.rand(2, 2, generator=chance) - 100).round().double() / 100
    p, s, shift, pair = torch.randint(8, (4,), generator=chance).tolist()
    return rotation(query, key, (p, s), shift, pair=pair, base=10.0 ** (2 + below(3, chance)))


def rows_of_attention(chance):
    x, row = torch.randn(4, 2, generator=chance).double(), below(4, chance)
    temperature = 0.1 + below(10, chance) / 10
    context, weights = scaled_dot_product_attention(x / temperature, x, x)
    state = {"names": WORDS, "x": x.tolist(), "row": row, "temperature": temperature}
    return state, {"scores": x @ x[row], "weights": weights[row], "context": context[row]}


def masked_rows(chance):
    scores = torch.randn(3, 3, generator=chance).double()
    mask = torch.rand(3, 3, generator=chance) < 0.6
    state = {"scores": scores.tolist(), "mask": mask.tolist(), "late": False, "output": 2}
    return state, {"weights": torch.stack([masked_softmax(scores, mask), mask.double()])}


def divided_rows(chance):
    products = 9 * torch.randn(7, 8, generator=chance).double()
    step, power, scale = below(7, chance), 0.4, 0.7
    scores = products[step] * scale**2 / 2 ** (step * power)
    weights = scores.softmax(0)
    slope, shared = softmax_jacobian(weights).abs().max(), entropy(weights).exp()
    state = {"products": products.tolist(), "step": step, "power": power, "scale": scale}
    return state, {"weights": weights, "share0": (shared - 1) / 7, "share1": 4 * slope}


def layers(chance):
    x, entries = torch.randn(2, 3, 3, generator=chance).double()
    query, key, value = (x @ w[:, None] for w in entries)
    context, weights = scaled_dot_product_attention(query, key, value)
    state = {"names": WORDS[:3], "x": x.tolist(), "row": 1, "entries": entries.tolist()}
    return state, {"attention": {"weights": weights[1], "context": context[1, 0]}}


def rotated_pairs(chance):
    query, key = torch.randn(2, 2, generator=chance).double()
    p, s, shift, pair = torch.randint(8, (4,), generator=chance).tolist()
    x = torch.zeros(2, 16, dtype=torch.float64)
    x[:, pair], x[:, pair + 8] = torch.stack([query, key]).T
    hands = rotate(x, torch.tensor([p + shift, s]), base=1000.0)[:, [pair, pair + 8]]
    start, end = torch.atan2(hands[1, 1], hands[1, 0]), torch.atan2(hands[0, 1], hands[0, 0])
    arc = torch.tensor([start, math.remainder(end - start, 2 * math.pi)], dtype=torch.float64)
    state = {"query": query.tolist(), "key": key.tolist(), "positions": [p, s]}
    state |= {"shift": shift, "pair": pair, "base": 3, "dimension": 16}
    return state, {"clock2": {"arc": arc, "lengths": hands.norm(dim=1)}}


KINDS = {  # a drawing of random numbers, and what is computed from others
    "clocks": (a_shift, encoded_positions),
    "one-row": (a_row, rows_of_attention),
    "projections": (a_layer, layers),
    "rope": (two_hands, rotated_pairs),
    "masks": (a_mask, masked_rows),
    "why-divide": (a_division, divided_rows),
    "decoding": (a_step, counted_work),
    "heads": (an_entry, reached),
    "knockout": (a_knockout, knocked_out),
    "reversal": (a_reversal, reversed_words),
    "writer": (a_text_that_is_written, written_texts),
}


def both(ax):
    """Return the SVG of a drawing, its live marks and its label, on a page and on a phone."""
    parts = ax.figure.to_svg().split("\n")[1:-2]
    marks = [re.findall(r"<path .*?/>|<text .*?</text>", part.split("<g>")[1]) for part in parts]
    labels = [unescape(re.search(r'aria-label="(.*?)"', part)[1]) for part in parts]
    return parts, [[drawn, label] for drawn, label in zip(marks, labels, strict=True)]


@pytest.mark.parametrize(("name", "draw"), [(name, kind[0]) for name, kind in KINDS.items()])
def test_a_live_figure_draws_the_marks_of_python(name, draw, bundle, every_look):
    chance = torch.Generator().manual_seed(0)
    for _ in range(STATES[every_look]):
        desk = draw(chance)
        calls = [desk.live["calls"], desk.figure.phone.axes[0].live["calls"]]
        parts, expected = both(desk)
        svgs = list(zip(parts, calls, strict=True))
        assert bundle.evaluate(DRAW, [desk.live["figure"], svgs, desk.live["state"]]) == expected


def test_every_kind_of_figure_is_compared(bundle):
    assert set(bundle.evaluate("Object.keys(liveFigures.kinds)")) == set(KINDS)


def compare(found, expected):
    """Compare all numbers of what was expected, by name and place."""
    if isinstance(expected, dict):
        for name in expected:
            compare(found[name], expected[name])
    else:
        numbers = torch.tensor(found, dtype=torch.float64)
        torch.testing.assert_close(numbers, torch.as_tensor(expected).double(), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("name", "compute"), [(name, kind[1]) for name, kind in KINDS.items()])
def test_a_live_figure_computes_what_the_package_does(name, compute, bundle, every_look):
    chance = torch.Generator().manual_seed(1)
    cases = [compute(chance) for _ in range(CASES[every_look])]
    values = "([name, states]) => states.map(state => liveFigures.kinds[name].values(state))"
    found = bundle.evaluate(values, [name, [{"names": WORDS[:3]} | state for state, _ in cases]])
    for computed, (_, expected) in zip(found, cases, strict=True):
        compare(computed, expected)
