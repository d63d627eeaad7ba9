"""Answers to *The best guess at a corner*: right in unusual ways, and wrong, by kind."""

import numpy as np
import torch


def around(n, corners):
    """Return the corners behind, opposite, and before the lost one."""
    place = {k: i for i, k in enumerate(k for k in range(4) if k != n["missing"])}
    return [corners[:, place[(n["missing"] + step) % 4]] for step in (1, 2, 3)]


def turn(side):
    return torch.stack([-side[..., 1], side[..., 0]], -1)


def by_formula(n, corners):
    """The opposite corner only decides the direction."""
    after, opposite, before = around(n, corners)
    middle, half = (after + before) / 2, (before - after) / 2
    guesses = [middle + turn(half), middle - turn(half)]
    return guesses, [(2 * middle - guess - opposite).norm(dim=1) for guess in guesses]


def nearest(n):
    def answer(corners):
        guesses, far = by_formula(n, corners)
        return torch.where((far[0] < far[1])[:, None], *guesses)

    return answer


def in_numpy(n):
    def answer(corners):
        out = []
        for walk in corners.numpy():
            z = walk[:, 0] + 1j * walk[:, 1]
            tried = []
            for way in (1j, -1j):
                a = np.array([[1, way**k] for k in range(4) if k != n["missing"]])
                (c, v), *_ = np.linalg.lstsq(a, z, rcond=None)
                tried.append((np.abs(a @ [c, v] - z).sum(), c + way ** n["missing"] * v))
            best = min(tried, key=lambda pair: pair[0])[1]
            out.append([best.real, best.imag])
        return out

    return answer


def real_numbers(n):
    """Least squares with four real unknowns."""

    def answer(corners):
        kept = [k for k in range(4) if k != n["missing"]]
        found = []
        for sign in (1, -1):
            rows = []
            for k in [*kept, n["missing"]]:
                c, s = [(1, 0), (0, 1), (-1, 0), (0, -1)][k]
                rows += [[1, 0, c, -sign * s], [0, 1, sign * s, c]]
            a = torch.tensor(rows, dtype=torch.float64)
            flat = corners.flatten(1).double()
            best = flat @ torch.linalg.pinv(a[:6]).T
            found.append((best @ a[6:].T, (best @ a[:6].T - flat).pow(2).sum(1)))
        (one, near), (other, far) = found
        return torch.where((near < far)[:, None], one, other).float()

    return answer


def parallel(n):
    def answer(corners):
        after, opposite, before = around(n, corners)
        return after + before - opposite

    return answer


def two_corners(n):
    def answer(corners):
        after, opposite, before = around(n, corners)
        guesses = [opposite + s * turn(opposite - after) for s in (1, -1)]
        far = [(guess - before).norm(dim=1) for guess in guesses]
        wrong_way = [after + s * turn(opposite - after) for s in (1, -1)]
        return torch.where((far[0] < far[1])[:, None], *wrong_way)

    return answer


RIGHT = {
    "a formula": nearest,
    "walk by walk in NumPy": in_numpy,
    "four real unknowns in 32 bits": real_numbers,
}
WRONG = {
    "a parallelogram": (parallel, "Parallel sides are not all"),
    "two corners": (two_corners, "Only two of the three|mathematics"),
    "to the left": (
        lambda n: lambda c: by_formula(n, c)[0][0],
        "taken to go to the (left|right)",
    ),
    "to the right": (
        lambda n: lambda c: by_formula(n, c)[0][1],
        "taken to go to the (left|right)",
    ),
    "the worse": (
        lambda n: (
            lambda c: torch.where(
                (by_formula(n, c)[1][0] > by_formula(n, c)[1][1])[:, None],
                *by_formula(n, c)[0],
            )
        ),
        "the worse one was taken",
    ),
    "another corner": (
        lambda n: nearest({"missing": n["missing"] % 3 + 1}),
        "Another corner is missing",
    ),
    "the middle": (lambda n: lambda c: c.mean(1), "the middle of the corners"),
    "the first walk": (lambda n: lambda c: nearest(n)(c)[0], "shape"),
    "the whole square": (
        lambda n: lambda c: torch.cat([c, nearest(n)(c)[:, None]], 1),
        "shape",
    ),
    "nothing": (lambda n: lambda c: None, "must be numbers; got None"),
}
