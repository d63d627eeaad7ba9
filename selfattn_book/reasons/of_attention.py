"""What is likely behind the wrong numbers of an attention.

Each misconception is a sentence beside a test for it. A list is asked only after a *no*, from the
top, and the first whose test holds is named. A test compares the reader's code with itself on
other inputs, or with what code with that misconception computes; so the special stands before the
general, and silence is better than a guess.
"""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from selfattn_book.reasons.answer import Likely, equal
from selfattn_book.reasons.calls import Attend, context_of, weights_of

LATE = "The mask comes after the softmax, whose denominator has counted what is hidden."
NUMBERS = (
    "Zeros and ones are added to the scores, where a boolean mask fills with -inf."
)
INVERTED = "The mask is inverted: what may be seen is hidden, and the rest is seen."
UNUSED = (
    "The mask makes no difference: with nothing hidden, the answer is the same."
)
FILLED = "Hidden scores are filled with a number such as 0, and not with -inf."
ALONG_QUERIES = "A softmax along the queries instead of the keys does this."
SCRAMBLED = (
    "The heads are scrambled: `view` alone made them, where a transpose belongs."
)
NOT_DIVIDED = "The scores are not divided by the root of the width."
BY_THE_WIDTH = "The scores are divided by the width, not by its root."
MULTIPLIED = (
    "The scores are multiplied by the root of the width, not divided by it."
)
WHOLE_WIDTH = (
    "The scores are divided by the root of the whole width, not of a head's."
)


def of_weights(attend: Attend, *inputs: Tensor) -> list[Likely]:
    """Return what can be behind rows of weights that are no shares."""
    value = inputs[2]
    late, *_ = of_masks(attend, *inputs)  # the others leave shares behind

    def weights() -> Tensor:
        return weights_of(attend, *inputs)

    def ones_along(axis: int) -> bool:
        sums = weights().sum(axis)  # nan where a softmax has met nothing but -inf
        numbers = sums[~sums.isnan()]
        return numbers.numel() > 0 and equal(numbers, torch.ones_like(numbers))

    def are_scores() -> bool:
        return equal(weights().softmax(-1) @ value, context_of(attend, *inputs))

    return [
        (
            "Asked twice, they differ: they have been through dropout.",
            lambda: not equal(weights(), weights(), 0),
        ),
        (ALONG_QUERIES, lambda: ones_along(-2)),
        ("A softmax along the batch does this.", lambda: ones_along(0)),
        ("These are the scores, from before the softmax.", are_scores),
        late,
    ]


def of_masks(
    attend: Attend, query: Tensor, key: Tensor, value: Tensor, mask: Tensor
) -> list[Likely]:
    """Return what can have gone wrong with a mask, seen in what it does to weights."""

    def weights(seen: Tensor = mask) -> Tensor:
        return weights_of(attend, query, key, value, seen)

    def context(seen: Tensor) -> Tensor:
        return context_of(attend, query, key, value, seen)

    everything = torch.ones_like(mask)
    return [
        (LATE, lambda: _is_late(mask, weights(), weights(everything))),
        (NUMBERS, lambda: _is_added(mask, weights(), weights(everything))),
        (INVERTED, lambda: _is_inverted(mask, weights())),
        (FILLED, lambda: _is_filled(mask, weights())),
        (
            UNUSED,
            lambda: not mask.all() and equal(context(mask), context(everything)),
        ),
    ]


def _beside(mask: Tensor, weights: Tensor) -> Tensor:
    """Give a mask the axis of heads that the weights may have."""
    return mask if weights.ndim == 3 else mask[:, None]


def _is_late(mask: Tensor, weights: Tensor, free: Tensor) -> bool:
    """Tell whether a seen key has the weight that it has without a mask."""
    return equal(weights, free * _beside(mask, weights))


def _is_added(mask: Tensor, weights: Tensor, free: Tensor) -> bool:
    """Tell whether a hidden key is one point of score behind what it has without a mask."""
    parts = free * _beside(mask, weights).double().exp()
    return equal(weights, parts / parts.sum(-1, keepdim=True))


def _is_inverted(mask: Tensor, weights: Tensor) -> bool:
    """Tell whether all weights lie where the mask hides."""
    seen, used = _beside(mask, weights), weights.nan_to_num() > 0
    return bool(used.any()) and not (used & seen).any()


def _is_filled(mask: Tensor, weights: Tensor) -> bool:
    """Tell whether the hidden keys of a query have one weight that is not 0."""
    seen = _beside(mask, weights)
    low = weights.masked_fill(seen, torch.inf).amin(-1)
    high = weights.masked_fill(seen, -torch.inf).amax(-1)
    rows = ((~seen).sum(-1) > 1).expand_as(low)  # in which several are hidden
    is_level = bool((low[rows] > 0).all()) and equal(low[rows], high[rows])
    return is_level and not equal(weights.amin(-1), weights.amax(-1))


def of_blind_rows(weights: Tensor) -> list[Likely]:
    """Return what can be behind weights ``(..., S)`` of queries that may see nothing."""
    return [
        (
            "Where all scores are -inf, the softmax divides 0 by 0.",
            lambda: bool(weights.isnan().all()),
        ),
        (
            "All its scores became one finite number, such as -1e9, which gives even shares.",
            lambda: equal(weights, torch.full_like(weights, 1 / weights.size(-1))),
        ),
    ]


def of_padding(attend: Attend, x: Tensor, real: Tensor) -> list[Likely]:
    """Return what can let padding speak; ``real`` is the mask, ``(B, T, S)``."""
    other = torch.where(real[:, 0, :, None], x, -3 * x.flip(0))

    def moves(query: Tensor, key: Tensor) -> bool:
        after = context_of(attend, query, key, key, real)
        return not equal(after, context_of(attend, x, x, x, real))

    def is_pooled() -> bool:
        return context_of(attend, x, x, x, real).size(1) == 1

    return [
        (
            "Padded queries have a vote: a mean goes over all positions.",
            lambda: is_pooled() and moves(other, x) and not moves(x, other),
        ),
        (
            "What padding holds is of no matter, but it counts: it is set to 0, not hidden.",
            lambda: not moves(x, other),
        ),
        *of_masks(attend, x, x, x, real),
    ]


def of_samples(attend: Attend, x: Tensor) -> list[Likely]:
    """Return what can join the samples of a batch."""
    mask = torch.ones(x.size(0), x.size(1), x.size(1), dtype=torch.bool)

    def context(x: Tensor) -> Tensor:
        return context_of(attend, x, x, x, mask)

    def moved() -> Tensor:
        other = x.clone()
        other[0, 0] = -3 * x[0, 0]
        return (context(other) - context(x)).abs().amax(-1) > 1e-12  # (B, T)

    def alike() -> bool:
        answers = context(x[:1].expand_as(x).clone())
        return equal(answers, answers[:1].expand_as(answers))

    return [
        (
            "A word meets the words at its place in other samples: the batch is taken for the length.",
            lambda: bool(moved()[1:, 0].all()) and not moved()[:, 1:].any(),
        ),
        (
            "Equal samples get unequal answers: something counts along the batch.",
            lambda: not alike(),
        ),
    ]


def of_heads(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, *, context: Tensor
) -> list[Likely]:
    """Return how heads can be scrambled, for each number of heads that divides the width."""
    width = query.size(-1)

    def is_scrambled(heads: int) -> bool:
        q, k, v = (
            x.reshape(x.size(0), heads, x.size(1), -1) for x in (query, key, value)
        )
        said = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
        forms = said.transpose(1, 2).flatten(2), said.reshape(query.shape)
        return any(equal(context, form) for form in forms)

    counts = [heads for heads in range(2, width + 1) if width % heads == 0]
    return [(SCRAMBLED, lambda: any(map(is_scrambled, counts)))]


def of_context(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, *, context: Tensor
) -> list[Likely]:
    """Return what can make a context another than PyTorch's; inputs have an axis of heads."""
    attend = F.scaled_dot_product_attention
    heads, width = query.size(1), query.size(-1)
    scores = query @ key.mT / width**0.5
    wrong = {
        LATE: (scores.softmax(-1) * mask) @ value,
        NUMBERS: attend(query, key, value, mask.double()),
        INVERTED: attend(query, key, value, ~mask),
        UNUSED: attend(query, key, value),
        FILLED: (scores * mask).softmax(-1) @ value,
        ALONG_QUERIES: scores.masked_fill(~mask, -torch.inf).softmax(-2) @ value,
        "Key and value are exchanged.": attend(query, value, key, mask),
        "The scores have the other sign.": attend(-query, key, value, mask),
    }
    for said, factor in _factors(width, heads).items():
        wrong[said] = attend(query, key, value, mask, scale=factor)
    return [
        (said, partial(equal, context, x.transpose(1, 2).flatten(2)))
        for said, x in wrong.items()
    ]


def of_scale(weights: Tensor, query: Tensor, key: Tensor) -> list[Likely]:
    """Return what stands before query times key, if the weights are made of nothing else."""
    heads = 1 if weights.ndim == 3 else weights.size(1)
    width = query.size(-1) // heads
    if heads * width != query.size(-1):
        return []  # maps have made other widths

    def is_near(factor: float) -> bool:
        return math.isclose(_factor(weights, query, key), factor, rel_tol=1e-6)

    return [
        *(
            (said, partial(is_near, factor))
            for said, factor in _factors(width, heads).items()
        ),
        (
            "The divisor does not follow the width, whose root it must be.",
            lambda: _factor(weights, query, key) > 0,
        ),
    ]


def _factors(width: int, heads: int) -> dict[str, float]:
    """Return the wrong factors of scores, for one head of a given width."""
    factors = {NOT_DIVIDED: 1, BY_THE_WIDTH: 1 / width, MULTIPLIED: width**0.5}
    whole = {WHOLE_WIDTH: (heads * width) ** -0.5}
    return {said: f for said, f in {**factors, **whole}.items() if f != width**-0.5}


def _factor(weights: Tensor, query: Tensor, key: Tensor) -> float:
    """Return by how much query times key was multiplied; ``nan`` if scores are something else."""
    heads = 1 if weights.ndim == 3 else weights.size(1)
    q, k = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (query, key))
    scores = weights.detach().log().view(-1, heads, *weights.shape[-2:])
    products, scores = (x - x.mean(-1, keepdim=True) for x in (q @ k.mT, scores))
    factor = (scores * products).sum() / products.square().sum()
    return factor.item() if equal(scores, factor * products, 1e-6) else math.nan
