"""Likely misconceptions behind the wrong numbers of an attention function.

Each is a sentence and a test for it. A list is read only after a no, from the top; the first
misconception whose test holds is named. A test compares the code with itself on other inputs, or
with a program that has the misconception. Special cases come before general ones, and no
misconception is better than a wrong one.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from selfattn_book.properties.answer import Likely, equal
from selfattn_book.properties.calls import Attend, context_of, weights_of

LATE = "The mask is applied after the softmax, whose denominator includes the hidden keys."
NUMBERS = "The mask is added to the scores as zeros and ones, instead of filling them with -inf."
INVERTED = "The mask is inverted: `True` is taken as hidden."
UNUSED = "The mask has no effect: without it, the result is the same."
FILLED = "Hidden scores are filled with a number such as 0, not with -inf."
ALONG_QUERIES = "This is a softmax along the queries, not along the keys."
SCRAMBLED = "The heads are scrambled: `view` alone made them, where a transpose belongs."
NOT_DIVIDED = "The scores are not divided by the root of the width."
BY_THE_WIDTH = "The scores are divided by the width, not by its root."
MULTIPLIED = "The scores are multiplied by the root of the width, not divided by it."
WHOLE_WIDTH = "The scores are divided by the root of the whole width, not of a head's."
WRONG_DIVISOR = "The divisor does not depend on the width, whose root it must be."
NAN_ROW = "Where all scores are -inf, the softmax divides 0 by 0."
EVEN_ROW = "All its scores became one finite number, such as -1e9, so the weights are equal."
REPLACED_NAN = "A nan was replaced after the softmax; the gradient still passes through it."
POOLED_PADDING = "Padded queries count: a mean is taken over all positions."
ZEROED_PADDING = (
    "Padding is set to 0 instead of hidden: its contents have no effect, its number has."
)
BATCH_AS_LENGTH = (
    "A word attends to words of other samples: the batch axis is taken for the length."
)
BY_SAMPLE = "Equal samples have different contexts: the result depends on the index in the batch."
RANDOM_WEIGHTS = "Two calls differ: dropout was applied to the weights."
ALONG_BATCH = "This is a softmax along the batch."
ARE_SCORES = "These are the scores before the softmax."
EXCHANGED = "Key and value are exchanged."
NEGATED = "The scores have the wrong sign."


def weights(attend: Attend, *inputs: Tensor) -> list[Likely]:
    """List misconceptions behind rows of weights that are not distributions."""
    value = inputs[2]
    late, *_ = masks(attend, *inputs)  # rows of the others sum to 1

    def weights() -> Tensor:
        return weights_of(attend, *inputs)

    def ones_along(axis: int) -> bool:
        sums = weights().sum(axis)  # nan where all scores were -inf
        numbers = sums[~sums.isnan()]
        return numbers.numel() > 0 and equal(numbers, torch.ones_like(numbers))

    def are_scores() -> bool:
        return equal(weights().softmax(-1) @ value, context_of(attend, *inputs))

    return [
        (RANDOM_WEIGHTS, lambda: not equal(weights(), weights(), 0)),
        (ALONG_QUERIES, lambda: ones_along(-2)),
        (ALONG_BATCH, lambda: ones_along(0)),
        (ARE_SCORES, are_scores),
        late,
    ]


def masks(attend: Attend, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> list[Likely]:
    """List misconceptions about a mask, recognized by its effect on the weights."""

    def weights(mask: Tensor) -> Tensor:
        return weights_of(attend, query, key, value, mask)

    def context(mask: Tensor) -> Tensor:
        return context_of(attend, query, key, value, mask)

    def given(test: Callable[..., bool], *masks: Tensor) -> Callable[[], bool]:
        def explains() -> bool:
            first, *others = map(weights, (mask, *masks))
            return test(mask if first.ndim == 3 else mask[:, None], first, *others)

        return explains

    free = torch.ones_like(mask)
    return [
        (LATE, given(lambda mask, weights, free: equal(weights, free * mask), free)),
        (NUMBERS, given(_is_added, free)),
        (INVERTED, given(_is_inverted)),
        (FILLED, given(_is_filled)),
        (UNUSED, lambda: not mask.all() and equal(context(mask), context(free))),
    ]


def _is_added(mask: Tensor, weights: Tensor, free: Tensor) -> bool:
    """Return whether the score of a hidden key is 1 less than without a mask."""
    parts = free * mask.double().exp()
    return equal(weights, parts / parts.sum(-1, keepdim=True))


def _is_inverted(mask: Tensor, weights: Tensor) -> bool:
    """Return whether all positive weights are at hidden keys."""
    used = weights.nan_to_num() > 0
    return bool(used.any()) and not (used & mask).any()


def _is_filled(mask: Tensor, weights: Tensor) -> bool:
    """Return whether the hidden keys of each query have equal weights other than 0."""
    low = weights.masked_fill(mask, torch.inf).amin(-1)
    high = weights.masked_fill(mask, -torch.inf).amax(-1)
    rows = ((~mask).sum(-1) > 1).expand_as(low)  # in which several keys are hidden
    is_level = bool((low[rows] > 0).all()) and equal(low[rows], high[rows])
    return is_level and not equal(weights.amin(-1), weights.amax(-1))


def fully_masked_rows(weights: Tensor) -> list[Likely]:
    """List misconceptions behind weights ``(..., S)`` of fully masked rows."""
    even = torch.full_like(weights, 1 / weights.size(-1))
    return [
        (NAN_ROW, lambda: bool(weights.isnan().all())),
        (EVEN_ROW, lambda: equal(weights, even)),
    ]


def padding(attend: Attend, x: Tensor, mask: Tensor) -> list[Likely]:
    """List misconceptions behind an effect of padding, given the mask ``(B, T, S)``."""
    other = torch.where(mask[:, 0, :, None], x, -3 * x.flip(0))  # other padding

    def context(query: Tensor, key: Tensor) -> Tensor:
        return context_of(attend, query, key, key, mask)

    def changes(query: Tensor, key: Tensor) -> bool:
        return not equal(context(query, key), context(x, x))

    def is_pooled() -> bool:
        return context(x, x).size(1) == 1 and changes(other, x) and not changes(x, other)

    return [
        (POOLED_PADDING, is_pooled),
        (ZEROED_PADDING, lambda: not changes(x, other)),
        *masks(attend, x, x, x, mask),
    ]


def samples(attend: Attend, x: Tensor) -> list[Likely]:
    """List misconceptions behind samples that depend on each other."""
    mask = torch.ones(x.size(0), x.size(1), x.size(1), dtype=torch.bool)

    def context(x: Tensor) -> Tensor:
        return context_of(attend, x, x, x, mask)

    def changed() -> Tensor:
        other = x.clone()
        other[0, 0] = -3 * x[0, 0]
        return (context(other) - context(x)).abs().amax(-1) > 1e-12  # (B, T)

    def are_equal() -> bool:
        contexts = context(x[:1].expand_as(x).clone())
        return equal(contexts, contexts[:1].expand_as(contexts))

    return [
        (BATCH_AS_LENGTH, lambda: bool(changed()[1:, 0].all()) and not changed()[:, 1:].any()),
        (BY_SAMPLE, lambda: not are_equal()),
    ]


def heads(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, *, context: Tensor
) -> list[Likely]:
    """List scrambled heads, for each number of heads that divides the width."""
    width = query.size(-1)

    def is_scrambled(heads: int) -> bool:
        q, k, v = (x.reshape(x.size(0), heads, x.size(1), -1) for x in (query, key, value))
        wrong = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
        merged = wrong.transpose(1, 2).flatten(2), wrong.reshape(query.shape)
        return any(equal(context, form) for form in merged)

    counts = [heads for heads in range(2, width + 1) if width % heads == 0]
    return [(SCRAMBLED, lambda: any(map(is_scrambled, counts)))]


def contexts(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, *, context: Tensor
) -> list[Likely]:
    """List programs whose context is wrong, given inputs ``(B, H, ., D)``."""
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
        EXCHANGED: attend(query, value, key, mask),
        NEGATED: attend(-query, key, value, mask),
    }
    for sentence, factor in _factors(width, heads).items():
        wrong[sentence] = attend(query, key, value, mask, scale=factor)
    return [
        (sentence, partial(equal, context, x.transpose(1, 2).flatten(2)))
        for sentence, x in wrong.items()
    ]


def scale(weights: Tensor, query: Tensor, key: Tensor) -> list[Likely]:
    """List wrong factors of the scores, if the scores are a multiple of query times key."""
    heads = 1 if weights.ndim == 3 else weights.size(1)
    width = query.size(-1) // heads
    if heads * width != query.size(-1):
        return []  # projections have changed the width

    def is_near(factor: float) -> bool:
        return math.isclose(_factor(weights, query, key), factor, rel_tol=1e-6)

    return [
        *((name, partial(is_near, factor)) for name, factor in _factors(width, heads).items()),
        (WRONG_DIVISOR, lambda: _factor(weights, query, key) > 0),
    ]


def _factors(width: int, heads: int) -> dict[str, float]:
    """Return the wrong factors of the scores, for heads of a given width."""
    factors = {
        NOT_DIVIDED: 1,
        BY_THE_WIDTH: 1 / width,
        MULTIPLIED: width**0.5,
        WHOLE_WIDTH: (heads * width) ** -0.5,
    }
    return {name: factor for name, factor in factors.items() if factor != width**-0.5}


def _factor(weights: Tensor, query: Tensor, key: Tensor) -> float:
    """Return the factor of query times key in the scores; ``nan`` if there is none."""
    heads = 1 if weights.ndim == 3 else weights.size(1)
    q, k = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (query, key))
    scores = weights.detach().log().view(-1, heads, *weights.shape[-2:])
    products, scores = (x - x.mean(-1, keepdim=True) for x in (q @ k.mT, scores))
    factor = (scores * products).sum() / products.square().sum()
    return factor.item() if equal(scores, factor * products, 1e-6) else math.nan
