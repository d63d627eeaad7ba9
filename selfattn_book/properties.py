"""What any attention must do: properties, to be asked of your own code.

A property takes your function and answers ``True`` or ``False``. There are four kinds of functions:

* ``attend(query, key, value, mask)`` returns context and weights. It is given queries ``(B, T, 6)``,
  keys and values ``(B, S, 6)``, and a boolean mask ``(B, T, S)``, ``True`` = may attend; it returns
  a context ``(B, T, E)`` and weights ``(B, T, S)`` or, with heads, ``(B, H, T, S)``.
* ``model(x)`` maps a sequence ``(B, T, 6)`` to one output a position, ``(B, T, E)``.
* ``table(length, d_model)`` returns one row a position, ``(length, d_model)``.
* ``step()`` is one step of training, and returns nothing of interest.

All numbers are float64, so a module wants ``.double()`` first, and sizes differ wherever the
question allows, so that no axis is easily taken for another. A function that stops at its input,
with an error of shape or kind, does not have the property; any other error is yours to see.
Nothing is imported from the code that is to be judged.
"""

import math
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Attend = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
Model = Callable[[Tensor], Tensor]
Table = Callable[[int, int], Tensor]
P = ParamSpec("P")

BATCH, QUERIES, KEYS, WIDTH = 3, 5, 7, 6


def _answer(ask: Callable[P, bool]) -> Callable[P, bool]:
    """Answer ``False`` for a function that stops, and leave PyTorch's generator as it was."""

    @wraps(ask)
    def answer(*args: P.args, **kwargs: P.kwargs) -> bool:
        try:
            with torch.random.fork_rng(devices=[]):
                return bool(ask(*args, **kwargs))
        except (IndexError, RuntimeError, TypeError, ValueError):
            return False

    return answer


@_answer
def rows_sum_to_one(attend: Attend) -> bool:
    r"""Tell whether the weights of every query are shares: none negative, together one.

    .. math:: w_{ij} \ge 0, \qquad \sum_j w_{ij} = 1

    Args:
        attend: is given random numbers and a random mask that leaves every query a key.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> rows_sum_to_one(attend), rows_sum_to_one(lambda q, k, v, mask: (v, mask.double()))
        (True, False)
    """
    _, weights = attend(*_cross())
    sums = weights.sum(-1)
    return _close(sums, torch.ones_like(sums)) and bool((weights >= 0).all())


@_answer
def future_changes_nothing(attend: Attend) -> bool:
    """Tell whether, under a causal mask, what comes later changes nothing before.

    Args:
        attend: is given one sequence as query, key and value, twice, with another future each time.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> future_changes_nothing(attend), future_changes_nothing(lambda q, k, v, mask: attend(q, k, v))
        (True, False)
    """
    x, other = _random(2, BATCH, QUERIES, WIDTH)
    mask = torch.ones(BATCH, QUERIES, QUERIES, dtype=torch.bool).tril()
    before, _ = attend(x, x, x, mask)
    for now in range(1, QUERIES):
        changed = torch.cat([x[:, :now], 10 * other[:, now:]], dim=1)
        after, _ = attend(changed, changed, changed, mask)
        if not _close(after[:, :now], before[:, :now]):
            return False
    return True


@_answer
def prefixes_keep_their_outputs(model: Model, width: int = WIDTH) -> bool:
    r"""Tell whether the beginning of a sequence has the same outputs alone as within the whole.

    .. math:: f(x_1, \dots, x_t) = f(x_1, \dots, x_T)_{1, \dots, t} \qquad (t \le T)

    Args:
        model: is given five positions, and the first one, two, three and four of them.
        width: of its input.

    Example:
        >>> running_sum, mean = (lambda x: x.cumsum(1)), (lambda x: x.cumsum(1) / x.size(1))
        >>> prefixes_keep_their_outputs(running_sum), prefixes_keep_their_outputs(mean)
        (True, False)
        >>> prefixes_keep_their_outputs(nn.Linear(2, 3).double(), width=2)
        True
        >>> prefixes_keep_their_outputs(lambda x: x + x[:, 3:4].sum(1, keepdim=True))
        False
    """
    x = _random(BATCH, QUERIES, width)
    whole = model(x)
    if whole.shape[:2] != x.shape[:2]:
        return False
    lengths = range(1, QUERIES)
    return all(_close(model(x[:, :t]), whole[:, :t]) for t in lengths)


@_answer
def rows_are_normalized(model: Model, width: int = WIDTH) -> bool:
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
        >>> rows_are_normalized(norm), rows_are_normalized(lambda x: x + norm(x))
        (True, False)
        >>> unbiased = lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)
        >>> rows_are_normalized(unbiased)   # its mean square is 5 / 6
        False
        >>> rows_are_normalized(nn.LayerNorm(9).double(), width=9)
        True
        >>> rows_are_normalized(nn.LayerNorm(2).double(), width=2)
        True
    """
    x = 100 * _random(BATCH, QUERIES, width)
    outputs = torch.stack([model(x), model(1000 * x), model(x + 1000)])
    means, squares = outputs.mean(-1), outputs.square().mean(-1)
    centred = _close(means, torch.zeros_like(means), 1e-9)
    return centred and _close(squares, torch.ones_like(squares), 1e-3)


@_answer
def padding_is_silent(attend: Attend) -> bool:
    """Tell whether sentences of 5, 2 and 3 words, padded to 5, come out as if each were alone.

    Args:
        attend: is given the padded batch, and then each sentence by itself. Padding holds
            random numbers, and no query may attend to it.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> padding_is_silent(attend), padding_is_silent(lambda q, k, v, mask: attend(q, k, v))
        (True, False)
    """
    x, lengths = _random(BATCH, QUERIES, WIDTH), torch.tensor([5, 2, 3])
    real = torch.arange(QUERIES) < lengths[:, None]  # (B, S)
    together, _ = attend(x, x, x, real[:, None].expand(-1, QUERIES, -1))
    for sentence, context, length in zip(x, together, lengths, strict=True):
        words = sentence[None, :length]
        alone, _ = attend(words, words, words, _all_seen(1, int(length)))
        if not _close(context[:length], alone[0]):
            return False
    return True


@_answer
def samples_are_independent(attend: Attend) -> bool:
    """Tell whether every sample of a batch comes out as if it were alone.

    Args:
        attend: is given a batch of three sequences of one length, and then each by itself.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> samples_are_independent(attend)
        True
        >>> samples_are_independent(lambda q, k, v, mask: attend(q - q.mean(0), k, v))
        False
    """
    x = _random(BATCH, QUERIES, WIDTH)
    together, _ = attend(x, x, x, _all_seen(BATCH, QUERIES))
    one = _all_seen(1, QUERIES)
    alone = [attend(s, s, s, one)[0] for s in x.split(1)]
    return _close(together, torch.cat(alone))


@_answer
def order_of_keys_is_invisible(attend: Attend) -> bool:
    """Tell whether the keys can be shuffled, their values and the mask with them, unnoticed.

    Args:
        attend: is given random numbers and a random mask, in two orders of the keys.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> order_of_keys_is_invisible(attend)
        True
        >>> order_of_keys_is_invisible(lambda q, k, v, mask: attend(q, k.cumsum(1), v))
        False
    """
    query, key, value, mask = _cross()
    order = [3, 6, 0, 5, 1, 4, 2]
    straight, _ = attend(query, key, value, mask)
    shuffled, _ = attend(query, key[:, order], value[:, order], mask[..., order])
    return _close(straight, shuffled)


@_answer
def blind_rows_are_silent(attend: Attend) -> bool:
    """Tell whether a query that may see nothing gets weights 0, and spoils no gradient.

    Args:
        attend: is given random numbers and a mask in which the second query of every sample is blind.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> blind_rows_are_silent(attend), blind_rows_are_silent(lambda q, k, v, mask: attend(q, k, v))
        (True, False)
    """
    query, key, value, mask = _cross()
    mask[:, 1] = False
    inputs = [x.requires_grad_() for x in (query, key, value)]
    context, weights = attend(query, key, value, mask)
    gradients = torch.autograd.grad(context.sum(), inputs)
    finite = all(x.isfinite().all() for x in (context, *gradients))
    return finite and not weights[..., 1, :].any()


@_answer
def scores_have_unit_variance(attend: Attend, d_model: int = WIDTH) -> bool:
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
        (True, True)
        >>> scores_have_unit_variance(lambda q, k, v, mask: attend(2 * q, k, v))
        False
    """
    query, key, value = _random(3, 101, 31, d_model)
    _, weights = attend(query, key, value, _all_seen(101, 31))
    variance = weights.detach().log().var(dim=-1).mean().item()
    return math.isclose(variance, 1, rel_tol=0.1)


@_answer
def same_answer_twice(attend: Attend) -> bool:
    """Tell whether the same question has the same answer the next time, to the last bit.

    Args:
        attend: is given the same random numbers and mask twice.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> same_answer_twice(attend)
        True
        >>> same_answer_twice(lambda q, k, v, mask: attend(q, k, F.dropout(v)))
        False
    """
    once, again = attend(*_cross()), attend(*_cross())
    return all(torch.equal(a, b) for a, b in zip(once, again, strict=True))


@_answer
def equals_pytorch(attend: Attend, num_heads: int = 1) -> bool:
    """Tell whether the context is that of PyTorch's own attention function.

    Args:
        attend: is given random numbers, and a random mask that leaves every query a key.
            With several heads, each takes its part of the width, and the contexts of all
            heads are put side by side again.
        num_heads: 1, 2, 3 or 6.

    Example:
        >>> from selfattn_book.attention import scaled_dot_product_attention as attend
        >>> equals_pytorch(attend), equals_pytorch(attend, num_heads=2)
        (True, False)
    """
    query, key, value, mask = _cross()
    context, _ = attend(query, key, value, mask)
    q, k, v = (
        x.unflatten(-1, (num_heads, -1)).transpose(1, 2)
        for x in (query, key, value)
    )
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
    return _close(context, expected.transpose(1, 2).flatten(2))


@_answer
def equals_the_formula(table: Table, d_model: int = 8) -> bool:
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
        (True, True)
        >>> equals_the_formula(lambda n, d: torch.zeros(n, d))
        False
    """
    rows = table(13, d_model)
    formula = [
        (math.sin, math.cos)[c % 2](p / 10000 ** (2 * (c // 2) / d_model))
        for p in range(13)
        for c in range(d_model)
    ]
    expected = torch.tensor(formula, dtype=torch.float64).view(13, d_model)
    return _close(rows.double(), expected, 1e-6)


@_answer
def positions_are_told_apart(table: Table, d_model: int = 16) -> bool:
    """Tell whether no two positions of a hundred come nearer than half the least single step.

    Args:
        table: is asked for 100 positions.
        d_model: width of a row.

    Example:
        >>> from selfattn_book.positions import sinusoidal_encoding
        >>> positions_are_told_apart(sinusoidal_encoding)
        True
        >>> positions_are_told_apart(lambda n, d: torch.ones(n, d))
        False
    """
    rows = table(100, d_model).double()
    distances = torch.linalg.vector_norm(rows[:, None] - rows, dim=-1)
    others = distances[~torch.eye(100, dtype=torch.bool)]
    return bool(others.min() > distances.diagonal(1).min() / 2)


@_answer
def every_parameter_moves(model: nn.Module, step: Callable[[], object]) -> bool:
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
        >>> every_parameter_moves(model, step), every_parameter_moves(nn.Linear(2, 1), step)
        (True, False)
    """
    before = [p.detach().clone() for p in model.parameters()]
    step()
    pairs = zip(before, model.parameters(), strict=True)
    return not any(torch.equal(old, p) for old, p in pairs)


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


def _all_seen(batch: int, length: int) -> Tensor:
    return torch.ones(batch, length, length, dtype=torch.bool)


def _close(actual: Tensor, expected: Tensor, tolerance: float = 1e-12) -> bool:
    if actual.shape != expected.shape:
        return False
    return torch.allclose(actual, expected, rtol=0, atol=tolerance)
