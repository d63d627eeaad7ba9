"""Colors of pictures: by name on a page, light ones elsewhere; and the shades of heat maps."""

import numpy as np
from matplotlib.colors import Colormap, ListedColormap, to_hex

from selfattn_book.draw.palette import COLORS, LIGHT

STEPS = 20  # from nothing to much
DEEP = 14  # from this step on, numbers are `on-deep`: each has 4.5 times the light of the other

_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def light(name: str) -> str:
    """Return the color of a name on light ground.

    Example:
        >>> bool(linear(light("paper")).mean() > linear(light("ink")).mean())
        True
    """
    return COLORS[name][LIGHT]


def mix(one: str, other: str, share: float) -> str:
    """Return a color on the way from one to the other, in even steps for the eye (OKLab).

    Source: Ottosson (2020), A perceptual color space for image processing.

    Example:
        >>> mix("#000000", "#ffffff", 0.5), mix("#ffcc00", "#0000ff", 0)
        ('#636363', '#ffcc00')
    """
    ends = [_OKLAB @ np.cbrt(_LMS @ linear(color)) for color in (one, other)]
    middle = (1 - share) * ends[0] + share * ends[1]
    rgb = np.linalg.solve(_LMS, np.linalg.solve(_OKLAB, middle) ** 3).clip(0, 1)
    parts = np.where(rgb <= 0.0031308, 12.92 * rgb, 1.055 * rgb ** (1 / 2.4) - 0.055)
    return to_hex((parts[0], parts[1], parts[2]))


def linear(color: str) -> np.ndarray:
    """Return how much red, green and blue light a color has.

    Example:
        >>> linear("#ff8000").round(3)
        array([1.   , 0.216, 0.   ])
    """
    rgb = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def shade(step: int, ground: int = LIGHT) -> str:
    """Return one of the shades of heat maps, from ``-STEPS`` to ``STEPS``, on light or dark ground.

    Example:
        >>> shade(0) == light("zero"), shade(STEPS) == light("plus")
        (True, True)
    """
    end = COLORS["plus" if step > 0 else "minus"][ground]
    return mix(COLORS["zero"][ground], end, abs(step) / STEPS)


def shades(*, signed: bool) -> Colormap:
    """Return the shades from nothing to much, or from much below nothing if there are signs."""
    least = -STEPS if signed else 0
    return ListedColormap([shade(step) for step in range(least, STEPS + 1)])


def on_shade(color: str) -> str:
    """Return the color of a number on a shade."""
    return light("on-deep" if color in _DEEP else "on-pale")


def on_page(color: str) -> str:
    """Return how a page calls a color; what it has no name for, it shows as it is.

    Example:
        >>> on_page(light("query")), on_page("#123456")
        ('var(--fig-query,#...)', '#123456')
        >>> on_page(shade(-5))
        'color-mix(in oklab,var(--fig-zero,#...),var(--fig-minus,#...) 25%)'
    """
    return _ON_PAGE.get(color, color)


def _names() -> dict[str, str]:
    named = {tones[LIGHT]: f"var(--fig-{name},{tones[LIGHT]})" for name, tones in COLORS.items()}
    zero = named[light("zero")]
    for end, sign in (("plus", 1), ("minus", -1)):
        for step in range(1, STEPS):
            share = f"{named[light(end)]} {100 * step // STEPS}%"
            named[shade(sign * step)] = f"color-mix(in oklab,{zero},{share})"
    return named


_ON_PAGE = _names()
_DEEP = {shade(sign * step) for sign in (1, -1) for step in range(DEEP, STEPS + 1)}
