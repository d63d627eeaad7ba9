"""Text and marks have enough contrast on light and on dark ground, by the formula of WCAG 2.2."""

import pytest

from selfattn_book.draw.colors import STEPS, light, linear, on_page, on_shade, shade, shades
from selfattn_book.draw.palette import COLORS, DARK, LIGHT

TINTS = [name for name in COLORS if name.endswith("-tint")]
LINES = [name.removesuffix("-tint") for name in TINTS]  # each role, as it draws
TEXTS = [name for name in LINES if name != "residual" and name[:4] != "word"]
both_grounds = pytest.mark.parametrize("ground", [LIGHT, DARK], ids=["light", "dark"])


def contrast(one, other):
    """Return the contrast ratio of two colors, from 1 to 21."""
    lights = [float([0.2126, 0.7152, 0.0722] @ linear(color)) for color in (one, other)]
    return (max(lights) + 0.05) / (min(lights) + 0.05)


PAPER = [(name, "paper", 4.5) for name in TEXTS]
PAPER += [(name, "paper", 3) for name in (*LINES, "plus", "minus")]


@both_grounds
@pytest.mark.parametrize(("name", "below", "least"), PAPER + [("ink", tint, 4.5) for tint in TINTS])
def test_text_can_be_read_and_marks_can_be_seen(name, below, least, ground):
    assert contrast(COLORS[name][ground], COLORS[below][ground]) >= least


@both_grounds
@pytest.mark.parametrize("step", range(-STEPS, STEPS + 1))
def test_a_number_can_be_read_on_each_shade(step, ground):
    on = {light(name): COLORS[name][ground] for name in ("on-pale", "on-deep")}
    assert contrast(on[on_shade(shade(step))], shade(step, ground)) >= 4.5


def test_shades_go_evenly_away_from_nothing():
    for ground, end in ((LIGHT, "#000000"), (DARK, "#ffffff")):
        for sign in (1, -1):
            far = [contrast(shade(sign * k, ground), end) for k in range(STEPS + 1)]
            assert far == sorted(far, reverse=True)
            assert len(set(far)) == STEPS + 1


def test_a_map_has_its_shades_in_their_order():
    signed, unsigned = (shades(signed=signed) for signed in (True, False))
    assert [signed(STEPS + k) for k in range(STEPS + 1)] == list(map(unsigned, range(STEPS + 1)))


def test_a_page_can_tell_each_color_from_the_others():
    named = [on_page(tones[LIGHT]) for tones in COLORS.values()]
    mixed = [on_page(shade(step)) for step in range(-STEPS, STEPS + 1)]
    assert all(name.startswith("var(--fig-") for name in named)
    assert len({*named, *mixed}) == len(named) + 2 * (STEPS - 1)
    assert sum(name.startswith("color-mix(") for name in mixed) == 2 * (STEPS - 1)
