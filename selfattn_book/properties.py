"""What any attention must do: properties, to be asked of your own code.

A property takes your function and gives an :class:`~selfattn_book.reasons.answer.Answer`: a *yes*, or
a *no* with its reason. There are six kinds of functions:

* ``attend(query, key, value, mask)`` returns context and weights. It is given queries ``(B, T, 6)``,
  keys and values ``(B, S, 6)``, and a boolean mask ``(B, T, S)``, ``True`` = may attend; it returns
  a context ``(B, T, E)`` and weights ``(B, T, S)`` or, with heads, ``(B, H, T, S)``.
* ``model(x)`` maps a sequence ``(B, T, 6)`` to one output a position, ``(B, T, E)``.
* ``model(source, target)`` returns what is said after each target position. It is given
  a source ``(B, S, W)`` and a shifted target ``(B, T, W)``, hides the future of the target
  by itself, and returns ``(B, T, E)``; one property gives it a mask of the source as well.
  A decoder is such a function too: its memory is the source.
* ``predict(source, length)`` writes ``length`` points, one after the other, ``(B, length, E)``.
* ``table(length, d_model)`` returns one row a position, ``(length, d_model)``.
* ``step()`` is one step of training, and returns nothing of interest.

All numbers are float64, so a module wants ``.double()`` first, without dropout, and sizes differ
wherever the question allows, so that no axis is easily taken for another. A function that stops at
its input, with an error of shape or kind, does not have the property; any other error is yours to
see. Nothing is imported from the code that is to be judged. Everything is counted from 0.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from selfattn_book.reasons import of_attention, of_models
from selfattn_book.reasons.answer import YES, Answer, all_of, question, same
from selfattn_book.reasons.calls import (
    Attend,
    both_of,
    call,
    context_of,
    gradients_of,
    output_of,
    rows_of,
    weights_of,
)

Model = Callable[..., Tensor]
Predict = Callable[[Tensor, int], Tensor]
Table = Callable[[int, int], Tensor]

BATCH, QUERIES, KEYS, WIDTH = 3, 5, 7, 6
SOURCES, TARGETS = 5, 7
ROWS, PLACES = ("sample", "query"), ("sample", "position")


@question
def rows_sum_to_one(attend: Attend) -> Answer:
    r"""Tell whether the weights of every query are shares: none negative, together one.

    .. math:: w_{ij} \ge 0, \qquad \sum_j w_{ij} = 1

    Args:
        attend: is given random numbers and a random mask that leaves every query a key.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> rows_sum_to_one(attend)
        yes
        >>> rows_sum_to_one(lambda q, k, v, mask: attend(q, k, v, mask)[0])
        no: it must return context and weights; got one tensor of shape (3, 5, 6).
        >>> rows_sum_to_one(lambda q, k, v, mask: (v, (q @ k.mT).softmax(dim=1)))
        no: the weights of query 1 of sample 2 sum to 2.68, not to 1.
        A softmax along the queries instead of the keys does this.
    """
    inputs = _cross()
    weights = weights_of(attend, *inputs)
    sums, axes = weights.sum(-1), _axes(weights)
    told = "sum to {got}, not to {wanted}"
    answer = same(
        sums, torch.ones_like(sums), "the weights", axes, told=told
    ) and same(
        weights.clamp(min=0),
        weights,
        "a weight",
        axes,
        told="is {wanted}, and none may be negative",
        tolerance=0,
    )
    return answer.because(*of_attention.of_weights(attend, *inputs))


@question
def future_changes_nothing(attend: Attend) -> Answer:
    """Tell whether, under a causal mask, what comes later changes nothing before.

    Args:
        attend: is given one sequence as query, key and value, twice, with another future each time.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> future_changes_nothing(attend)
        yes
        >>> future_changes_nothing(lambda q, k, v, mask: attend(q, k, v))
        no: the context of query 0 of sample 2 moves by 15 when positions from 1 on change.
        The mask makes no difference: with nothing hidden, the answer is the same.
    """
    x, other = _random(2, BATCH, QUERIES, WIDTH)
    mask = _all_seen(BATCH, QUERIES).tril()

    def context(x: Tensor) -> Tensor:
        return context_of(attend, x, x, x, mask)

    one_too_wide, *others = of_models.of_order(context, x)
    return all_of(
        _past_stays(context, x, other, now) for now in range(1, QUERIES)
    ).because(
        one_too_wide,
        *of_attention.of_masks(attend, x, x, x, mask),
        *of_attention.of_heads(x, x, x, mask, context=context(x)),
        *others,
    )


def _past_stays(context: Model, x: Tensor, other: Tensor, now: int) -> Answer:
    """Tell whether another future, from now on, changes nothing before."""
    changed = torch.cat([x[:, :now], 10 * other[:, now:]], dim=1)
    before, after = context(x)[:, :now], context(changed)[:, :now]
    told = f"moves by {{gap}} when positions from {now} on change"
    return same(after, before, "the context", ROWS, told=told)


@question
def prefixes_keep_their_outputs(model: Model, width: int = WIDTH) -> Answer:
    r"""Tell whether the beginning of a sequence has the same outputs alone as within the whole.

    .. math:: f(x_1, \dots, x_t) = f(x_1, \dots, x_T)_{1, \dots, t} \qquad (t \le T)

    Args:
        model: is given five positions, and the first one, two, three and four of them.
        width: of its input.

    Example:
        >>> prefixes_keep_their_outputs(lambda x: x.cumsum(1))
        yes
        >>> prefixes_keep_their_outputs(nn.Linear(2, 3).double(), width=2)
        yes
        >>> prefixes_keep_their_outputs(lambda x: x.cumsum(1) / x.size(1))
        no: the output of position 0 of sample 0 moves by 1.85 when what comes after it is left out.
        It does not look ahead, but it knows the length, as a mean over all positions does.
        >>> prefixes_keep_their_outputs(nn.Linear(6, 3))
        no: it stops at float64 and takes float32: call `.double()` on your module first.
        It said RuntimeError: ...
    """
    x = _random(BATCH, QUERIES, width)
    whole = output_of(model, x, shape=x.shape[:2])
    told = "moves by {gap} when what comes after it is left out"
    return all_of(
        same(
            output_of(model, x[:, :t]),
            whole[:, :t],
            "the output",
            PLACES,
            told=told,
        )
        for t in range(1, QUERIES)
    ).because(*of_models.of_order(model, x))


@question
def rows_are_normalized(model: Model, width: int = WIDTH) -> Answer:
    r"""Tell whether every output vector has mean 0 and mean square 1, for large inputs.

    .. math:: \frac1D \sum_j y_j = 0, \qquad \frac1D \sum_j y_j^2 = 1

    A normalization does this before it is trained, and so does whatever ends in one.

    Args:
        model: is given one batch of large numbers, beside which ``eps`` hardly counts, three
            times: as it is, a thousand times as large, and with 1000 added.
            The mean square may miss 1 by a thousandth.
        width: of its input.

    Example:
        >>> norm = nn.LayerNorm(6).double()
        >>> rows_are_normalized(norm)
        yes
        >>> rows_are_normalized(lambda x: x + norm(x))
        no: the output of position 0 of sample 0 has mean -81.7, not 0.
        The input comes through: it is added behind the norm, as pre-norm code does.
        >>> rows_are_normalized(lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True))
        no: the output of position ... has mean square 0.833, not 1.
        It divides by the deviation of `torch.std`; `correction=0` is meant.
        >>> rows_are_normalized(nn.LayerNorm(9).double(), width=9)
        yes
        >>> rows_are_normalized(nn.LayerNorm(2).double(), width=2)
        yes
    """
    x = 100 * _random(BATCH, QUERIES, width)
    outputs = [
        output_of(model, y, shape=x.shape[:2]) for y in (x, 1000 * x, x + 1000)
    ]
    return all_of(
        answer
        for y in outputs
        for answer in (
            _every(y.mean(-1), 0, "has mean {got}, not 0", 1e-9),
            _every(y.square().mean(-1), 1, "has mean square {got}, not 1", 1e-3),
        )
    ).because(*of_models.of_norms(model, x))


def _every(got: Tensor, wanted: float, told: str, tolerance: float) -> Answer:
    """Tell whether every output has a number that is wanted of it."""
    numbers = torch.full_like(got, wanted)
    return same(got, numbers, "the output", PLACES, told=told, tolerance=tolerance)


@question
def padding_is_silent(attend: Attend) -> Answer:
    """Tell whether sentences of 5, 2 and 3 words, padded to 5, come out as if each were alone.

    Args:
        attend: is given the padded batch, and then each sentence by itself. Padding holds
            random numbers, and no query may attend to it.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> padding_is_silent(attend)
        yes
        >>> padding_is_silent(lambda q, k, v, mask: attend(q, k, v, ~mask))
        no: the context of word 1 of sample 1 moves by 3 when its sentence stands alone.
        The mask is inverted: what may be seen is hidden, and the rest is seen.
    """
    x, lengths = _random(BATCH, QUERIES, WIDTH), torch.tensor([5, 2, 3])
    real = (torch.arange(QUERIES) < lengths[:, None])[:, None].expand(
        -1, QUERIES, -1
    )
    together = context_of(attend, x, x, x, real)
    told = "of sample {} moves by {{gap}} when its sentence stands alone"

    def alone(sentence: Tensor) -> Tensor:
        words = sentence[None]
        return context_of(attend, words, words, words, _all_seen(1, len(sentence)))[
            0
        ]

    return all_of(
        same(
            together[i, :n],
            alone(x[i, :n]),
            "the context",
            ("word",),
            told=told.format(i),
        )
        for i, n in enumerate(lengths.tolist())
    ).because(*of_attention.of_padding(attend, x, real))


@question
def samples_are_independent(attend: Attend) -> Answer:
    """Tell whether every sample of a batch comes out as if it were alone.

    Args:
        attend: is given a batch of three sequences of one length, and then each by itself.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> samples_are_independent(attend)
        yes
        >>> samples_are_independent(lambda q, k, v, mask: attend(q - q.mean(0), k, v))
        no: the context of query 3 of sample 1 moves by 2.47 when its sample is alone.
    """
    x, one = _random(BATCH, QUERIES, WIDTH), _all_seen(1, QUERIES)
    together = context_of(attend, x, x, x, _all_seen(BATCH, QUERIES))
    alone = [context_of(attend, s, s, s, one) for s in x.split(1)]
    told = "moves by {gap} when its sample is alone"
    answer = same(together, torch.cat(alone), "the context", ROWS, told=told)
    return answer.because(*of_attention.of_samples(attend, x))


@question
def order_of_keys_is_invisible(attend: Attend) -> Answer:
    """Tell whether the keys can be shuffled, their values and the mask with them, unnoticed.

    Args:
        attend: is given random numbers and a random mask, in two orders of the keys.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> order_of_keys_is_invisible(attend)
        yes
        >>> order_of_keys_is_invisible(lambda q, k, v, mask: attend(q, k.cumsum(1), v))
        no: the context of query 2 of sample 1 moves by 1.1 when the keys are shuffled.
    """
    query, key, value, mask = _cross()
    order = [3, 6, 0, 5, 1, 4, 2]
    straight = context_of(attend, query, key, value, mask)
    shuffled = context_of(
        attend, query, key[:, order], value[:, order], mask[..., order]
    )
    told = "moves by {gap} when the keys are shuffled"
    return same(shuffled, straight, "the context", ROWS, told=told).because(
        *of_attention.of_heads(query, key, value, mask, context=straight)
    )


@question
def blind_rows_are_silent(attend: Attend) -> Answer:
    """Tell whether a query that may see nothing gets weights 0, and spoils no gradient.

    Args:
        attend: is given random numbers and a mask in which the second query of every sample is blind.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> blind_rows_are_silent(attend)
        yes
        >>> blind_rows_are_silent(lambda q, k, v, mask: attend(q, k, v))
        no: a weight of the blind query 1 of sample 0 is 0.455, not 0.
        The mask makes no difference: with nothing hidden, the answer is the same.
    """
    query, key, value, mask = _cross()
    mask[:, 1] = False
    inputs = [x.requires_grad_() for x in (query, key, value)]
    context, weights = both_of(attend, query, key, value, mask)
    blind = weights[..., 1, :]  # (B, S) or (B, H, S)
    what, axes = "a weight of the blind query 1", ("sample", "head")
    silent = same(
        blind, torch.zeros_like(blind), what, axes[: blind.ndim - 1], tolerance=0
    )
    return (silent and _spoils_nothing(context, inputs)).because(
        *of_attention.of_blind_rows(blind),
        *of_attention.of_masks(attend, query, key, value, mask),
    )


def _spoils_nothing(context: Tensor, inputs: list[Tensor]) -> Answer:
    """Tell whether a context is finite, and its gradients, too."""
    repaired = "A nan was replaced behind the softmax; the way back still leads through it."
    names = "query", "key", "value"
    gradients = zip(gradients_of(context, inputs), names, strict=True)
    return _is_finite(context, "the context", "query") and all_of(
        _is_finite(gradient, "the gradient", name) for gradient, name in gradients
    ).because((repaired, lambda: True))


def _is_finite(x: Tensor, what: str, of: str) -> Answer:
    finite = x.nan_to_num(posinf=0, neginf=0)
    return same(x, finite, what, ("sample", of), told="is {got}", tolerance=0)


@question
def scores_have_unit_variance(attend: Attend, d_model: int = WIDTH) -> Answer:
    r"""Tell whether scores keep the variance 1 of the entries of queries and keys, within a tenth.

    Scores are recovered from the weights: along a row, they differ from :math:`\log w_{ij}`
    by a constant.

    Args:
        attend: is given normal random numbers, of variance 1, and a mask that hides nothing.
        d_model: width of queries, keys and values.

    Source:
        :cite:t:`vaswani2017attention`, section 3.2.1.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> scores_have_unit_variance(attend), scores_have_unit_variance(attend, d_model=2)
        (yes, yes)
        >>> scores_have_unit_variance(lambda q, k, v, mask: attend(6**0.5 * q, k, v))
        no: the scores have variance 6.22, not 1.
        The scores are not divided by the root of the width.
    """
    query, key, value = _random(3, 101, 31, d_model)
    weights = weights_of(attend, query, key, value, _all_seen(101, 31))
    variance = weights.detach().log().var(dim=-1).mean().item()
    if math.isclose(variance, 1, rel_tol=0.1):
        return YES
    no = Answer("mathematics", f"the scores have variance {variance:.3g}, not 1.")
    return no.because(*of_attention.of_scale(weights, query, key))


@question
def same_answer_twice(attend: Attend) -> Answer:
    """Tell whether the same question has the same answer the next time, to the last bit.

    Args:
        attend: is given the same random numbers and mask twice.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> same_answer_twice(attend)
        yes
        >>> same_answer_twice(lambda q, k, v, mask: attend(q, k, F.dropout(v)))
        no: the context of query ... of sample ... moves by ... when it is asked again.
        From one seed they agree, so it is chance: dropout that was not switched off (`.eval()`),
        or a module that is made in every call.
    """

    def answer() -> tuple[Tensor, Tensor]:
        return both_of(attend, *_cross())

    told, names = (
        "moves by {gap} when it is asked again",
        ("the context", "a weight"),
    )
    return all_of(
        same(again, once, name, ROWS, told=told, tolerance=0)
        for once, again, name in zip(answer(), answer(), names, strict=True)
    ).because(*of_models.of_chance(answer))


@question
def equals_pytorch(attend: Attend, num_heads: int = 1) -> Answer:
    """Tell whether the context is that of PyTorch's own attention function.

    Args:
        attend: is given random numbers, and a random mask that leaves every query a key.
            With several heads, each takes its part of the width, and the contexts of all
            heads are put side by side again.
        num_heads: 1, 2, 3 or 6.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> equals_pytorch(attend)
        yes
        >>> equals_pytorch(attend, num_heads=2)
        no: the context of query 0 of sample 1 is off by 0.795.
    """
    query, key, value, mask = _cross()
    context = context_of(attend, query, key, value, mask)
    q, k, v = (
        x.unflatten(-1, (num_heads, -1)).transpose(1, 2)
        for x in (query, key, value)
    )
    seen = mask[:, None]
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    expected = expected.transpose(1, 2).flatten(2)
    return same(
        context, expected, "the context", ROWS, told="is off by {gap}"
    ).because(
        *of_attention.of_context(q, k, v, seen, context=context),
        *of_attention.of_heads(query, key, value, mask, context=context),
    )


@question
def equals_the_formula(table: Table, d_model: int = 8) -> Answer:
    r"""Tell whether a table of positions is the sines and cosines of the Transformer, entry by entry.

    .. math::
       P_{p,\,2i} = \sin\!\big(p / 10000^{2i/D}\big), \qquad
       P_{p,\,2i+1} = \cos\!\big(p / 10000^{2i/D}\big)

    Args:
        table: is asked for 13 positions.
        d_model: width of a row; an odd one ends on a sine.

    Source:
        :cite:t:`vaswani2017attention`, section 3.5.

    Example:
        >>> from selfattn_book.positions import sinusoidal_encoding
        >>> equals_the_formula(sinusoidal_encoding), equals_the_formula(sinusoidal_encoding, d_model=5)
        (yes, yes)
        >>> equals_the_formula(lambda n, d: torch.zeros(n, d))
        no: the entry of column ... of position 0 is 0, not 1.
        >>> equals_the_formula(lambda n, d: sinusoidal_encoding(n + 1, d)[1:])
        no: the entry of column 0 of position 12 is 0.42, not -0.537.
        The positions begin at 1, not at 0.
    """
    rows = rows_of(table, 13, d_model)
    formula = [
        (math.sin, math.cos)[c % 2](p / 10000 ** (2 * (c // 2) / d_model))
        for p in range(13)
        for c in range(d_model)
    ]
    expected = torch.tensor(formula, dtype=torch.float64).view(13, d_model)
    axes = "position", "column"
    answer = same(rows, expected, "the entry", axes, tolerance=1e-6)
    return answer.because(*of_models.of_table(rows, d_model))


@question
def positions_are_told_apart(table: Table, d_model: int = 16) -> Answer:
    """Tell whether no two positions of a hundred come nearer than half the least single step.

    Args:
        table: is asked for 100 positions.
        d_model: width of a row.

    Example:
        >>> from selfattn_book.positions import sinusoidal_encoding
        >>> positions_are_told_apart(sinusoidal_encoding)
        yes
        >>> positions_are_told_apart(sinusoidal_encoding, d_model=2)
        no: the rows of positions ... and ... are 0.0177 apart, and half the least step is 0.479.
        >>> positions_are_told_apart(lambda n, d: torch.ones(n, d))
        no: the rows of positions 0 and 1 are 0 apart, and half the least step is 0.
        All rows are equal.
    """
    rows = rows_of(table, 100, d_model)
    distances = torch.linalg.vector_norm(rows[:, None] - rows, dim=-1)
    others = distances.masked_fill(torch.eye(100, dtype=torch.bool), torch.inf)
    least, half = others.min().item(), distances.diagonal(1).min().item() / 2
    if least > half:
        return YES
    i, j = divmod(int(others.argmin()), 100)
    told = f"the rows of positions {i} and {j} are {least:.3g} apart"
    no = Answer("mathematics", f"{told}, and half the least step is {half:.3g}.")
    return no.because(
        ("All rows are equal.", lambda: bool((rows == rows[0]).all()))
    )


@question
def every_parameter_moves(model: nn.Module, step: Callable[[], object]) -> Answer:
    """Tell whether one step of training moves every parameter of a model.

    A parameter without effect does not move, or by rounding only, which Adam enlarges: a unit
    that is never active, or the bias of a key map. Weight decay moves even these.

    Args:
        model: whose parameters are compared before and after.
        step: one step of training.

    Example:
        >>> model = nn.Linear(2, 1)
        >>> def step():
        ...     model(torch.ones(1, 2)).sum().backward()
        ...     torch.optim.SGD(model.parameters(), lr=0.1).step()
        >>> every_parameter_moves(model, step)
        yes
        >>> every_parameter_moves(nn.Linear(2, 1), step)
        no: 2 of 2 parameters do not move: weight, bias. No gradient reaches them in this step.
    """
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    call(step)
    after = dict(model.named_parameters())
    still = {name: p for name, p in after.items() if torch.equal(before[name], p)}
    if not still:
        return YES
    told = (
        f"{len(still)} of {len(after)} parameters do not move: {', '.join(still)}."
    )
    has_gradient = [
        p.grad is not None and bool(p.grad.any()) for p in still.values()
    ]
    return Answer("mathematics", told).because(
        (
            "They have gradients: the optimizer does not know them.",
            lambda: all(has_gradient),
        ),
        ("No gradient reaches them in this step.", lambda: not any(has_gradient)),
    )


@question
def prefixes_agree(model: Model, width: int = 2) -> Answer:
    r"""Tell whether a model says the same of a beginning, whether or not the rest is there.

    .. math:: f(y_1, \dots, y_T)_t = f(y_1, \dots, y_t)_t

    If it does, what was predicted does not change when the target grows. It is
    :func:`prefixes_keep_their_outputs`, with a source that stays.

    Args:
        model: is given a source with a target of 5 points, and with the first 1 to 4 of them.
        width: of a point.

    Example:
        >>> prefixes_agree(lambda source, target: target.cumsum(1))
        yes
        >>> prefixes_agree(lambda source, target: target - target.mean(1, keepdim=True))
        no: the output of position 0 of sample 1 moves by 2.18 when what comes after it is left out.
        Every position sees every other, as without a causal mask.
    """
    source = _pair(width)[0]
    return prefixes_keep_their_outputs(lambda target: model(source, target), width)


@question
def source_padding_is_silent(model: Model, width: int = 2) -> Answer:
    """Tell whether sources of 5, 2 and 3 points, padded to 5, are answered as if each were alone.

    Args:
        model: is given the padded batch and its mask, boolean, ``(B, 1, 1, S)``, ``True`` = may
            be seen; and then each source by itself, with a mask that hides nothing.
            Padding holds random numbers.
        width: of a point.

    Example:
        >>> heard = lambda source, target, real: target + (source * real[:, 0, 0, :, None]).sum(1, True)
        >>> source_padding_is_silent(heard)
        yes
        >>> source_padding_is_silent(lambda source, target, real: target + source.sum(1, True))
        no: the output of position 0 of sample 1 moves by 1.23 when its source stands without padding.
        The mask makes no difference: with nothing hidden, the answer is the same.
    """
    (source, target), lengths = _pair(width), torch.tensor([5, 2, 3])
    real = (torch.arange(SOURCES) < lengths[:, None])[:, None, None]  # (B, 1, 1, S)
    together = output_of(model, source, target, real, shape=target.shape[:2])

    def alone(i: int, n: int) -> Tensor:
        seen = torch.ones(1, 1, 1, n, dtype=torch.bool)
        return output_of(model, source[i : i + 1, :n], target[i : i + 1], seen)[0]

    told = "of sample {} moves by {{gap}} when its source stands without padding"
    return all_of(
        same(
            together[i],
            alone(i, n),
            "the output",
            ("position",),
            told=told.format(i),
        )
        for i, n in enumerate(lengths.tolist())
    ).because(*of_models.of_source_padding(model, source, target, real))


@question
def source_is_heard(model: Model, width: int = 2) -> Answer:
    """Tell whether every point of the source has a say in every output.

    An output that moves by less than :math:`10^{-9}` is deaf.

    Args:
        model: is given a source and a target, and then the same with one source point negated.
        width: of a point.

    Example:
        >>> source_is_heard(lambda source, target: target + source.mean(1, keepdim=True))
        yes
        >>> source_is_heard(lambda source, target: target + source[:, -1:])
        no: the output of position 0 of sample 0 moves by 0 when source point 0 is negated.
        >>> first_entry = torch.tensor([1.0, 0.0])   # one entry that moves is enough
        >>> source_is_heard(lambda source, target: target + source.mean(1, True) * first_entry)
        yes
    """
    source, target = _pair(width)
    before = output_of(model, source, target, shape=target.shape[:2])
    moved = []
    for place in range(SOURCES):
        changed = source.clone()
        changed[:, place] = -source[:, place]
        after = output_of(model, changed, target, shape=target.shape[:2])
        moved.append((after - before).abs().amax(-1))
    return _is_heard(torch.stack(moved, dim=-1))  # (B, T, S)


def _is_heard(moved: Tensor) -> Answer:
    deaf = ~(moved > 1e-9)
    if not deaf.any():
        return YES
    b, t, s = deaf.nonzero()[0].tolist()
    told = f"the output of position {t} of sample {b} moves by {moved[b, t, s]:.3g}"
    no = Answer("mathematics", f"{told} when source point {s} is negated.")
    alone = "No output hears any of the source: is the context of the memory made, and used?"
    return no.because((alone, lambda: bool(deaf.all())))


@question
def cache_changes_nothing(cached: Predict, anew: Predict, width: int = 2) -> Answer:
    """Tell whether a prediction with a cache is the one that computes everything at every step.

    Args:
        cached: is asked for 7 points after each of three sources, one after the other,
            so that what it keeps of one can show in the next.
        anew: the same prediction without a cache; it is asked the same.
        width: of a point.

    Example:
        >>> repeat = lambda source, length: source.mean(1, keepdim=True).expand(-1, length, -1)
        >>> cache_changes_nothing(repeat, repeat)
        yes
        >>> cache_changes_nothing(lambda source, length: 2 * repeat(source, length), repeat)
        no: the prediction of point 0 of sample 0 is off by 1.23 at start 0.
        >>> cache_changes_nothing(lambda source, length: repeat(source, length) + 1e-6, repeat)
        no: the prediction of point 0 of sample ... is off by 1e-06 at start 0.
    """
    source, _ = _pair(width)
    starts = source, -source, source[:, 1:]
    return all_of(
        _same_points(cached, anew, i, start) for i, start in enumerate(starts)
    )


def _same_points(
    cached: Predict, anew: Predict, asked: int, start: Tensor
) -> Answer:
    points = output_of(cached, start, TARGETS)
    expected = output_of(anew, start, TARGETS)
    told = f"is off by {{gap}} at start {asked}"
    return same(  # each step hands its rounding on to the next
        points,
        expected,
        "the prediction",
        ("sample", "point"),
        told=told,
        tolerance=1e-9,
    ).because(*of_models.of_caches(cached, start, asked, points, expected))


def _random(*shape: int) -> Tensor:
    """Draw normal numbers, the same whenever the shape is the same."""
    chance = torch.Generator().manual_seed(0)
    return torch.randn(*shape, generator=chance, dtype=torch.float64)


def _cross() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return queries, keys, values, and a mask that leaves every query a key."""
    numbers = _random(BATCH, QUERIES + 2 * KEYS, WIDTH)
    query, key, value = numbers.split([QUERIES, KEYS, KEYS], dim=1)
    mask = _random(BATCH, QUERIES, KEYS) > 0
    mask[..., 0] |= ~mask.any(-1)
    return query.clone(), key.clone(), value.clone(), mask


def _pair(width: int) -> tuple[Tensor, Tensor]:
    """Draw a source and a target."""
    points = _random(BATCH, SOURCES + TARGETS, width)
    source, target = points.split([SOURCES, TARGETS], dim=1)
    return source.clone(), target.clone()


def _all_seen(batch: int, length: int) -> Tensor:
    return torch.ones(batch, length, length, dtype=torch.bool)


def _axes(weights: Tensor) -> tuple[str, ...]:
    """Name what the rows of weights are counted by."""
    return ROWS if weights.ndim == 3 else ("sample", "head", "query")
