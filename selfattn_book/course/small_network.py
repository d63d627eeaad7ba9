"""The small network at each position: two linear layers with a ReLU between, and nothing else.

It is looked for with an inner width of 1. While one point walks along a straight line, attention to
it alone is linear, so what comes out stands still while the unit is silent, and is straight
otherwise: one bend, and one side without movement.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from selfattn_book.course.modules import WIDTH, Built, Kind, built
from selfattn_book.course.numbers import drawn
from selfattn_book.reasons.answer import YES, Answer, Likely, RefusedError, all_of

LINES, STEPS = 8, 161
FAR, CLOSE = 40.0, 4.0  # how far the lines are walked, and how far to look closely
Walk = Callable[[Built, Tensor], Tensor]

NO_RELU = "Two linear layers without a ReLU between them are one."
AT_THE_END = (
    "A ReLU stands at the end, where the second layer should have the last word."
)
BEFORE = "A ReLU stands before the first layer: it belongs between the two."
SMOOTH = "Another function than ReLU bends it: it is bent everywhere, not once."
NORM = "A norm stands at the end."
RESIDUAL = "A residual path carries the point past the small network."
LEAKY = "The unit is never silent: what is negative is made smaller, not 0."


@dataclass(frozen=True)
class Bends:
    """How outputs bend along lines of points.

    Args:
        outputs: ``(lines, steps, D)``.
        most: how many bends the most bent line has.
        corners: how many corners it has, seen closely.
        longest: how many steps the longest bend takes; a corner takes one or two.
        moving: whether a line with a bend moves on both of its sides.
        directions: how many directions the outputs move in, along all lines.
    """

    outputs: Tensor
    most: int
    corners: int
    longest: int
    moving: bool
    directions: int


def has_one_relu(kind: Kind, what: str, walk: Walk) -> Answer:
    """Ask for two linear layers with a ReLU between.

    Args:
        kind: builds the module.
        what: it returns, in words.
        walk: hands points ``(N, 1, 6)``, one a sample, to a module, and returns ``(N, 6)``.
    """
    found = [
        _bends(built(kind, what, d_ff=1, seed=seed), walk) for seed in range(5)
    ]
    if not any(bends.outputs.diff(dim=1).any() for bends in found):
        told = "with d_ff = 1, nothing moves along straight lines of points."
        return Answer("mathematics", told)
    if not any(bends.most for bends in found):
        told = "with d_ff = 1, along straight lines of points nothing ever bends."
        return Answer("mathematics", told).because(*_likely(found, found[0]))
    return all_of(
        _one_bend(bends).because(*_likely(found, bends)) for bends in found
    )


def _one_bend(bends: Bends) -> Answer:
    along = "with d_ff = 1, along a straight line of points"
    times = max(bends.most, bends.corners)
    if bends.longest > 3 and bends.corners < 2:
        told = f"{along} the output bends through {bends.longest} steps of 160, not in a corner"
        return Answer("mathematics", f"{told}.")
    if times > 1:
        told = f"{along} the output bends {times} times, not once"
        return Answer("mathematics", f"{told}.")
    if bends.moving:
        told = f"{along} the output moves on both sides of its bend; on one the unit is silent"
        return Answer("mathematics", f"{told}.")
    return YES


def _likely(found: list[Bends], bends: Bends) -> list[Likely]:
    """Return what can be behind bends, of all modules and of one."""
    return [
        (NO_RELU, lambda: not any(other.most for other in found)),
        (AT_THE_END, lambda: all((b.outputs >= 0).all() for b in found)),
        (NORM, lambda: _is_normal(bends.outputs)),
        (BEFORE, lambda: bends.directions == 1 and bends.corners > 1),
        (SMOOTH, lambda: bends.directions == 1 and bends.longest > 3),
        (RESIDUAL, lambda: bends.directions > 1 and bends.moving),
        (LEAKY, lambda: bends.directions == 1 and bends.moving),
    ]


def _is_normal(outputs: Tensor) -> bool:
    squares = (outputs - outputs.mean(-1, keepdim=True)).square().mean(-1)
    return bool(((squares > 0.9) & (squares < 1.1)).double().mean() > 0.9)


def _bends(model: Built, walk: Walk) -> Bends:
    """Walk along lines, and look where the outputs bend."""
    outputs = _along(model, walk, FAR)
    steps, bends = outputs.double().diff(dim=1), _bent(outputs, 0.01)
    size = steps.abs().amax(dim=(1, 2))[:, None]  # of each line
    still = steps[:, [0, -1]].abs().amax(-1) <= 0.01 * size  # at both ends
    has_one = torch.tensor([len(line) == 1 for line in bends])
    values = torch.linalg.svdvals(steps.flatten(0, 1))
    return Bends(
        outputs,
        most=max(map(len, bends)),
        corners=max(map(len, _bent(_along(model, walk, CLOSE), 0.05))),
        longest=max((steps for line in bends for steps in line), default=0),
        moving=bool((has_one & ~still.any(1)).any()),
        directions=int((values > 1e-3 * values[0]).sum()),
    )


def _along(model: Built, walk: Walk, far: float) -> Tensor:
    """Return the outputs along lines, ``(lines, steps, D)``."""
    start, along = drawn(2, LINES, 1, WIDTH, seed=4)
    way = torch.linspace(-far, far, STEPS).view(1, STEPS, 1)
    points = (start + way * along).view(-1, 1, WIDTH)
    outputs = walk(model, points).view(LINES, STEPS, WIDTH)
    if outputs.dtype in (torch.float32, torch.float64):
        return outputs
    name = str(outputs.dtype).removeprefix("torch.")
    told = f"{model.what} must have 32 bits at least, or no bend can be told from rounding"
    raise RefusedError(Answer("dtype", f"{told}; got {name}."))


def _bent(outputs: Tensor, share: float) -> list[list[int]]:
    """Return the lengths of the bends of each line, where steps change by a share of the largest."""
    steps = outputs.double().diff(dim=1)
    size = steps.abs().amax(dim=(1, 2), keepdim=True)
    rounding = 16 * torch.finfo(outputs.dtype).eps * FAR
    bent = (steps.diff(dim=1).abs() > share * size + rounding).any(-1)
    return [_runs(line) for line in bent.tolist()]


def _runs(line: list[bool]) -> list[int]:
    """Return the lengths of what is true without a gap.

    >>> _runs([False, True, True, False, True])
    [2, 1]
    """
    text = "".join("x" if bent else " " for bent in line)
    return [len(run) for run in text.split()]
