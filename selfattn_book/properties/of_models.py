"""Properties of models.

Each gives an :class:`.Answer`. There are four kinds of functions:

* ``model(x)`` maps a sequence ``(B, T, 6)`` to an output for each position, ``(B, T, E)``.
* ``model(source, target)`` maps a source ``(B, S, W)`` and a shifted target ``(B, T, W)`` to
  ``(B, T, E)``, with its own causal mask; one property adds a padding mask of the source. A
  decoder is such a function too: its memory is the source.
* ``predict(source, length)`` generates ``length`` points, ``(B, length, E)``.
* ``step()`` is one training step.

All numbers are float64, as in :mod:`selfattn_book.properties.of_attention`.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from selfattn_book.properties import explain_models as explain
from selfattn_book.properties.answer import YES, Answer, all_of, question, same
from selfattn_book.properties.calls import call, output_of
from selfattn_book.properties.inputs import (
    BATCH,
    D_MODEL,
    QUERIES,
    SOURCES,
    TARGETS,
    normal,
    source_and_target,
)

Model = Callable[..., Tensor]
Predict = Callable[[Tensor, int], Tensor]
AXES = ("sample", "position")
NOT_IN_OPTIMIZER = "They have gradients: the optimizer does not know them."
NO_GRADIENT = "They have no gradient in this step."
SOURCE_UNUSED = "No output depends on the source: is there cross-attention, and is it used?"


@question
def is_prefix_consistent(model: Model, width: int = D_MODEL) -> Answer:
    r"""Check that a prefix of a sequence has the same outputs alone as within the sequence.

    .. math:: f(x_1, \dots, x_t) = f(x_1, \dots, x_T)_{1, \dots, t} \qquad (t \le T)

    Args:
        model: function of a sequence; it is given 5 positions, and the first 1, 2, 3 and 4.
        width: dimension of its input.

    Example:
        >>> is_prefix_consistent(lambda x: x.cumsum(1))
        yes
        >>> is_prefix_consistent(lambda x: x.cumsum(1) / x.size(1))
        no: the output of position 0 of sample 0 changes by 1.85 when what follows is left out.
        No output depends on the future, but on the length, as a mean over all positions does.
    """
    x = normal(BATCH, QUERIES, width)
    whole = output_of(model, x, shape=x.shape[:2])
    message = "changes by {gap} when what follows is left out"
    return all_of(
        same(output_of(model, x[:, :t]), whole[:, :t], "the output", AXES, message=message)
        for t in range(1, QUERIES)
    ).because(*explain.order(model, x))


@question
def rows_are_normalized(model: Model, width: int = D_MODEL) -> Answer:
    r"""Check that each output vector has mean 0 and mean square 1, for large inputs.

    .. math:: \frac1D \sum_j y_j = 0, \qquad \frac1D \sum_j y_j^2 = 1

    An untrained normalization has this property, and so has any model that ends with one.

    Args:
        model: function of a sequence; it is given large numbers, for which ``eps`` is negligible:
            unchanged, multiplied by 1000, and with 1000 added. The mean square may differ from 1
            by a thousandth.
        width: dimension of its input.

    Example:
        >>> norm = nn.LayerNorm(6).double()
        >>> rows_are_normalized(norm)
        yes
        >>> rows_are_normalized(lambda x: x + norm(x))
        no: the output of position 0 of sample 0 has mean -81.7, not 0.
        The input comes through: it is added after the norm, as pre-norm code does.
    """
    x = 100 * normal(BATCH, QUERIES, width)
    outputs = [output_of(model, y, shape=x.shape[:2]) for y in (x, 1000 * x, x + 1000)]
    return all_of(
        answer
        for y in outputs
        for answer in (
            _every(y.mean(-1), 0, "has mean {got}, not 0", 1e-9),
            _every(y.square().mean(-1), 1, "has mean square {got}, not 1", 1e-3),
        )
    ).because(*explain.norms(model, x))


def _every(got: Tensor, wanted: float, message: str, tolerance: float) -> Answer:
    """Check that every output has the same wanted number."""
    numbers = torch.full_like(got, wanted)
    return same(got, numbers, "the output", AXES, message=message, tolerance=tolerance)


@question
def every_parameter_is_updated(model: nn.Module, step: Callable[[], object]) -> Answer:
    """Check that one training step changes every parameter of a model.

    A parameter without effect does not change, or only by rounding error, which Adam enlarges: a
    unit that is never active, or the bias of a key projection. Weight decay changes even these.

    Args:
        model: module whose parameters are compared before and after the step.
        step: function that makes one training step.

    Example:
        >>> model = nn.Linear(2, 1)
        >>> def step():
        ...     model(torch.ones(1, 2)).sum().backward()
        ...     torch.optim.SGD(model.parameters(), lr=0.1).step()
        >>> every_parameter_is_updated(model, step)
        yes
        >>> every_parameter_is_updated(nn.Linear(2, 1), step)
        no: 2 of 2 parameters do not change: weight, bias. They have no gradient in this step.
    """
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    call(step)
    after = dict(model.named_parameters())
    unchanged = {name: p for name, p in after.items() if torch.equal(before[name], p)}
    if not unchanged:
        return YES
    reason = f"{len(unchanged)} of {len(after)} parameters do not change: {', '.join(unchanged)}."
    has_gradient = [p.grad is not None and bool(p.grad.any()) for p in unchanged.values()]
    return Answer("mathematics", reason).because(
        (NOT_IN_OPTIMIZER, lambda: all(has_gradient)), (NO_GRADIENT, lambda: not any(has_gradient))
    )


@question
def decoder_is_prefix_consistent(model: Model, width: int = 2) -> Answer:
    r"""Check that a prefix of a target has the same outputs alone as within the target.

    .. math:: f(y_1, \dots, y_T)_t = f(y_1, \dots, y_t)_t

    Then a prediction does not change when the target grows. It is :func:`is_prefix_consistent`
    with a fixed source.

    Args:
        model: function of source and target; it is given a target of 5 points, and the first 1
            to 4 of them.
        width: dimension of a point.

    Example:
        >>> decoder_is_prefix_consistent(lambda source, target: target.cumsum(1))
        yes
        >>> decoder_is_prefix_consistent(lambda source, target: target - target.mean(1, True))
        no: the output of position 0 of sample 1 changes by 2.18 when what follows is left out.
        Every position depends on every other, as without a causal mask.
    """
    source = source_and_target(width)[0]
    return is_prefix_consistent(lambda target: model(source, target), width)


@question
def source_padding_has_no_effect(model: Model, width: int = 2) -> Answer:
    """Check that each source in a padded batch gives the same outputs as by itself.

    Args:
        model: function of source, target and the source's padding mask ``(B, 1, 1, S)``, ``True`` =
            may attend; it is given sources of 5, 2 and 3 points, padded with random numbers to 5,
            and then each source by itself, with no key masked.
        width: dimension of a point.

    Example:
        >>> masked = lambda source, mask: source * mask[:, 0, 0, :, None]
        >>> source_padding_has_no_effect(lambda s, t, mask: t + masked(s, mask).sum(1, True))
        yes
        >>> source_padding_has_no_effect(lambda s, t, mask: t + s.sum(1, True))
        no: the output of position 0 of sample 1 changes by 1.23 when its source is not padded.
        The mask has no effect: without it, the result is the same.
    """
    (source, target), lengths = source_and_target(width), torch.tensor([5, 2, 3])
    mask = (torch.arange(SOURCES) < lengths[:, None])[:, None, None]  # (B, 1, 1, S)
    together = output_of(model, source, target, mask, shape=target.shape[:2])

    def same_alone(i: int, n: int) -> Answer:
        seen = torch.ones(1, 1, 1, n, dtype=torch.bool)
        alone = output_of(model, source[i : i + 1, :n], target[i : i + 1], seen)[0]
        message = f"of sample {i} changes by {{gap}} when its source is not padded"
        return same(together[i], alone, "the output", ("position",), message=message)

    answers = (same_alone(i, n) for i, n in enumerate(lengths.tolist()))
    return all_of(answers).because(*explain.source_padding(model, source, target, mask))


@question
def uses_every_source_position(model: Model, width: int = 2) -> Answer:
    """Check that each output depends on each point of the source.

    An output that changes by less than :math:`10^{-9}` does not depend on a point.

    Args:
        model: function of source and target; it is given a source, and the source with one point
            negated.
        width: dimension of a point.

    Example:
        >>> uses_every_source_position(lambda source, target: target + source.mean(1, True))
        yes
        >>> uses_every_source_position(lambda source, target: target + source[:, -1:])
        no: the output of position 0 of sample 0 changes by 0 when source point 0 is negated.
    """
    source, target = source_and_target(width)
    before = output_of(model, source, target, shape=target.shape[:2])
    changes = []
    for position in range(SOURCES):
        other = source.clone()
        other[:, position] = -source[:, position]
        after = output_of(model, other, target, shape=target.shape[:2])
        changes.append((after - before).abs().amax(-1))
    changed = torch.stack(changes, dim=-1)  # (B, T, S)
    unused = ~(changed > 1e-9)
    if not unused.any():
        return YES
    b, t, s = unused.nonzero()[0].tolist()
    reason = f"the output of position {t} of sample {b} changes by {changed[b, t, s]:.3g}"
    no = Answer("mathematics", f"{reason} when source point {s} is negated.")
    return no.because((SOURCE_UNUSED, lambda: bool(unused.all())))


@question
def cache_is_exact(cached: Predict, uncached: Predict, width: int = 2) -> Answer:
    """Check that a prediction with a KV cache equals the prediction without it.

    Args:
        cached: function that predicts with a cache; it is called for 7 points after each of three
            sources in turn, so that state kept from one source affects the next.
        uncached: the same prediction without a cache.
        width: dimension of a point.

    Example:
        >>> repeat = lambda source, length: source.mean(1, keepdim=True).expand(-1, length, -1)
        >>> cache_is_exact(repeat, repeat)
        yes
        >>> cache_is_exact(lambda source, length: 2 * repeat(source, length), repeat)
        no: the prediction of point 0 of sample 0 is off by 1.23 for source 0.
    """
    source, _ = source_and_target(width)
    starts = source, -source, source[:, 1:]
    return all_of(_same_points(cached, uncached, i, start) for i, start in enumerate(starts))


def _same_points(cached: Predict, uncached: Predict, i: int, start: Tensor) -> Answer:
    points = output_of(cached, start, TARGETS)
    expected = output_of(uncached, start, TARGETS)
    axes, message = ("sample", "point"), f"is off by {{gap}} for source {i}"
    # Each step passes its rounding error on to the next.
    return same(points, expected, "the prediction", axes, message=message, tolerance=1e-9).because(
        *explain.caches(cached, start, i, points, expected)
    )
