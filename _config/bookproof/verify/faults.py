"""Reasons why an assertion says nothing about the values that it compares."""

import math
from collections.abc import Callable, Iterable
from typing import Any

ONE_OBJECT = "its operands are one object"
TOLERANCES = {"rtol", "atol", "rel_tol", "abs_tol"}
VALUES = (bool, int, float, str, bytes, tuple, frozenset)  # Python may keep equal ones once
HUGE = 1e6  # a bound or tolerance so much larger than the values excludes none of them


def safely(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the value of a function, or ``None`` where it fails: no check fails for being watched."""
    try:
        return function(*arguments)
    except Exception:
        return None


def fault_of_value(value: Any) -> str:
    """Return why a truth value says nothing."""
    if not hasattr(type(value), "__bool__") and not hasattr(type(value), "__len__"):
        return f"it asserted a {type(value).__name__}, which is always true"
    return "its operand is empty" if is_empty(value) else ""


def fault_of_comparison(sign: str, wanted: bool, left: Any, right: Any, result: Any) -> str:
    """Return why a comparison could not have come out otherwise."""
    if is_empty(result):
        return "its operands are empty"
    if sign in ("==", "!=") and is_one_object(left, right):
        return ONE_OBJECT
    if wanted is (sign == "!=") and (has_nan(left) or has_nan(right)):
        return "an operand is NaN"
    if sign[0] in "<>" and (wanted is True):
        small, large = (left, right) if sign[0] == "<" else (right, left)
        for bound, value in ((large, small), (-small, large)):
            scalar = isinstance(bound, int | float) and HUGE <= bound < math.inf
            if scalar and bound > HUGE * size_of(value):
                return "its bound excludes nothing"
    return ""


def fault_of_closeness(function: Any, sides: Iterable[Any], limits: dict[str, Any]) -> str:
    """Return why two values could not have been too far apart."""
    actual, expected, *more = sides
    if type(function).__module__ == "unittest.mock":
        return "its function is a mock"
    if is_one_object(actual, expected):
        return ONE_OBJECT
    if any(is_empty(side) or side in ([], (), {}) for side in (actual, expected)):
        return "its operands are empty"
    if fault := fault_of_nan(actual):
        return fault
    given = [limits[name] for name in TOLERANCES & limits.keys()]
    given += [limit for limit in more if isinstance(limit, int | float)]
    if any(not math.isfinite(float(limit)) for limit in given if limit is not None):
        return "its tolerance is infinite"
    largest = max((float(limit) for limit in given if limit is not None), default=0.0)
    scale = max(size_of(actual), size_of(expected))
    return "its tolerance excludes nothing" if largest >= 1 and largest > 100 * scale else ""


def is_one_object(left: Any, right: Any) -> bool:
    """Return whether two operands are one object, and not equal values that Python keeps once."""
    return left is right and left is not None and not isinstance(left, VALUES)


def is_empty(value: Any) -> bool:
    return 0 in tuple(getattr(value, "shape", ()))


def has_nan(value: Any) -> bool:
    """Return whether a number or an array contains NaN."""
    differs = value != value
    return bool(differs.any() if hasattr(differs, "any") else differs)


def fault_of_nan(value: Any) -> str:
    """Return the fault of a number that is NaN, or of an array of nothing else."""
    differs = value != value
    all_nan = differs.all() if hasattr(differs, "all") else differs
    return "an operand is NaN" if all_nan else ""


def size_of(value: Any) -> float:
    """Return the largest absolute value of a number or an array."""
    if isinstance(value, list | tuple):
        return max(map(size_of, value))
    size = abs(value.detach() if hasattr(value, "detach") else value)
    return float(size.max() if hasattr(size, "max") else size)
