"""Why divide: the divisor that is right, and keys that are mostly zero."""

import math

from selfattn_book.exercises.checking.by_hand import by_hand
from selfattn_book.exercises.checking.exercise import checked, factory, for_credit
from selfattn_book.exercises.checking.find_the_bug import find_the_bug

VARIANCE = "why-divide.html#the-variance-of-a-score"
CASES = {
    "coins": [([1.0, -1.0], [0.5, 0.5], [1.0, -1.0], [0.5, 0.5], width) for width in (16, 3)],
    "uneven": [([2.0, -1.0], [1 / 3, 2 / 3], [3.0, 0.0, -1.0], [0.2, 0.2, 0.6], 9)],
    "means": [([0.0, 1.0], [0.5, 0.5], [1.0, 3.0], [0.25, 0.75], 25)],
    "more": [
        ([-2.0, 0.5, 4.0], [0.3, 0.6, 0.1], [1.5], [1.0], 10),
        ([1.0], [1.0], [2.0, -3.0, 0.0, 1.0], [0.4, 0.1, 0.3, 0.2], 7),
    ],
}


def mean(values, chances, power=1):
    return sum(c * v**power for v, c in zip(values, chances, strict=True))


def variance(values, chances):
    return mean(values, chances, 2) - mean(values, chances) ** 2


@factory
def divisor(stretch, qv, qc, kv, kc, width, *, with_means=True):
    """Return the divisor where dropout stretches the mean square of a key."""
    squares = mean(qv, qc, 2) * mean(kv, kc, 2) * stretch
    means = mean(qv, qc) * mean(kv, kc) if with_means else 0.0
    return math.sqrt(width * max(0.0, squares - means**2))


@factory
def by_listing(p, qv, qc, kv, kc, width):
    keys = [(v / (1 - p), c * (1 - p)) for v, c in zip(kv, kc, strict=True)] + [(0.0, p)]
    queries = list(zip(qv, qc, strict=True))
    pairs = [(q * k, a * b) for q, a in queries for k, b in keys]
    center = sum(x * c for x, c in pairs)
    return math.sqrt(width * sum(c * (x - center) ** 2 for x, c in pairs))


def right_divisor(p):
    conditions = "why-divide-deeper.html#the-conditions-of-the-square-root"
    right = divisor(1 / (1 - p))

    def of_variances(qv, qc, kv, kc, width):
        return math.sqrt(width * variance(qv, qc) * variance(kv, kc) / (1 - p))

    def first_variance(qv, qc, kv, kc, width):
        return math.sqrt(divisor(1)(qv, qc, kv, kc, width) ** 2 / (1 - p))

    wrong = {
        "This is the variance; a divisor is its root.": lambda *c: right(*c) ** 2,
        "This is the root of the dimension alone.": lambda *c: math.sqrt(c[4]),
        "Variances of D products add; the root is of all.": lambda *c: right(*c) * math.sqrt(c[4]),
        "The dimension is missing.": lambda *c: right(*c) / math.sqrt(c[4]),
        "Dropout keeps the mean, but not the mean square.": divisor(1),
        "Entries that are kept are divided by 1 − p.": divisor(1 - p),
        "Entries that are kept are divided by 1 − p, and squared.": divisor(1 / (1 - p) ** 2),
        "The means are not 0, so the variances do not multiply.": of_variances,
        "The square of the mean is missing.": divisor(1 / (1 - p), with_means=False),
        "Dropout keeps the mean: it stretches the mean square only.": first_variance,
    }
    questions = [
        checked("it is right for coins, which are dropped sometimes", VARIANCE, 2, *CASES["coins"]),
        checked("for values with other chances", VARIANCE, 2, *CASES["uneven"]),
        checked("for means that are not 0", conditions, 2, *CASES["means"]),
        checked("for all distributions", conditions, 2, *CASES["more"]),
    ]
    return for_credit(
        "def right_divisor(query_values, query_chances, key_values, key_chances, width): ...",
        questions,
        right=divisor(1 / (1 - p)),
        wrong=wrong,
        unusual={"listing all cases": by_listing(p)},
        gate=0,
        returns="the divisor",
    )


def on_paper(numbers):
    high, width, gap = numbers["high"], numbers["width"], numbers["gap"]
    root = high * width**0.5 / 2
    centred = high * (3 / 16) ** 0.5 * width**0.5
    right = {
        "mean": 0,
        "variance": high**2 / 4,
        "divisor": root,
        "ratio": math.exp(gap / root),
        "wider": math.exp(gap / (2 * root)),
    }
    wrong = {
        "The mean of a coin is 0, and the two are independent.": {"mean": high / 4},
        "The mean that is subtracted is that of the product, which is 0.": {
            "variance": 3 * high**2 / 16,
            "divisor": centred,
        },
        "This is the standard deviation.": {"variance": high / 2},
        "Only a quarter of the entries is not zero.": {"variance": high**2},
        "This is the variance.": {"divisor": width * high**2 / 4},
        "The root of the dimension is right for variance 1.": {
            "divisor": width**0.5,
            "ratio": math.exp(gap / width**0.5),
        },
        "The difference was not divided.": {"ratio": math.exp(gap)},
        "A softmax takes exponentials.": {"ratio": gap / root},
        "The divisor grows with the dimension.": {"wider": math.exp(gap / root)},
        "The divisor grows with the root of the dimension.": {"wider": math.exp(gap / (4 * root))},
        "The exponent is halved, not the ratio.": {"wider": math.exp(gap / root) / 2},
    }
    return by_hand("sparse_keys", VARIANCE, right, wrong, tolerance=0.005)


WITHOUT_BUG = """\
def attend(query, key, value, temperature):
    d = query.size(1)
    scores = query @ key.T
    scores = scores / (temperature * d**0.5)
    largest = scores.max(dim=1, keepdim=True).values
    powers = (scores - largest).exp()
    weights = powers / powers.sum(dim=1, keepdim=True)
    return weights @ value
"""
EXAMPLE = {
    "query": [[600, 400], [1, 0]],
    "key": [[30, 40], [0, 1], [-30, 2]],
    "value": [[1], [2], [4]],
    "temperature": 20,
}  # all bugs show


def exercises(numbers):
    section = "why-divide.html#the-divisor-in-the-code"
    bug = find_the_bug(numbers["program"], WITHOUT_BUG, section, EXAMPLE)
    return [right_divisor(numbers["dropped"]), on_paper(numbers), bug]
