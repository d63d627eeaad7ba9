"""A cache for a stack: right answers of many kinds pass, and each wrong one is named."""

import functools
import re

import pytest

from selfattn_book.cache import KeyValueCache
from selfattn_book.masks import causal_mask
from tests.course.answers import report, said

pytestmark = pytest.mark.usefixtures("page")


def right(layers, newest, caches):
    for layer, cache in zip(layers, caches, strict=True):
        newest, _ = layer(newest, newest, newest, cache=cache)
    return newest


def recursive(layers, newest, caches):
    if not layers:
        return newest
    newest = layers[0](newest, newest, newest, cache=caches[0])[0]
    return recursive(layers[1:], newest, caches[1:])


def reduced(layers, newest, caches):
    each = zip(layers, caches, strict=True)
    return functools.reduce(lambda x, p: p[0](x, x, x, cache=p[1])[0], each, newest)


def without_weights(layers, newest, caches):
    for i, layer in enumerate(layers):
        newest = layer(*[newest] * 3, cache=caches[i], need_weights=False)[0]
    return newest


def masked(layers, newest, caches):
    for layer, cache in zip(layers, caches, strict=True):
        mask = causal_mask(1, len(cache) + 1)
        newest, _ = layer(newest, newest, newest, mask, cache=cache)
    return newest


def stepping(hand, *, take=lambda low, x: (low, low, low)):
    """Return a step that hands each layer the cache that one likes, and the inputs."""

    def step(layers, newest, caches):
        low = newest
        for i, layer in enumerate(layers):
            low, _ = layer(*take(low, newest), cache=hand(caches, i))
        return low

    return step


def backwards(layers, newest, caches):
    return right(layers[::-1], newest, caches[::-1])


def one_cache(layers, newest, caches):
    return right(layers, newest, [caches[0]] * len(layers))


def two_layers(layers, newest, caches):
    low = layers[0](newest, newest, newest, cache=caches[0])[0]
    return layers[1](low, low, low, cache=caches[1])[0]


def residual(layers, newest, caches):
    for layer, cache in zip(layers, caches, strict=True):
        newest = newest + layer(newest, newest, newest, cache=cache)[0]
    return newest


def first_output(layers, newest, caches):
    first = right(layers[:1], newest, caches[:1])
    right(layers[1:], first, caches[1:])
    return first


def twice(layers, newest, caches):
    right(layers, newest, caches)
    return right(layers, newest, caches)


def summed(layers, newest, caches):
    total = 0
    for layer, cache in zip(layers, caches, strict=True):
        newest, _ = layer(newest, newest, newest, cache=cache)
        total = total + newest
    return total


def with_own_caches():
    mine = {}

    def step(layers, newest, caches):
        right(layers, newest, caches)
        kept = mine.setdefault(id(layers[0]), ([KeyValueCache() for _ in layers], layers))
        return right(layers, newest, kept[0])

    return step


own = stepping(lambda caches, i: caches[i])


def without_biases(layers, newest, caches):
    """Change the layers, which are not its own."""
    for layer in layers:
        layer.project_output.bias.data.zero_()
    return right(layers, newest, caches)


RIGHT = {
    "step": {
        "a loop": right,
        "recursive": recursive,
        "reduced": reduced,
        "without weights": without_weights,
        "masked": masked,
        "NumPy": lambda *x: right(*x).detach().numpy(),
        "32 bits": lambda *x: right(*x).float(),
        "a list": lambda *x: right(*x).tolist(),
    }
}
WRONG = {
    "step": {
        "without its biases": (without_biases, "is .* off"),
        "values of the newest": (
            stepping(lambda caches, i: caches[i], take=lambda low, x: (low, low, x)),
            "but values from the newest point",
        ),
        "one layer for all": (
            lambda layers, newest, caches: right(layers[:1] * len(layers), newest, caches),
            "One layer stands for all",
        ),
        "the newest added": (
            lambda layers, newest, caches: newest + right(layers, newest, caches),
            "added to the last output",
        ),
        "weights, too": (
            lambda m, x, c: (right(m, x, c), None),
            "missing: it must return the newest output alone; got 2 values",
        ),
        "no axis": (
            lambda m, x, c: right(m, x, c)[:, 0],
            r"shape: .*\(2, 1, 6\); got \(2, 6\)",
        ),
        "one cache": (
            one_cache,
            "hold 2 and 0 keys, not 1 each. One cache serves all",
        ),
        "no cache": (
            stepping(lambda caches, i: None),
            "Nothing is kept in these caches: .* Each point sees only itself",
        ),
        "new caches": (
            stepping(lambda caches, i: KeyValueCache()),
            "Nothing is kept in these caches: .* Each point sees only itself",
        ),
        "backwards": (backwards, "wrong order"),
        "side by side": (
            stepping(lambda c, i: c[i], take=lambda low, x: (x, x, x)),
            "reads the newest point, not what the layer below",
        ),
        "keys of the point": (
            stepping(lambda c, i: c[i], take=lambda low, x: (low, x, x)),
            "but keys and values from the newest point",
        ),
        "query of the point": (
            stepping(lambda c, i: c[i], take=lambda low, x: (x, low, low)),
            "but queries from the newest point",
        ),
        "residual": (residual, "no residual path"),
        "first output": (first_output, "The output of the first layer came back"),
        "two layers": (two_layers, "with 3 layers, .* Two layers are written out"),
        "twice": (twice, "Each layer is called twice"),
        "summed": (summed, "outputs of the layers are added up"),
        "nothing": (lambda m, x, c: None, "missing: .* got None"),
        "a mask": (
            lambda m, x, c: m[0](x, x, x, causal_mask(5), cache=c[0])[0],
            "exception: ValueError .* mask must broadcast",
        ),
    }
}


@pytest.mark.parametrize("kind", RIGHT["step"])
def test_what_is_right_passes(kind):
    assert said(report("prediction", RIGHT["step"][kind], "step")) == ""


@pytest.mark.parametrize("kind", WRONG["step"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["step"][kind]
    found = report("prediction", answer, "step")
    assert found.points < found.possible
    assert re.search(name, said(found))


def test_what_is_kept_elsewhere_is_found():
    answer = with_own_caches()
    assert "outside of the caches" in said(report("prediction", answer, "step"))


@pytest.mark.parametrize(("kind", "points"), [("residual", 2), ("two layers", 5)])
def test_what_is_half_right_has_a_part_of_the_points(kind, points):
    found = report("prediction", WRONG["step"][kind][0], "step")
    assert (found.points, found.possible) == (points, 6)
