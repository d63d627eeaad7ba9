"""A recorder that also keeps the margins of comparisons, and the operands of those that fail.

Each operand is evaluated once; the comparisons of other modules are not seen.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import margins
from .faults import safely
from .recorder import Recorder

_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Watch(Recorder):
    """Record the smallest margin of a cell, and the operands of a failed assertion."""

    def start(self) -> None:
        super().start()
        self.margin: float | None = None
        self.sides: dict[int, tuple[Any, Any]] = {}

    def compared(self, line: int, wanted: bool, sign: str, *rest: Any) -> None:
        """Keep the margin of a comparison, and its operands if it failed."""
        typed, left, right, result = rest
        sign = sign if wanted else _NEGATED.get(sign, "")
        if sign in _NEGATED:
            self._keep(safely(margins.ordered, sign, left, right, typed))
        self.sides.pop(line, None)
        if wrong := safely(_wrong, left, right, result, wanted):
            self.sides[line] = wrong

    def close(self, wanted: bool, function: Callable[..., Any], *sides: Any, **limits: Any) -> Any:
        """Keep the margin of ``allclose`` or ``isclose``."""
        shares = safely(margins.all_close, function, sides, limits)
        if shares is not None and shares.size and not wanted:
            shares = 1 - 1 / (1 - shares.min()).clip(min=1)  # far enough apart?
        self._keep(shares)
        return super().close(wanted, function, *sides, **limits)

    def closed(self, actual: Any, expected: Any, options: dict[str, Any]) -> None:
        """Keep the margins of ``assert_close``."""
        for shares in safely(list, margins.assert_close(actual, expected, options)) or []:
            self._keep(shares)

    def _keep(self, shares: Any) -> None:
        """Keep the smallest margin of a comparison that holds."""
        if shares is not None and np.size(shares) and 0 <= np.min(shares) <= 1:
            known = 1.0 if self.margin is None else self.margin
            self.margin = min(known, float(np.min(shares)))


def _wrong(left: Any, right: Any, result: Any, wanted: bool) -> tuple[Any, Any] | None:
    """Return the operands of a comparison that failed; of many entries, those of the worst."""
    wrong = np.asarray(np.asarray(result) != wanted)
    if wrong.size == 1:
        return (left, right) if wrong.all() else None
    a, b = (np.broadcast_to(margins.numbers(side), wrong.shape) for side in (left, right))
    worst = np.where(wrong, abs(a - b), -1).argmax()
    return (f"{a.flat[worst]:.6g}", f"{b.flat[worst]:.6g}") if wrong.any() else None
