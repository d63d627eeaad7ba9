"""What holds for all inputs: the properties at the end of the contract, by hypothesis."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch import Tensor

from selfattn_book.attention import attention_weights, masked_softmax, scaled_dot_product_attention
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.measure.sensitivity import leaks, sensitivity
from selfattn_book.multi_head import MultiHeadAttention

both_paths = pytest.mark.parametrize("need_weights", [True, False])
sizes = st.integers(1, 6)
seeds = st.integers(0, 2**32 - 1)
numbers = st.floats(-4, 4, width=32)


def tensors(*shape: int, elements=numbers, dtype="float64"):
    return hnp.arrays(dtype, shape, elements=elements).map(torch.from_numpy)


def masks(*shape: int):
    return tensors(*shape, elements=st.booleans(), dtype="bool")


@dataclass
class Problem:
    """What attention is asked: ``(T, D)``, ``(S, D)``, ``(S, E)`` and a mask ``(T, S)``."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor

    def solve(self) -> tuple[Tensor, Tensor]:
        return scaled_dot_product_attention(self.query, self.key, self.value, self.mask)


@st.composite
def problems(draw) -> Problem:
    queries, keys, width, value_width = (draw(sizes) for _ in range(4))
    return Problem(
        draw(tensors(queries, width)),
        draw(tensors(keys, width)),
        draw(tensors(keys, value_width)),
        draw(masks(queries, keys)),
    )


@st.composite
def sequences(draw, length=sizes) -> Tensor:
    return draw(tensors(draw(length), draw(sizes)))


@st.composite
def attentions(draw, d_model: int, num_heads=sizes, d_head=sizes) -> MultiHeadAttention:
    heads, width = draw(num_heads), draw(d_head)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(draw(seeds))
        return MultiHeadAttention(d_model, heads, d_head=width).double().eval()


def close(actual: Tensor, expected: Tensor, atol: float = 1e-14) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


# Rows sum to 1, or to 0 where there is nothing to see; weights are non-negative.
@given(problems())
def test_rows_sum_to_one_or_zero(problem):
    context, weights = problem.solve()
    close(weights.sum(-1), problem.mask.any(-1).double())
    assert (weights >= 0).all()
    assert not weights[~problem.mask].any()
    assert not context[~problem.mask.any(-1)].any()


# The output lies inside the convex hull of the values that the query may see:
# in no direction is it further out than the furthest of them.
@given(problems(), st.data())
def test_context_stays_in_the_hull_of_its_values(problem, data):
    context, _ = problem.solve()
    direction = data.draw(tensors(problem.value.size(-1)))
    for seen, where in zip(problem.mask, context @ direction, strict=True):
        if seen.any():
            reach = problem.value[seen] @ direction
            assert reach.min() - 1e-12 <= where <= reach.max() + 1e-12


# Equivariant to permuting queries, invariant to permuting keys with their values.
@given(problems(), st.data())
def test_permuted_queries_permute_the_output(problem, data):
    order = data.draw(st.permutations(range(len(problem.query))))
    context, weights = problem.solve()
    problem.query, problem.mask = problem.query[order], problem.mask[order]
    permuted_context, permuted_weights = problem.solve()
    close(permuted_context, context[order])
    close(permuted_weights, weights[order])


@given(problems(), st.data())
def test_permuted_keys_change_nothing(problem, data):
    order = data.draw(st.permutations(range(len(problem.key))))
    context, weights = problem.solve()
    problem.key, problem.value = problem.key[order], problem.value[order]
    problem.mask = problem.mask[:, order]
    permuted_context, permuted_weights = problem.solve()
    close(permuted_context, context)
    close(permuted_weights, weights[:, order])


# Unchanged by adding a constant to a row of scores: bitwise, where the sums are exact.
@given(st.data(), sizes, sizes)
def test_a_constant_on_a_row_changes_nothing(data, rows, keys):
    sixteenths = st.integers(-1000, 1000).map(lambda n: n / 16)
    scores = data.draw(tensors(rows, keys, elements=sixteenths))
    constants = data.draw(tensors(rows, 1, elements=sixteenths))
    mask = data.draw(masks(rows, keys))
    weights = masked_softmax(scores, mask)
    assert torch.equal(masked_softmax(scores + constants, mask), weights)


# A masked key equals a deleted key, and what it holds is of no matter.
@given(problems(), st.data())
def test_a_masked_key_equals_a_deleted_key(problem, data):
    masked = data.draw(st.integers(0, len(problem.key) - 1))
    kept = torch.arange(len(problem.key)) != masked
    problem.mask[:, masked] = False
    context, weights = problem.solve()
    shorter = Problem(problem.query, problem.key[kept], problem.value[kept], problem.mask[:, kept])
    expected_context, expected_weights = shorter.solve()
    close(context, expected_context)
    close(weights[:, kept], expected_weights)


@given(problems(), st.data())
def test_what_a_masked_key_holds_is_of_no_matter(problem, data):
    masked = data.draw(st.integers(0, len(problem.key) - 1))
    problem.mask[:, masked] = False
    before = problem.solve()
    problem.key[masked] = data.draw(tensors(problem.key.size(-1)))
    problem.value[masked] = data.draw(tensors(problem.value.size(-1)))
    assert all(map(torch.equal, before, problem.solve()))


# The future changes nothing in the past, bitwise.
@given(sequences(st.integers(2, 6)), st.data())
def test_the_future_changes_nothing_in_the_past(x, data):
    now = data.draw(st.integers(1, len(x) - 1))
    other = x.clone()
    other[now:] = data.draw(tensors(*other[now:].shape))
    mask = causal_mask(len(x))
    before = scaled_dot_product_attention(x, x, x, mask)
    after = scaled_dot_product_attention(other, other, other, mask)
    assert all(torch.equal(a[:now], b[:now]) for a, b in zip(before, after, strict=True))


# Causal: a cache that grows by any chunks gives what comes all at once.
@both_paths
@given(sequences(), st.data())
def test_random_chunks_equal_all_at_once(need_weights, x, data):
    attention = data.draw(attentions(x.size(-1)))
    cuts = [0, *sorted(data.draw(st.sets(st.integers(1, len(x))))), len(x)]

    def attend(start: int, stop: int) -> Tensor:
        query, seen, mask = (x[None, start:stop], x[None, :stop], causal_mask(stop - start, stop))
        return attention(query, seen, seen, mask, need_weights=need_weights)[0]

    chunks = [attend(start, stop) for start, stop in pairwise(cuts)]
    close(torch.cat(chunks, 1), attend(0, len(x)), atol=1e-12)


# Padding: each padded sequence equals itself alone.
@both_paths
@given(sequences(), st.data())
def test_a_padded_sequence_equals_itself_alone(need_weights, x, data):
    attention = data.draw(attentions(x.size(-1)))
    lengths = data.draw(st.lists(st.integers(0, len(x)), min_size=1, max_size=3))
    batch, mask = x.repeat(len(lengths), 1, 1), padding_mask(lengths, len(x))
    context, _ = attention(batch, batch, batch, mask, need_weights=need_weights)
    for sample, length in zip(context, lengths, strict=True):
        alone = x[None, :length]
        expected, _ = attention(alone, alone, alone, need_weights=need_weights)
        close(sample[:length], expected[0])


# Both paths agree, whatever the mask.
@given(sequences(), sizes, st.data())
def test_both_paths_agree(x, keys, data):
    memory = data.draw(tensors(keys, x.size(-1)))
    attention = data.draw(attentions(x.size(-1)))
    mask = data.draw(masks(attention.num_heads, len(x), keys))
    x, memory = x[None], memory[None]
    with_weights, _ = attention(x, memory, memory, mask)
    without, _ = attention(x, memory, memory, mask, need_weights=False)
    close(without, with_weights)


# One head equals plain attention on the projected inputs.
@both_paths
@given(sequences(), st.data())
def test_one_head_is_plain_attention(need_weights, x, data):
    attention = data.draw(attentions(x.size(-1), num_heads=st.just(1)))
    mask = data.draw(masks(len(x), len(x)))
    query, key = attention.project_query(x), attention.project_key(x)
    plain, plain_weights = scaled_dot_product_attention(
        query, key, attention.project_value(x), mask
    )
    x = x[None]
    context, weights = attention(x, x, x, mask, need_weights=need_weights)
    close(context[0], attention.project_output(plain))
    if need_weights:
        close(weights[0, 0], plain_weights)


# Finite at scores of 1e4, backwards too.
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str
)
@given(st.data(), sizes, sizes)
def test_finite_at_large_scores(dtype, data, rows, keys):
    large = st.sampled_from([-1e4, -5e3, 0.0, 9e3, 1e4])
    scores = data.draw(tensors(rows, keys, elements=large)).to(dtype).requires_grad_()
    mask = data.draw(masks(rows, keys))
    weights = masked_softmax(scores, mask)
    weights.square().sum().backward()
    assert scores.grad.isfinite().all()
    tolerance = 9 * keys * torch.finfo(dtype).eps
    close(weights.double().sum(-1), mask.any(-1).double(), atol=tolerance)


@given(problems())
def test_finite_for_large_queries_and_keys(problem):
    problem.query, problem.key = 100 * problem.query, 100 * problem.key
    for x in (problem.query, problem.key, problem.value):
        x.requires_grad_()
    context, weights = problem.solve()
    context.square().sum().backward()
    grads = (problem.query.grad, problem.key.grad, problem.value.grad)
    assert all(x.isfinite().all() for x in (context, weights, *grads))


# Gradients are those of the function, in float64.
small = st.integers(1, 3)


@settings(max_examples=20)
@given(st.data(), small, small, small)
def test_gradcheck_of_plain_attention(data, queries, keys, width):
    shapes = (queries, width), (keys, width), (keys, width)
    inputs = [data.draw(tensors(*shape)).requires_grad_() for shape in shapes]
    mask = data.draw(masks(queries, keys))
    assert torch.autograd.gradcheck(scaled_dot_product_attention, (*inputs, mask))


@both_paths
@settings(max_examples=10)
@given(sequences(small), st.data())
def test_gradcheck_of_many_heads(need_weights, x, data):
    attention = data.draw(attentions(x.size(-1), num_heads=small, d_head=small))
    mask = data.draw(masks(attention.num_heads, len(x), len(x)))
    names, parameters = zip(*attention.named_parameters(), strict=True)

    def attend(x: Tensor, *parameters: Tensor) -> Tensor:
        named = dict(zip(names, parameters, strict=True))
        options = {"need_weights": need_weights}
        return torch.func.functional_call(attention, named, (x, x, x, mask), options)[0]

    assert torch.autograd.gradcheck(attend, (x[None].requires_grad_(), *parameters))


# What the masks' measurement finds agrees with what they are asked for.
@given(sequences(), st.data())
def test_attention_leaks_nothing_through_its_mask(x, data):
    mask = data.draw(masks(len(x), len(x)))
    values = x.clone()

    def attend(values: Tensor) -> Tensor:
        return scaled_dot_product_attention(x, x, values, mask)[0]

    assert leaks(attend, values, mask) == []
    weights = attention_weights(x, x, mask)
    close(sensitivity(attend, values), weights * x.size(-1) ** 0.5)
