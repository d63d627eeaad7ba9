"""Training on squares: the best guess at a corner."""

from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.answer_checks import Function, agrees
from selfattn_book.exercises.checking.exercise import Asked, Exercise

LEFT, RIGHT = 1j, -1j


def walks(seed: int, turns: tuple[complex, ...], noise: float = 0.0) -> Tensor:
    """Return the four corners of walks in these directions, (N, 4, 2)."""
    chance = torch.Generator().manual_seed(seed)
    draw = torch.randn(2, len(turns), 2, generator=chance, dtype=torch.float64)
    centre, side = torch.view_as_complex(draw)
    steps = torch.tensor([[turn**k for k in range(4)] for turn in turns], dtype=torch.complex128)
    exact = torch.view_as_real(centre[:, None] + steps * side[:, None])
    return exact + noise * torch.randn(exact.shape, generator=chance, dtype=torch.float64)


def without(corners: Tensor, missing: int) -> tuple[Tensor]:
    """Lose a corner."""
    return (corners[:, [k for k in range(4) if k != missing]],)


def fit(corners: Tensor, missing: int, turn: complex) -> tuple[Tensor, Tensor]:
    """Return the lost corner of the best square of one direction, and how far off it is."""
    z = torch.view_as_complex(corners.double().contiguous()).mT
    rows = [[1, turn**k] for k in range(4) if k != missing]
    fits = torch.tensor(rows, dtype=torch.complex128)
    best = torch.linalg.lstsq(fits, z).solution
    far = (fits @ best - z).abs().pow(2).sum(0)
    return torch.view_as_real(best[0] + turn**missing * best[1]), far


def right(missing: int) -> Function:
    """Return the best guess for this lost corner."""

    def complete(corners: Tensor) -> Tensor:
        (one, near), (other, far) = (fit(corners, missing, turn) for turn in (LEFT, RIGHT))
        return torch.where((near <= far)[:, None], one, other)

    return complete


def whole(corners: Tensor, missing: int) -> list[Tensor]:
    """Return the corners from the one behind the lost one on."""
    place = {k: n for n, k in enumerate(k for k in range(4) if k != missing)}
    return [corners[:, place[(missing + step) % 4]] for step in (1, 2, 3)]


def turned(side: Tensor, turn: complex) -> Tensor:
    """Turn a side by a right angle."""
    return torch.view_as_real(turn * torch.view_as_complex(side.contiguous()))


def mistakes(missing: int) -> list[tuple[str, Function]]:
    """Return misconceptions, each with what follows from it."""

    def parallel(corners: Tensor) -> Tensor:
        after, opposite, before = whole(corners, missing)
        return after + before - opposite

    def mean(corners: Tensor) -> Tensor:
        return corners.mean(1)

    def by_turning(corners: Tensor, ends: tuple[int, int] = (1, 2)) -> Tensor:
        one, two = (whole(corners, missing)[k] for k in ends)
        third = whole(corners, missing)[3 - sum(ends)]
        side = two - one
        guesses = [two + turned(side, turn) for turn in (LEFT, RIGHT)]
        near = [(guess - third).norm(dim=1) for guess in guesses]
        return torch.where((near[0] > near[1])[:, None], *guesses)

    def farther(corners: Tensor) -> Tensor:
        (one, near), (other, far) = (fit(corners, missing, turn) for turn in (LEFT, RIGHT))
        return torch.where((near > far)[:, None], one, other)

    def centre(corners: Tensor) -> Tensor:
        after, opposite, before = whole(corners, missing)
        return (after + before) - (after + opposite + before) / 3

    others = [right(k) for k in range(4) if k != missing]
    return [
        (
            "Parallel sides are not all: angles are right, and sides equal.",
            parallel,
        ),
        ("Only two of the three corners were used.", by_turning),
        (
            "Only two of the three corners were used.",
            lambda c: by_turning(c, (1, 0)),
        ),
        (
            "All walks are taken to go to the left.",
            lambda c: fit(c, missing, LEFT)[0],
        ),
        (
            "All walks are taken to go to the right.",
            lambda c: fit(c, missing, RIGHT)[0],
        ),
        ("Of the two directions, the worse one was taken.", farther),
        ("This is the middle of the corners.", mean),
        ("Three corners do not have the middle of the square.", centre),
        *(("Another corner is missing.", other) for other in others),
    ]


def asks(missing: int) -> list[Asked]:
    """Return what is asked."""
    best, wrong = right(missing), mistakes(missing)
    left, both = (LEFT,) * 4, (LEFT, RIGHT, RIGHT, LEFT, RIGHT, LEFT)
    cases = {
        "squares without noise are completed": walks(1, left),
        "in both directions": walks(2, both),
        "with noise, the nearest square counts": walks(3, left + left, 0.1),
        "with noise, in both directions": walks(4, both + both, 0.1),
    }
    points = dict(zip(cases, (2, 2, 3, 1), strict=True))
    section = "squares.html#how-well-can-anything-do"
    return [
        Asked(
            message,
            agrees(best, [without(walk, missing)], *wrong),
            section,
            points[message],
        )
        for message, walk in cases.items()
    ]


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    return [Exercise("complete", "def complete(corners): ...", asks(numbers["missing"]))]
