"""Training an encoder-decoder: the best estimate of a corner."""

import torch

from selfattn_book.exercises.checking.exercise import checked, factory, for_credit
from selfattn_book.exercises.checking.numbers import normal

LEFT, RIGHT = 1j, -1j


def case(missing, seed, turns, noise=0.0):
    """Return walks in these directions without one corner, (N, 3, 2)."""
    draw, error = normal(seed, (2, len(turns), 2), (len(turns), 4, 2))
    center, side = torch.view_as_complex(draw)
    steps = torch.tensor([[turn**k for k in range(4)] for turn in turns], dtype=torch.complex128)
    exact = torch.view_as_real(center[:, None] + steps * side[:, None])
    corners = exact + noise * error
    return (corners[:, [k for k in range(4) if k != missing]],)


def fit(corners, missing, turn):
    """Return the missing corner of the best square of one direction, and its squared distance."""
    z = torch.view_as_complex(corners.double().contiguous()).mT
    rows = [[1, turn**k] for k in range(4) if k != missing]
    fits = torch.tensor(rows, dtype=torch.complex128)
    best = torch.linalg.lstsq(fits, z).solution
    distance = (fits @ best - z).abs().pow(2).sum(0)
    return torch.view_as_real(best[0] + turn**missing * best[1]), distance


@factory
def best_square(missing, corners, *, turns=(LEFT, RIGHT), worse=False):
    """Return the best estimate; with one direction twice, the best in this direction."""
    guesses, distances = zip(*(fit(corners, missing, turn) for turn in turns), strict=True)
    return nearer(guesses, distances[::-1] if worse else distances)


def around(corners, missing):
    """Return the corners after, opposite, and before the missing one."""
    index = {k: n for n, k in enumerate(k for k in range(4) if k != missing)}
    return [corners[:, index[(missing + step) % 4]] for step in (1, 2, 3)]


def left(side):
    return torch.stack([-side[:, 1], side[:, 0]], -1)


def nearer(guesses, distances):
    """Return the guess with the smaller distance for each walk."""
    return torch.where((distances[0] <= distances[1])[:, None], *guesses)


@factory
def by_formula(missing, corners):
    """Return the right program: the opposite corner decides the direction only."""
    after, opposite, before = around(corners, missing)
    middle, half = (after + before) / 2, (before - after) / 2
    guesses = [middle + left(half), middle - left(half)]
    return nearer(guesses, [(2 * middle - x - opposite).norm(dim=1) for x in guesses])


def exercises(numbers):
    missing = numbers["missing"]
    all_left, both = (LEFT,) * 4, (LEFT, RIGHT, RIGHT, LEFT, RIGHT, LEFT)

    def by_rotation(corners, backward=False):
        after, opposite, before = around(corners, missing)
        one, third = (after, before) if backward else (before, after)
        side = one - opposite
        guesses = [one + left(side), one - left(side)]
        return nearer(guesses, [(guess - third).norm(dim=1) for guess in guesses])

    def opposite(corners):
        return around(corners, missing)[1]

    others = tuple(best_square(k) for k in (1, 2, 3) if k != missing)  # 0 is as 3
    wrong = {
        "Parallel sides are not all: angles are right, and sides equal.": (
            lambda corners: corners.sum(1) - 2 * opposite(corners)
        ),
        "Only two of the three corners were used.": (
            by_rotation,
            lambda corners: by_rotation(corners, backward=True),
        ),
        "All walks are taken to go to the left.": best_square(missing, turns=(LEFT, LEFT)),
        "All walks are taken to go to the right.": best_square(missing, turns=(RIGHT, RIGHT)),
        "Of the two directions, the worse one was taken.": best_square(missing, worse=True),
        "This is the middle of the corners.": lambda corners: corners.mean(1),
        "Three corners do not have the middle of the square.": (
            lambda corners: corners.sum(1) - opposite(corners) - corners.mean(1)
        ),
        "Another corner is missing.": others,
    }
    best = "squares-deeper.html#the-noise-floor"
    noisy_left, noisy = case(missing, 3, 2 * all_left, 0.1), case(missing, 4, 2 * both, 0.1)
    exercise = for_credit(
        "def complete(corners): ...",
        [
            checked("squares without noise are completed", best, 2, case(missing, 1, all_left)),
            checked("in both directions", best, 2, case(missing, 2, both)),
            checked("with noise, the nearest square counts", best, 3, noisy_left),
            checked("with noise, in both directions", best, 1, noisy),
        ],
        right=best_square(missing),
        wrong=wrong,
        unusual={"a formula": by_formula(missing)},
        gate=0,
        returns="the corners",
    )
    return [exercise]
