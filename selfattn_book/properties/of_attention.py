"""Properties of an attention function.

Each takes ``attend(query, key, value, mask)``, which returns context and weights, and gives an
:class:`.Answer`: yes, or no with a reason. The inputs are queries ``(B, T, 6)``, keys and values
``(B, S, 6)`` and a boolean mask ``(B, T, S)``, ``True`` = may attend; the results are a context
``(B, T, E)`` and weights ``(B, T, S)`` or, with heads, ``(B, H, T, S)``.

All numbers are float64, so a module needs ``.double()`` first, and no dropout. Code that raises an
error because of its input does not have the property; other errors reach the caller. Nothing is
imported from the code under test, and all indices begin at 0.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from selfattn_book.properties import explain_attention as explain
from selfattn_book.properties.answer import YES, Answer, all_of, question, same
from selfattn_book.properties.calls import Attend, both_of, context_of, gradients_of, weights_of
from selfattn_book.properties.explain_models import chance, order
from selfattn_book.properties.inputs import (
    BATCH,
    D_MODEL,
    QUERIES,
    cross_attention,
    normal,
    unmasked,
)

ROWS = ("sample", "query")


@question
def rows_sum_to_one(attend: Attend) -> Answer:
    r"""Check that the weights of each query are nonnegative and sum to 1.

    .. math:: w_{ij} \ge 0, \qquad \sum_j w_{ij} = 1

    Args:
        attend: attention function; it is given a mask in which each query may attend to some key.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> rows_sum_to_one(attend)
        yes
        >>> rows_sum_to_one(lambda q, k, v, mask: (v, (q @ k.mT).softmax(dim=1)))
        no: the weights of query 1 of sample 2 sum to 2.68, not to 1.
        This is a softmax along the queries, not along the keys.
    """
    inputs = cross_attention()
    weights = weights_of(attend, *inputs)
    sums = weights.sum(-1)
    axes = ROWS if weights.ndim == 3 else ("sample", "head", "query")
    message, negative = "sum to {got}, not to {wanted}", "is {wanted}, and none may be negative"
    answer = same(sums, torch.ones_like(sums), "the weights", axes, message=message) and same(
        weights.clamp(min=0), weights, "a weight", axes, message=negative, tolerance=0
    )
    return answer.because(*explain.weights(attend, *inputs))


@question
def is_causal(attend: Attend) -> Answer:
    """Check that, under a causal mask, no context depends on a later position.

    Args:
        attend: attention function; it is given self-attention under a causal mask, with different
            continuations of the sequence.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> is_causal(attend)
        yes
        >>> is_causal(lambda q, k, v, mask: attend(q, k, v))
        no: the context of query 0 of sample 2 changes by 15 when positions from 1 on change.
        The mask has no effect: without it, the result is the same.
    """
    x, other = normal(2, BATCH, QUERIES, D_MODEL)
    mask = unmasked(BATCH, QUERIES).tril()

    def context(x: Tensor) -> Tensor:
        return context_of(attend, x, x, x, mask)

    too_wide, *others = order(context, x)
    return all_of(_past_is_equal(context, x, other, now) for now in range(1, QUERIES)).because(
        too_wide,
        *explain.masks(attend, x, x, x, mask),
        *explain.heads(x, x, x, mask, context=context(x)),
        *others,
    )


def _past_is_equal(
    context: Callable[[Tensor], Tensor], x: Tensor, other: Tensor, now: int
) -> Answer:
    """Compare the first contexts for two continuations of a sequence."""
    changed = torch.cat([x[:, :now], 10 * other[:, now:]], dim=1)
    before, after = context(x)[:, :now], context(changed)[:, :now]
    message = f"changes by {{gap}} when positions from {now} on change"
    return same(after, before, "the context", ROWS, message=message)


@question
def padding_has_no_effect(attend: Attend) -> Answer:
    """Check that each sentence in a padded batch has the same context as by itself.

    Args:
        attend: attention function; it is given sentences of 5, 2 and 3 words, padded with random
            numbers to 5 words and masked, and then each sentence by itself.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> padding_has_no_effect(attend)
        yes
        >>> padding_has_no_effect(lambda q, k, v, mask: attend(q, k, v, ~mask))
        no: the context of word 1 of sample 1 changes by 3 when its sentence is by itself.
        The mask is inverted: `True` is taken as hidden.
    """
    x, lengths = normal(BATCH, QUERIES, D_MODEL), torch.tensor([5, 2, 3])
    mask = (torch.arange(QUERIES) < lengths[:, None])[:, None].expand(-1, QUERIES, -1)
    together = context_of(attend, x, x, x, mask)

    def same_alone(i: int, n: int) -> Answer:
        sentence = x[i : i + 1, :n]
        alone = context_of(attend, sentence, sentence, sentence, unmasked(1, n))[0]
        message = f"of sample {i} changes by {{gap}} when its sentence is by itself"
        return same(together[i, :n], alone, "the context", ("word",), message=message)

    answers = (same_alone(i, n) for i, n in enumerate(lengths.tolist()))
    return all_of(answers).because(*explain.padding(attend, x, mask))


@question
def samples_are_independent(attend: Attend) -> Answer:
    """Check that each sample of a batch has the same context as by itself.

    Args:
        attend: attention function; it is given a batch of three sequences of the same length, and
            then each by itself.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> samples_are_independent(attend)
        yes
        >>> samples_are_independent(lambda q, k, v, mask: attend(q - q.mean(0), k, v))
        no: the context of query 3 of sample 1 changes by 2.47 when its sample is by itself.
    """
    x, one = normal(BATCH, QUERIES, D_MODEL), unmasked(1, QUERIES)
    together = context_of(attend, x, x, x, unmasked(BATCH, QUERIES))
    alone = torch.cat([context_of(attend, s, s, s, one) for s in x.split(1)])
    message = "changes by {gap} when its sample is by itself"
    answer = same(together, alone, "the context", ROWS, message=message)
    return answer.because(*explain.samples(attend, x))


@question
def is_invariant_to_key_order(attend: Attend) -> Answer:
    """Check that permuting keys, values and mask together changes no context.

    Args:
        attend: attention function; it is given the keys in two orders.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> is_invariant_to_key_order(attend)
        yes
        >>> is_invariant_to_key_order(lambda q, k, v, mask: attend(q, k.cumsum(1), v))
        no: the context of query 2 of sample 1 changes by 1.1 when the keys are permuted.
    """
    query, key, value, mask = cross_attention()
    permutation = [3, 6, 0, 5, 1, 4, 2]
    expected = context_of(attend, query, key, value, mask)
    permuted = key[:, permutation], value[:, permutation], mask[..., permutation]
    context = context_of(attend, query, *permuted)
    message = "changes by {gap} when the keys are permuted"
    return same(context, expected, "the context", ROWS, message=message).because(
        *explain.heads(query, key, value, mask, context=expected)
    )


@question
def fully_masked_rows_are_zero(attend: Attend) -> Answer:
    """Check that a fully masked row has weights 0, and that all gradients are finite.

    Args:
        attend: attention function; it is given a mask in which query 1 of each sample may attend
            to no key.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> fully_masked_rows_are_zero(attend)
        yes
        >>> fully_masked_rows_are_zero(lambda q, k, v, mask: attend(q, k, v))
        no: a weight of the fully masked query 1 of sample 0 is 0.455, not 0.
        The mask has no effect: without it, the result is the same.
    """
    query, key, value, mask = cross_attention()
    mask[:, 1] = False
    inputs = [x.requires_grad_() for x in (query, key, value)]
    context, weights = both_of(attend, query, key, value, mask)
    row = weights[..., 1, :]  # (B, S) or (B, H, S)
    what, axes = "a weight of the fully masked query 1", ("sample", "head")
    zero = same(row, torch.zeros_like(row), what, axes[: row.ndim - 1], tolerance=0)
    return (zero and _gradients_are_finite(context, inputs)).because(
        *explain.fully_masked_rows(row), *explain.masks(attend, query, key, value, mask)
    )


def _gradients_are_finite(context: Tensor, inputs: list[Tensor]) -> Answer:
    """Check that a context and its gradients are finite."""
    names = "query", "key", "value"
    gradients = zip(gradients_of(context, inputs), names, strict=True)
    return _is_finite(context, "the context", "query") and all_of(
        _is_finite(gradient, "the gradient", name) for gradient, name in gradients
    ).because((explain.REPLACED_NAN, lambda: True))


def _is_finite(x: Tensor, what: str, axis: str) -> Answer:
    finite = x.nan_to_num(posinf=0, neginf=0)
    return same(x, finite, what, ("sample", axis), message="is {got}", tolerance=0)


@question
def scores_have_unit_variance(attend: Attend, d_model: int = D_MODEL) -> Answer:
    r"""Check that scores of standard normal queries and keys have variance 1, within a tenth.

    The scores are recovered from the weights: in each row, they differ from :math:`\log w_{ij}`
    by a constant.

    Args:
        attend: attention function; it is given standard normal numbers and no masked key.
        d_model: dimension of queries, keys and values.

    Source:
        :cite:t:`vaswani2017attention`, section 3.2.1.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> scores_have_unit_variance(attend)
        yes
        >>> scores_have_unit_variance(lambda q, k, v, mask: attend(6**0.5 * q, k, v))
        no: the scores have variance 6.22, not 1.
        The scores are not divided by the root of the width.
    """
    query, key, value = normal(3, 101, 31, d_model)
    weights = weights_of(attend, query, key, value, unmasked(101, 31))
    variance = weights.detach().log().var(dim=-1).mean().item()
    if math.isclose(variance, 1, rel_tol=0.1):
        return YES
    no = Answer("mathematics", f"the scores have variance {variance:.3g}, not 1.")
    return no.because(*explain.scale(weights, query, key))


@question
def is_deterministic(attend: Attend) -> Answer:
    """Check that two calls with the same inputs give the same numbers, bit for bit.

    Args:
        attend: attention function; it is given the same inputs twice.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> is_deterministic(attend)
        yes
        >>> is_deterministic(lambda q, k, v, mask: attend(q, k, F.dropout(v)))
        no: the context of query ... of sample ... changes by ... in a second call.
        From one seed they agree, so the difference is random: active dropout (call `.eval()`),
        or a module that is made in every call.
    """

    def compute() -> tuple[Tensor, Tensor]:
        return both_of(attend, *cross_attention())

    results = zip(compute(), compute(), ("the context", "a weight"), strict=True)
    message = "changes by {gap} in a second call"
    return all_of(
        same(second, first, name, ROWS, message=message, tolerance=0)
        for first, second, name in results
    ).because(*chance(compute))


@question
def equals_pytorch(attend: Attend, num_heads: int = 1) -> Answer:
    """Check that the context equals that of PyTorch's attention function.

    Args:
        attend: attention function; it is given a mask in which each query may attend to some key.
        num_heads: number of heads, 1, 2, 3 or 6. Each head takes its part of the 6 columns, and
            the contexts of all heads are concatenated.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> equals_pytorch(attend)
        yes
        >>> equals_pytorch(attend, num_heads=2)
        no: the context of query 0 of sample 1 is off by 0.795.
    """
    query, key, value, mask = cross_attention()
    context = context_of(attend, query, key, value, mask)
    q, k, v = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (query, key, value))
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
    expected = expected.transpose(1, 2).flatten(2)
    return same(context, expected, "the context", ROWS, message="is off by {gap}").because(
        *explain.contexts(q, k, v, mask[:, None], context=context),
        *explain.heads(query, key, value, mask, context=context),
    )
