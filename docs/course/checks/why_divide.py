"""Why divide: the divisor that is right, and keys that are mostly zero."""

import math
from typing import Any

from selfattn_book.course.asking import Function, agrees, gives
from selfattn_book.course.exercise import Asked, Exercise

Numbers = list[float]
CASES: dict[str, list[tuple[Any, ...]]] = {
    "coins": [
        ([1.0, -1.0], [0.5, 0.5], [1.0, -1.0], [0.5, 0.5], width)
        for width in (16, 3)
    ],
    "uneven": [([2.0, -1.0], [1 / 3, 2 / 3], [3.0, 0.0, -1.0], [0.2, 0.2, 0.6], 9)],
    "means": [([0.0, 1.0], [0.5, 0.5], [1.0, 3.0], [0.25, 0.75], 25)],
    "more": [
        ([-2.0, 0.5, 4.0], [0.3, 0.6, 0.1], [1.5], [1.0], 10),
        ([1.0], [1.0], [2.0, -3.0, 0.0, 1.0], [0.4, 0.1, 0.3, 0.2], 7),
    ],
}


def mean(values: Numbers, chances: Numbers, power: int = 1) -> float:
    """Return the mean of a power."""
    return sum(c * v**power for v, c in zip(values, chances, strict=True))


def variance(values: Numbers, chances: Numbers) -> float:
    """Return the variance of an entry."""
    return mean(values, chances, 2) - mean(values, chances) ** 2


def divisor(stretch: float, with_means: bool = True) -> Function:
    """Return the divisor where dropout stretches the mean square of a key."""

    def of(qv: Numbers, qc: Numbers, kv: Numbers, kc: Numbers, width: int) -> float:
        squares = mean(qv, qc, 2) * mean(kv, kc, 2) * stretch
        means = mean(qv, qc) * mean(kv, kc) if with_means else 0.0
        return math.sqrt(width * max(0.0, squares - means**2))

    return of


def mistakes(p: float) -> list[tuple[str, Function]]:
    """Return misconceptions, each with what follows from it."""
    right = divisor(1 / (1 - p))

    def of_variances(
        qv: Numbers, qc: Numbers, kv: Numbers, kc: Numbers, width: int
    ) -> float:
        return math.sqrt(width * variance(qv, qc) * variance(kv, kc) / (1 - p))

    def first_variance(
        qv: Numbers, qc: Numbers, kv: Numbers, kc: Numbers, width: int
    ) -> float:
        return math.sqrt(divisor(1)(qv, qc, kv, kc, width) ** 2 / (1 - p))

    return [
        ("This is the variance; a divisor is its root.", lambda *c: right(*c) ** 2),
        ("The root of the width stands alone.", lambda *c: math.sqrt(c[4])),
        (
            "Variances of D products add; the root is of all.",
            lambda *c: right(*c) * math.sqrt(c[4]),
        ),
        ("The width is missing.", lambda *c: right(*c) / math.sqrt(c[4])),
        ("Dropout keeps the mean, but not the mean square.", divisor(1)),
        ("What stays is divided by 1 − p.", divisor(1 - p)),
        ("What stays is divided by 1 − p, and squared.", divisor(1 / (1 - p) ** 2)),
        ("The means are not 0, so the variances do not multiply.", of_variances),
        (
            "The square of the mean is missing.",
            divisor(1 / (1 - p), with_means=False),
        ),
        (
            "Dropout keeps the mean: it stretches the mean square only.",
            first_variance,
        ),
    ]


def asks(p: float) -> list[Asked]:
    """Return what is asked."""
    section = "why-divide.html#the-variance-of-a-score"
    conditions = "why-divide.html#which-conditions-does-the-root-rest-on"
    asked = [
        ("it is right for coins, which are dropped sometimes", "coins", section, 2),
        ("for values with other chances", "uneven", section, 2),
        ("for means that are not 0", "means", conditions, 2),
        ("for anything", "more", conditions, 2),
    ]
    right, wrong = divisor(1 / (1 - p)), mistakes(p)
    return [
        Asked(told, agrees(right, CASES[name], *wrong), where, points)
        for told, name, where, points in asked
    ]


def on_paper(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked of keys that are mostly zero."""
    high, width, gap = numbers["high"], numbers["width"], numbers["gap"]
    right = high * width**0.5 / 2
    centred = high * (3 / 16) ** 0.5 * width**0.5
    wanted = {
        "mean": 0,
        "variance": high**2 / 4,
        "divisor": right,
        "ratio": math.exp(gap / right),
        "wider": math.exp(gap / (2 * right)),
    }
    wrong: dict[str, dict[str, Any]] = {
        "mean": {"The mean of a coin is 0, and the two are independent.": high / 4},
        "variance": {
            "The mean that is subtracted is that of the product, which is 0.": 3
            * high**2
            / 16,
            "This is the standard deviation.": high / 2,
            "Only a quarter of the entries is not zero.": high**2,
        },
        "divisor": {
            "This is the variance.": width * high**2 / 4,
            "The root of the width is right for variance 1.": width**0.5,
            "The mean that is subtracted is that of the product, which is 0.": centred,
        },
        "ratio": {
            "The difference was not divided.": math.exp(gap),
            "A softmax takes exponentials.": gap / right,
            "The root of the width is right for variance 1.": math.exp(
                gap / width**0.5
            ),
        },
        "wider": {
            "The divisor grows with the width.": math.exp(gap / right),
            "The divisor grows with the root of the width.": math.exp(
                gap / (4 * right)
            ),
            "The exponent is halved, not the ratio.": math.exp(gap / right) / 2,
        },
    }
    return gives(
        wanted, wrong, "why-divide.html#the-variance-of-a-score", tolerance=0.005
    )


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    stub = "def right_divisor(query_values, query_chances, key_values, key_chances, width): ..."
    return [
        Exercise("right_divisor", stub, asks(numbers["dropped"])),
        Exercise("sparse_keys", "def sparse_keys(): ...", on_paper(numbers)),
    ]
