"""The small network at each position: two linear layers with a ReLU between, and nothing else.

It is looked for with an inner width of 1. While one point walks along a straight line, attention to
it alone is linear, so what comes out stands still while the unit is silent, and is straight
otherwise: one bend, and one side without movement.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from selfattn_book.exercises.checking.modules import WIDTH, Built, Kind, built
from selfattn_book.exercises.checking.numbers import drawn, near
from selfattn_book.properties.answer import YES, Answer, Likely, RefusedError, all_of

LINES, STEPS = 8, 161
FAR, CLOSE = 40.0, 4.0  # how far the lines are walked, and how far to look closely
Walk = Callable[[Built, Tensor], Tensor]
Mixed = Callable[[Built], Tensor]

NO_RELU = "Two linear layers without a ReLU between them are one."
AT_THE_END = "A ReLU stands at the end, where the second layer should have the last word."
BEFORE = "A ReLU stands before the first layer: it belongs between the two."
SMOOTH = "Another function than ReLU bends it: it is bent everywhere, not once."
NORM = "A norm stands at the end."
NORM_BEFORE = "A norm stands before the small network: far out nothing grows any more."
NOT_LAST = "An attention comes behind the small network, which has the last word."
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
        bounded: whether far out nothing grows.
        moving: whether a line with a bend moves on both of its sides.
        directions: how many directions the outputs move in, along all lines.
    """

    outputs: Tensor
    most: int
    corners: int
    longest: int
    bounded: bool
    moving: bool
    directions: int


def has_one_relu(kind: Kind, what: str, walk: Walk, mixed: Mixed) -> Answer:
    """Ask for two linear layers with a ReLU between, and for nothing behind them.

    Args:
        kind: builds the module.
        what: it returns, in words.
        walk: hands points ``(N, 1, 6)``, one a sample, to a module, and returns ``(N, 6)``.
        mixed: hands samples of several points to a module, and returns ``(B, S, 6)``.
    """
    models = [built(kind, what, d_ff=1, seed=seed) for seed in range(5)]
    found = [_bends(model, walk) for model in models]
    if all(near(b.outputs, b.outputs[:, :1].expand_as(b.outputs)) for b in found):
        message = "with d_ff = 1, nothing moves along straight lines of points."
        return Answer("mathematics", message)
    if not any(bends.most for bends in found):
        message = "with d_ff = 1, along straight lines of points nothing ever bends."
        return Answer("mathematics", message).because(*_likely(found, found[0]))
    return all_of(_one_bend(bends).because(*_likely(found, bends)) for bends in found) and all_of(
        _on_one_line(mixed(model)) for model in models
    )


def _on_one_line(outputs: Tensor) -> Answer:
    rows = outputs.double().flatten(0, 1)
    number = _directions(rows - rows[:1])
    if number < 2:
        return YES
    message = (
        f"with d_ff = 1, the outputs for many points lie in {number} directions, not on a line"
    )
    return Answer("mathematics", f"{message}.").because((NOT_LAST, lambda: True))


def _directions(rows: Tensor) -> int:
    values = torch.linalg.svdvals(rows)
    return int((values > 1e-3 * values[0]).sum())


def _one_bend(bends: Bends) -> Answer:
    along = "with d_ff = 1, along a straight line of points"
    times = max(bends.most, bends.corners)
    if bends.longest > 3 and bends.corners < 2:
        message = f"{along} the output bends through {bends.longest} steps of 160, not in a corner"
        return Answer("mathematics", f"{message}.")
    if times > 1:
        message = f"{along} the output bends {times} times, not once"
        return Answer("mathematics", f"{message}.")
    if bends.moving:
        message = f"{along} the output moves on both sides of its bend; on one the unit is silent"
        return Answer("mathematics", f"{message}.")
    return YES


def _likely(found: list[Bends], bends: Bends) -> list[Likely]:
    """Return what can be behind bends, of all modules and of one."""
    return [
        (NO_RELU, lambda: not any(other.most for other in found)),
        (AT_THE_END, lambda: all((b.outputs >= 0).all() for b in found)),
        (NORM, lambda: _is_normal(bends.outputs)),
        (NORM_BEFORE, lambda: bends.corners > 1 and all(b.bounded for b in found)),
        (
            BEFORE,
            lambda: bends.directions == 1 and max(b.corners for b in found) > 2,
        ),
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
    steps, bent = outputs.double().diff(dim=1), _bent(outputs, 0.01)
    bends = [_runs(line) for line in bent.tolist()]
    size = steps.abs().amax(dim=(1, 2))[:, None]  # of each line
    still = steps[:, [0, -1]].abs().amax(-1) <= 0.01 * size  # at both ends
    has_one = torch.tensor([len(line) == 1 for line in bends])
    has_one &= ~bent[:, [0, -1]].any(1)  # there, neither side can be seen
    close = _bent(_along(model, walk, CLOSE), 0.05)
    far, farther = (_along(model, walk, n * FAR, 2).abs().max() for n in (10, 100))
    return Bends(
        outputs,
        most=max(map(len, bends)),
        corners=max(len(_runs(line)) for line in close.tolist()),
        longest=max((steps for line in bends for steps in line), default=0),
        bounded=bool(farther < 2 * far),
        moving=bool((has_one & ~still.any(1)).any()),
        directions=_directions(steps.flatten(0, 1)),
    )


def _along(model: Built, walk: Walk, far: float, steps: int = STEPS) -> Tensor:
    """Return the outputs along lines, or where they begin and end, ``(lines, steps, D)``."""
    start, along = drawn(2, LINES, 1, WIDTH, seed=4)
    way = torch.linspace(-far, far, steps).view(1, steps, 1)
    points = (start + way * along).view(-1, 1, WIDTH)
    outputs = walk(model, points).view(LINES, steps, WIDTH)
    if not outputs.isfinite().all():
        message = f"where there is one point alone, {model.what} hold nan or infinity."
        raise RefusedError(Answer("mathematics", message))
    if outputs.dtype in (torch.float32, torch.float64):
        return outputs
    name = str(outputs.dtype).removeprefix("torch.")
    message = f"{model.what} must have 32 bits at least, or no bend can be told from rounding"
    raise RefusedError(Answer("dtype", f"{message}; got {name}."))


def _bent(outputs: Tensor, share: float) -> Tensor:
    """Tell where along each line steps change by a share of the largest."""
    steps = outputs.double().diff(dim=1)
    size = steps.abs().amax(dim=(1, 2), keepdim=True)
    rounding = 16 * torch.finfo(outputs.dtype).eps * FAR
    return (steps.diff(dim=1).abs() > share * size + rounding).any(-1)


def _runs(line: list[bool]) -> list[int]:
    """Return the lengths of what is true without a gap.

    >>> _runs([False, True, True, False, True])
    [2, 1]
    """
    text = "".join("x" if bent else " " for bent in line)
    return [len(run) for run in text.split()]
