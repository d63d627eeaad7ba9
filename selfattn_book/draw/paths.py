"""What an SVG draws, written short: from point to point, in tenths of a pixel."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.path import Path
from matplotlib.transforms import Bbox

FEW = 9  # points, which are written as they are
LETTERS = {Path.LINETO: "l", Path.CURVE3: "q", Path.CURVE4: "c"}


def outline(
    path: Path, inside: Bbox | None = None, *, filled: bool = False, exact: bool = False
) -> str:
    """Write a line or an area, clipped a pixel outside of a box; an ``exact`` one has all its points.

    Example:
        >>> line = Path([(0, 0), (10, 5.25), (10, 20)])
        >>> outline(line, Bbox.from_extents(0, 0, 30, 10))
        'M0 0l10 5.2v5.8'
        >>> outline(Path.unit_rectangle(), Bbox.from_extents(0, 0, 0.5, 2), filled=True)
        'M0 0h.5v1h-.5v-1'
    """
    if has_curves(path):
        return written(path.iter_segments(simplify=False))
    if filled and inside is not None:
        path, inside = path.clip_to_bbox(inside), None
    clip = None if inside is None else inside.extents
    simplify = len(path) > FEW and not exact
    return written(path.iter_segments(clip=clip, simplify=simplify))


def marker(path: Path) -> str:
    """Write a mark around a point, to follow that point.

    Example:
        >>> marker(Path.unit_circle()), marker(Path([(0, -2), (0, 2)]))
        ('m-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z', 'm0-2v4')
    """
    if not has_curves(path):
        return written(path.iter_segments(simplify=False), around=True)
    radius = tenths(np.abs(vertices(path)).max())  # of matplotlib's marks, only discs are round
    half = f"a{join(radius, radius)} 0 1 0"
    return f"m{join(-radius, 0)}{half} {join(2 * radius, 0)}{half}{join(-2 * radius, 0)}z"


def written(segments: Iterable[tuple[np.ndarray, np.uint8]], *, around: bool = False) -> str:
    """Write segments as matplotlib gives them; ``around`` a point, not from the corner.

    Example:
        >>> written(Path([(1, 2), (1, 3), (4.04, 3)], closed=False).iter_segments())
        'M1 2v1h3'
    """
    text, last = "", ""
    here = start = np.zeros(2, int)
    for corners, code in segments:
        points = tenths(corners).reshape(-1, 2)
        if code == Path.CLOSEPOLY:
            step, here = "z", start
        elif code == Path.MOVETO:
            step = f"m{join(*points[0] - here)}" if around else f"M{join(*points[0])}"
            here = start = points[0]
        else:
            step, here = _step(code, points - here), points[-1]
        repeats = step[:1] == last and last in "lqc"
        text += _glue(step[1:]) if repeats else step
        last = step[:1] or last
    return text


def has_curves(path: Path) -> bool:
    """Test whether a path has curves; such a path is small, and within the axes."""
    return path.codes is not None and bool(np.isin(path.codes, (Path.CURVE3, Path.CURVE4)).any())


def vertices(path: Path) -> np.ndarray:
    """Return the points of a path, ``(N, 2)``."""
    return np.asarray(path.vertices)


def tenths(values: np.ndarray) -> np.ndarray:
    """Round to tenths, and return how many there are."""
    return np.rint(np.multiply(values, 10)).astype(int)


def join(*tenths: Any) -> str:
    """Write numbers, given in tenths, with nothing between them that is not needed.

    Example:
        >>> join(10, -5, 0, 123)
        '1-.5 0 12.3'
    """
    return "".join(_glue(_number(n)) for n in tenths).lstrip()


def _glue(number: str) -> str:
    return number if number.startswith("-") else f" {number}"


def _number(tenth: int) -> str:
    whole, rest = divmod(abs(int(tenth)), 10)
    text = f"{whole or ''}.{rest}" if rest else str(whole)
    return f"-{text}" if tenth < 0 else text


def _step(code: np.uint8, moves: np.ndarray) -> str:
    """Write one step; one that is too short to be seen is left out."""
    if not moves.any():
        return ""
    if code == Path.LINETO and not moves.all():
        (dx, dy) = moves[0]
        return f"h{join(dx)}" if dy == 0 else f"v{join(dy)}"
    return LETTERS[code] + join(*moves.flat)
