"""How much of its tolerance a comparison has left: its margin.

A margin is between 0, where a little more would make the check fail, and 1:

* ``a < b``, ``<=``, ``>``, ``>=``: the distance of the sides over the larger of their sizes;
  for ``abs(a - b) < t``, the unused part of ``t``.
* ``a < b + 1e-12``: a number typed beside one side is the tolerance of ``a - b``.
* ``hits >= 15``, both whole: how many fewer would fail, over the larger side; 16 hits give 2/16.
* ``assert_close``, ``allclose``, ``isclose``: the unused share of ``atol + rtol * abs(expected)``.

An array has the margin of its worst entry; equality has none.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from numbers import Number, Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.testing._comparison import default_tolerances

_Shares = NDArray[np.float64]
_NOTHING = np.zeros(0)


def ordered(sign: str, left: Any, right: Any, typed: float = 0.0) -> _Shares:
    """Return the margin of each entry of a comparison, below 0 where it fails; none without numbers.

    ``typed`` is the tolerance that is typed beside the right side, and part of it.

    Example:
        >>> ordered("<", 1e-13, 1e-12)
        array(0.9)
        >>> ordered(">=", torch.tensor([15, 20]), 15)
        array([0.06666667, 0.3       ])
        >>> ordered(">", 0.5, 0.6 - 0.4, typed=-0.4)  # 0.1 of the 0.4 is used
        array(0.75)
    """
    a, b = numbers(left), numbers(right)
    if not {a.dtype.kind, b.dtype.kind} <= set("iuf") or not a.size * b.size:
        return _NOTHING
    whole = "f" not in (a.dtype.kind, b.dtype.kind)
    a, b = a.astype(float), b.astype(float)
    gap, scale = (b - a if sign[0] == "<" else a - b), np.maximum(abs(a), abs(b))
    if whole:  # how many fewer would fail
        gap, scale = gap + len(sign) - 1, np.maximum(scale, 1)
    elif typed:
        scale = np.maximum(abs(a - b + typed), abs(typed))
    finite = (scale > 0) & (scale < math.inf)
    share = np.divide(gap, scale, out=np.asarray(np.sign(gap)), where=finite)
    return _NOTHING if np.isnan(share).any() else np.asarray(share.clip(-1, 1))


def close(actual: Any, expected: Any, rtol: float, atol: float) -> _Shares:
    """Return the unused share of the allowed difference of each entry; none where nothing is allowed.

    Example:
        >>> close(torch.tensor([2.0, 3]), torch.tensor([2.0, 2]), rtol=0.25, atol=0)
        array([ 1., -1.])
    """
    a, b = numbers(actual), numbers(expected)
    allowed = atol + rtol * abs(b)
    if not a.size * b.size or not (allowed > 0).any():
        return _NOTHING
    gap, allowed = np.broadcast_arrays(abs(a - b), allowed)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap > 0, 1 - gap / allowed, 1.0)


def all_close(function: Any, sides: Sequence[Any], limits: Any) -> _Shares:
    """Return the margins of a call of ``allclose`` or ``isclose`` of PyTorch, NumPy or ``math``."""
    a, b, *more = sides
    if function is math.isclose:
        size, relative = max(abs(a), abs(b)), limits.get("rel_tol", 1e-9)
        allowed = max(relative * size, limits.get("abs_tol", 0.0))
        return close(a, b, rtol=0, atol=allowed)
    named = {"rtol": 1e-5, "atol": 1e-8}
    named |= dict(zip(("rtol", "atol"), more, strict=False))
    named |= {name: limits[name] for name in limits if name in named}
    return close(a, b, **named)


def assert_close(actual: Any, expected: Any, options: Any) -> Iterator[_Shares]:
    """Yield the margins of ``torch.testing.assert_close``, also inside lists and mappings."""
    if isinstance(actual, Mapping):
        for key in actual:
            yield from assert_close(actual[key], expected[key], options)
    elif isinstance(actual, Sequence):
        for one, other in zip(actual, expected, strict=True):
            yield from assert_close(one, other, options)
    else:
        given = options.get("rtol"), options.get("atol")
        usual = default_tolerances(_dtype(actual), _dtype(expected))
        yield close(actual, expected, *(usual if None in given else given))


def _dtype(side: Any) -> torch.dtype:
    """Return the type as which a value is compared."""
    return torch.float64 if isinstance(side, float | complex) else torch.as_tensor(side).dtype


def numbers(value: Any) -> NDArray[Any]:
    """Return numbers as an array of NumPy's; truth values and all else as an empty one."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().resolve_conj().resolve_neg()
        value = (value.double() if value.is_floating_point() else value).numpy()
    elif isinstance(value, Real) and not isinstance(value, int | np.generic):
        value = float(value)  # a fraction, too
    if not isinstance(value, Number | np.ndarray | np.generic):
        return _NOTHING
    array = np.asarray(value)
    return array if array.dtype.kind in "iufc" else _NOTHING
