"""Predicting one step at a time: a cache for a stack of layers."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from selfattn_book.cache import KeyValueCache
from selfattn_book.exercises.checking.exercise import Asked, Exercise, checker
from selfattn_book.exercises.checking.numbers import compared, drawn, likely, numbers
from selfattn_book.experiments.seeding import set_seed
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.properties.answer import YES, Answer, Likely, RefusedError, all_of
from selfattn_book.properties.calls import call, missing

BATCH, LENGTH, WIDTH = 2, 5, 6
ONE_CACHE = "One cache serves all layers: each then looks at the keys of the others."
Step = Callable[[Sequence[MultiHeadAttention], Tensor, list[KeyValueCache]], Any]


@dataclass(frozen=True)
class Walk:
    """What came of asking a step for one point after the other.

    Args:
        outputs: ``(B, T, D)``.
        kept: how many keys each layer's cache has after each step.
    """

    outputs: Tensor
    kept: list[list[int]]


def returns_an_output(step: Step) -> Answer:
    """Ask for an output of the right shape, which it is if it can be asked."""
    walk(step, stack(2), drawn_points())
    return YES


def keeps_one_key_a_step(step: Step) -> Answer:
    """Ask how many keys each layer's cache holds after each step."""
    kept = walk(step, stack(2), drawn_points()).kept
    wrong = [t for t, keys in enumerate(kept) if keys != [t + 1, t + 1]]
    if not wrong:
        return YES
    t = wrong[0]
    message = (
        f"after step {t} the two caches hold {kept[t][0]} and {kept[t][1]} keys, not {t + 1} each"
    )
    return Answer("mathematics", f"{message}.").because(*of_kept(kept))


def of_kept(kept: list[list[int]]) -> list[Likely]:
    """Return what can be behind the keys that two caches hold."""
    return [
        (ONE_CACHE, lambda: sorted(kept[0]) == [0, 2]),
        (
            "Nothing is kept in these caches: a layer keeps its keys only in one that it is given.",
            lambda: not any(map(any, kept)),
        ),
        ("Each layer is called twice in a step.", lambda: kept[0] == [2, 2]),
        ("Only one of the two caches is used.", lambda: sorted(kept[0]) == [0, 1]),
    ]


def is_the_whole_pass(step: Step) -> Answer:
    """Ask for the outputs of the pass over all points at once, under a causal mask."""
    layers, x = stack(2), drawn_points()
    found = walk(step, layers, x)
    return same_outputs(found.outputs, whole(layers, x)).because(
        *of_kept(found.kept)[:1],
        *likely(found.outputs, wrong_outputs(layers, x)),
    )


def takes_any_stack(step: Step) -> Answer:
    """Ask about stacks of three layers and of one."""
    x = drawn_points()
    for count in (3, 1):
        layers = stack(count)
        message = f"with {count} {'layers' if count > 1 else 'layer'}, "
        found = walk(step, layers, x)
        no = same_outputs(found.outputs, whole(layers, x), message)
        if not no:
            two = (
                "Two layers are written out.",
                lambda: bool(is_the_whole_pass(step)),
            )
            return no.because(two)
    return YES


def starts_anew(step: Step) -> Answer:
    """Ask about two walks by turns, each with caches of its own."""
    layers, x = stack(2), drawn_points()
    walks, own = (x, -x), deepcopy(layers)
    caches = [[KeyValueCache() for _ in layers] for _ in walks]
    outputs: list[list[Tensor]] = [[], []]
    for t in range(LENGTH):
        for i, points in enumerate(walks):
            outputs[i].append(asked(step, own, points[:, t : t + 1], caches[i]))
    kept_elsewhere = (
        "Something is kept from call to call outside of the caches.",
        lambda: bool(is_the_whole_pass(step)),
    )
    return all_of(
        same_outputs(torch.cat(outputs[i], 1), whole(layers, points), "by turns, ")
        for i, points in enumerate(walks)
    ).because(kept_elsewhere)


def stack(count: int) -> list[MultiHeadAttention]:
    """Draw a stack of layers."""
    set_seed(5)
    return [MultiHeadAttention(WIDTH, 2) for _ in range(count)]


def drawn_points() -> Tensor:
    """Draw points to go through it."""
    return drawn(BATCH, LENGTH, WIDTH, seed=6)


def walk(step: Step, layers: Sequence[MultiHeadAttention], x: Tensor) -> Walk:
    """Ask a step for one point after the other."""
    caches, outputs, kept = [KeyValueCache() for _ in layers], [], []
    own = deepcopy(layers)  # an answer may not change those that it is measured by
    for t in range(x.size(1)):
        outputs.append(asked(step, own, x[:, t : t + 1], caches))
        kept.append([len(cache) for cache in caches])
    return Walk(torch.cat(outputs, dim=1), kept)


def asked(
    step: Step,
    layers: Sequence[MultiHeadAttention],
    newest: Tensor,
    caches: list[KeyValueCache],
) -> Tensor:
    """Ask for one step, and return the newest output."""
    came = call(step, list(layers), newest.clone(), caches)
    if isinstance(came, tuple):
        raise RefusedError(missing("return the newest output alone", came))
    return numbers(came, "the newest output", (BATCH, 1, WIDTH))


@torch.no_grad()
def whole(layers: Sequence[MultiHeadAttention], x: Tensor) -> Tensor:
    """Return what comes of all points at once."""
    for layer in layers:
        x, _ = layer(x, x, x, causal_mask(x.size(1)))
    return x


def same_outputs(got: Tensor, wanted: Tensor, message: str = "") -> Answer:
    """Compare outputs, step by step."""
    what = f"{message}the output"
    return compared(got, wanted, what, ("sample", "step"), message="is {gap} off")


RESIDUAL_INSIDE = "The input is added to the output: these layers have no residual path."
QUERIES_BELOW = "Queries come from the layer below, but keys and values from the newest point."
KEYS_BELOW = "Keys and values come from the layer below, but queries from the newest point."
VALUES_ABOVE = "Queries and keys come from the layer below, but values from the newest point."
RESIDUAL_OUTSIDE = "The newest point is added to the last output: there is no residual path."


@torch.no_grad()
def wrong_outputs(layers: Sequence[MultiHeadAttention], x: Tensor) -> dict[str, Tensor]:
    """Return the outputs of two layers that come of likely mistakes."""
    low, high = layers
    mask, first = causal_mask(LENGTH), whole([low], x)
    alone = torch.eye(LENGTH, dtype=torch.bool)
    itself = high(*[low(x, x, x, alone)[0]] * 3, alone)[0]
    added = x + first
    return {
        "Each point sees only itself: what came before is not looked at.": itself,
        "The layers are taken in the wrong order.": whole([high, low], x),
        "Each layer reads the newest point, not what the layer below puts out.": (whole([high], x)),
        "The output of the first layer came back, not that of the last.": first,
        RESIDUAL_INSIDE: (added + whole([high], added)),
        QUERIES_BELOW: (high(first, x, x, mask)[0]),
        KEYS_BELOW: (high(x, first, first, mask)[0]),
        VALUES_ABOVE: (high(first, first, x, mask)[0]),
        "One layer stands for all of them.": whole([low, low], x),
        RESIDUAL_OUTSIDE: (x + whole(layers, x)),
        "The outputs of the layers are added up.": first + whole(layers, x),
    }


PLACE = "prediction.html#the-cache"
EXERCISES = [
    Exercise(
        "step",
        "def step(layers, newest, caches):\n    ...",
        [
            Asked(
                "it returns the newest output, and nothing else",
                returns_an_output,
                "prediction.html#exercises",
            ),
            Asked(
                "each layer's cache grows by one key per step",
                keeps_one_key_a_step,
                PLACE,
            ),
            Asked(
                "each output is that of the pass over all points at once",
                is_the_whole_pass,
                PLACE,
                points=2,
            ),
            Asked(
                "a stack of one layer or of three works, too",
                takes_any_stack,
                PLACE,
            ),
            Asked(
                "a walk with new caches starts anew",
                starts_anew,
                "prediction.html#when-is-a-cache-wrong",
            ),
        ],
    )
]
check = checker(EXERCISES)
