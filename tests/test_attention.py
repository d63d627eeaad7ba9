import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from selfattn_book.attention import (
    attention_weights,
    masked_softmax,
    scaled_dot_product_attention,
)
from selfattn_book.masks import causal_mask, padding_mask

# Contract, "layout": another prime for every size, so that no swapped axis can pass.
BATCH, HEADS, QUERIES, KEYS, WIDTH, VALUE_WIDTH = 2, 3, 5, 7, 11, 13
SCORES = (BATCH, HEADS, QUERIES, KEYS)
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

MASKS = {
    "none": lambda: None,
    "causal": lambda: causal_mask(QUERIES, KEYS),
    "padding": lambda: padding_mask([3, 7]),
    "both": lambda: causal_mask(QUERIES, KEYS) & padding_mask([3, 7]),
    "blind row": lambda: ~causal_mask(QUERIES, KEYS),
}
BROADCASTABLE = [(), (KEYS,), (1, 1), (QUERIES, 1), (QUERIES, KEYS)]
BROADCASTABLE += [
    (HEADS, 1, 1),
    (BATCH, 1, 1, KEYS),
    (1, HEADS, QUERIES, 1),
    SCORES,
]


@pytest.fixture(params=MASKS)
def mask(request):
    return MASKS[request.param]()


@pytest.fixture
def problem(draw):
    """A query, a key and a value for every batch entry and head."""
    return (
        draw(BATCH, HEADS, QUERIES, WIDTH, seed=1),
        draw(BATCH, HEADS, KEYS, WIDTH, seed=2),
        draw(BATCH, HEADS, KEYS, VALUE_WIDTH, seed=3),
    )


def expand(mask):
    return None if mask is None else mask.expand(SCORES)


def in_dtype(tensors, dtype):
    return [x.to(dtype) for x in tensors]


def with_gradients(tensors):
    return [x.clone().requires_grad_() for x in tensors]


# Contract, "layout".
def test_shapes(problem):
    context, weights = scaled_dot_product_attention(*problem)
    assert context.shape == (BATCH, HEADS, QUERIES, VALUE_WIDTH)
    assert weights.shape == SCORES


def test_samples_do_not_meet(problem, mask):
    before = scaled_dot_product_attention(*problem, mask)
    for x in problem:
        x[0] *= 2
    after = scaled_dot_product_attention(*problem, mask)
    for x, y in zip(before, after, strict=True):
        assert torch.equal(x[1], y[1])
    assert not torch.equal(before[0][0], after[0][0])


def test_leading_axes_broadcast(problem, agree):
    query, key, value = problem
    context, _ = scaled_dot_product_attention(query, key[0], value[0, 0])
    expected, _ = scaled_dot_product_attention(
        query, key[0].expand_as(key), value[0, 0].expand_as(value)
    )
    agree(context, expected)


@pytest.mark.parametrize("axes", [0, 1])
def test_heads_and_batch_are_optional(problem, agree, axes):
    first = (0,) * (2 - axes)
    whole = scaled_dot_product_attention(*problem)
    part = scaled_dot_product_attention(*(x[first] for x in problem))
    agree(part[0], whole[0][first])
    agree(part[1], whole[1][first])


# Contract, "mask" and "scale": agreement with PyTorch.
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_context_agrees_with_the_oracle(problem, oracle, agree, mask, dtype):
    problem = in_dtype(problem, dtype)
    context, _ = scaled_dot_product_attention(*problem, mask)
    assert context.dtype == dtype
    agree(context, oracle(*problem, mask))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_weights_agree_with_the_oracle(problem, oracle, agree, mask, dtype):
    query, key, _ = in_dtype(problem, dtype)
    weights = attention_weights(query, key, mask)
    assert weights.dtype == dtype
    one_value_a_key = torch.eye(KEYS).expand(BATCH, HEADS, KEYS, KEYS)
    agree(weights, oracle(query, key, one_value_a_key, mask))


def test_gradients_agree_with_the_oracle(problem, oracle, agree, mask):
    ours, theirs = with_gradients(problem), with_gradients(problem)
    scaled_dot_product_attention(*ours, mask)[0].sum().backward()
    oracle(*theirs, mask).sum().backward()
    for x, y in zip(ours, theirs, strict=True):
        agree(x.grad, y.grad)


@pytest.mark.parametrize("shape", BROADCASTABLE, ids=str)
def test_any_broadcastable_mask(problem, oracle, agree, draw_mask, shape):
    mask = draw_mask(*shape) if shape else torch.tensor(True)
    context, weights = scaled_dot_product_attention(*problem, mask)
    agree(context, oracle(*problem, expand(mask)))
    assert not weights[~expand(mask)].any()


def test_true_means_may_attend():
    weights = masked_softmax(torch.zeros(1, 3), torch.tensor([True, True, False]))
    assert weights.tolist() == [[0.5, 0.5, 0.0]]


# Contract, "fill": softmax in at least float32, a masked weight is exactly 0.
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_half_precision_softmax_is_rounded_once(draw, draw_mask, masked, dtype):
    scores = 5 * draw(QUERIES, 997, dtype=dtype)
    mask = draw_mask(QUERIES, 997) if masked else None
    precise = masked_softmax(scores.double(), mask)
    weights = masked_softmax(scores, mask).double()
    rounding, tiny = torch.finfo(dtype).eps, torch.finfo(dtype).tiny
    torch.testing.assert_close(weights, precise, rtol=rounding, atol=tiny)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masked_weights_are_exactly_zero(draw, draw_mask, dtype):
    mask = draw_mask(*SCORES)
    scores = draw(*SCORES, dtype=dtype).masked_fill(~mask, 1e4)
    weights = masked_softmax(scores, mask)
    assert weights.dtype == dtype
    assert torch.equal(weights != 0, mask)


def test_a_mask_of_ones_is_no_mask(problem):
    query, key, _ = problem
    everything = torch.ones(SCORES, dtype=torch.bool)
    assert torch.equal(
        attention_weights(query, key, everything), attention_weights(query, key)
    )


def test_what_a_masked_key_holds_is_of_no_matter(problem):
    mask = padding_mask([3, 5], KEYS)
    query, key, value = problem
    before = scaled_dot_product_attention(query, key, value, mask)
    key[0, :, 3:], value[0, :, 3:] = 1e9, -1e9
    after = scaled_dot_product_attention(query, key, value, mask)
    for x, y in zip(before, after, strict=True):
        assert torch.equal(x, y)


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_weights_survive_a_masked_key_that_is_no_number(problem, poison):
    mask = padding_mask([3, 5], KEYS)
    query, key, _ = problem
    before = attention_weights(query, key, mask)
    key[0, :, 3:] = poison
    assert torch.equal(before, attention_weights(query, key, mask))


# Contract, "row with nothing to see": weights 0, context 0, gradients finite.
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_blind_query_gets_zero(problem, draw_mask, dtype):
    mask = draw_mask(*SCORES)
    mask[1, 2, 3] = False
    mask[0, 1, [0, 4]] = False
    context, weights = scaled_dot_product_attention(*in_dtype(problem, dtype), mask)
    blind = ~mask.any(-1)
    assert blind.sum() == 3
    assert not weights[blind].any()
    assert not context[blind].any()
    assert context[~blind].all()
    total = weights.double().sum(-1)
    torch.testing.assert_close(
        total, (~blind).double(), rtol=0, atol=9 * KEYS * torch.finfo(dtype).eps
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_blind_query_has_finite_gradients(problem, draw_mask, dtype):
    mask = draw_mask(*SCORES)
    mask[1, 2, 3] = False
    query, key, value = with_gradients(in_dtype(problem, dtype))
    with torch.autograd.set_detect_anomaly(True):
        context, weights = scaled_dot_product_attention(query, key, value, mask)
        (context.square().sum() + weights.square().sum()).backward()
    assert all(x.grad.isfinite().all() for x in (query, key, value))
    assert not query.grad[1, 2, 3].any()
    assert query.grad[1, 2, 2].any()


def test_all_queries_blind(problem):
    problem = with_gradients(problem)
    context, weights = scaled_dot_product_attention(*problem, torch.tensor(False))
    context.sum().backward()
    assert not context.any()
    assert not weights.any()
    assert not any(x.grad.any() for x in problem)


@pytest.mark.parametrize("masked", [False, True])
def test_no_keys_at_all(problem, masked):
    query, key, value = problem
    mask = causal_mask(QUERIES, 0) if masked else None
    context, weights = scaled_dot_product_attention(
        query, key[..., :0, :], value[..., :0, :], mask
    )
    assert weights.shape == (BATCH, HEADS, QUERIES, 0)
    assert torch.equal(
        context, torch.zeros(BATCH, HEADS, QUERIES, VALUE_WIDTH).double()
    )


@pytest.mark.parametrize("masked", [False, True])
def test_no_queries_at_all(problem, masked):
    query, key, value = problem
    mask = causal_mask(0, KEYS) if masked else None
    context, weights = scaled_dot_product_attention(
        query[..., :0, :], key, value, mask
    )
    assert context.shape == (BATCH, HEADS, 0, VALUE_WIDTH)
    assert weights.shape == (BATCH, HEADS, 0, KEYS)


# Contract, "causal": aligned at the end, so that a cache works.
@pytest.mark.parametrize("cuts", [range(8), [0, 3, 7], [0, 1, 6, 7], [0, 5, 6, 7]])
def test_a_growing_cache_equals_all_at_once(draw, cuts):
    query, key, value = (draw(BATCH, HEADS, KEYS, WIDTH, seed=s) for s in range(3))
    whole, _ = scaled_dot_product_attention(query, key, value, causal_mask(KEYS))
    parts = [
        scaled_dot_product_attention(
            query[..., start:stop, :],
            key[..., :stop, :],
            value[..., :stop, :],
            causal_mask(stop - start, stop),
        )[0]
        for start, stop in pairwise(cuts)
    ]
    torch.testing.assert_close(torch.cat(parts, -2), whole, rtol=0, atol=1e-12)


# Contract, "padding mask": each padded sequence equals itself alone.
def test_a_padded_sequence_equals_itself_alone(draw, agree):
    lengths = [3, 7, 1, 2, 5]
    query, key, value = (draw(5, HEADS, KEYS, WIDTH, seed=s) for s in range(3))
    context, weights = scaled_dot_product_attention(
        query, key, value, padding_mask(lengths)
    )
    for sample, length in enumerate(lengths):
        alone = (x[sample, :, :length] for x in (query, key, value))
        alone_context, alone_weights = scaled_dot_product_attention(*alone)
        agree(context[sample, :, :length], alone_context)
        agree(weights[sample, :, :length, :length], alone_weights)
        assert not weights[sample, :, :, length:].any()


# Contract, "scale": by the size of the head, so that scores keep a variance of 1.
@pytest.mark.parametrize("width", [2, 31, 509])
def test_scores_keep_their_variance(draw, width):
    query, key = draw(101, width, seed=1), draw(103, width, seed=2)
    weights = attention_weights(query, key)
    assert weights.log().var(-1).mean().item() == pytest.approx(1, abs=0.25)


def test_scale_is_applied_before_the_product():
    query = torch.full((QUERIES, 64), 60.0, dtype=torch.float16)
    key = torch.full((4, 64), 60.0, dtype=torch.float16)
    assert (query @ key.mT).isinf().all()
    assert attention_weights(query, key).tolist() == [[0.25] * 4] * QUERIES


# Contract, "range": finite wherever the oracle is.
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scores_beyond_the_range_of_float16(problem, oracle, agree, mask, dtype):
    query = torch.linspace(200, 250, QUERIES, dtype=torch.float64).to(dtype)
    key = torch.linspace(-250, 250, KEYS, dtype=torch.float64).to(dtype)
    query, key = query[:, None].expand(-1, 64), key[:, None].expand(-1, 64)
    shape = BATCH, HEADS, -1, -1
    query, key, value = query.expand(shape), key.expand(shape), problem[2].to(dtype)
    assert (query.double() @ key.double().mT / 8).max() > 65504
    given = [x.clone().requires_grad_() for x in (query, key, value)]
    context, weights = scaled_dot_product_attention(*given, mask)
    agree(context, oracle(query, key, value, mask))
    context.sum().backward()
    assert all(x.isfinite().all() for x in (weights, *(x.grad for x in given)))


# Contract, "no hidden state".
def test_inputs_are_left_alone(problem, mask):
    given = [*problem] if mask is None else [*problem, mask]
    before = [x.clone() for x in given]
    scaled_dot_product_attention(*given)
    masked_softmax(torch.zeros(SCORES), mask)
    for x, y in zip(given, before, strict=True):
        assert torch.equal(x, y)


def test_repeated_and_interleaved_calls_are_equal(problem):
    mask = MASKS["both"]()
    first = scaled_dot_product_attention(*problem, mask)
    scaled_dot_product_attention(*(x + 1 for x in problem))
    second = scaled_dot_product_attention(*problem, mask)
    for x, y in zip(first, second, strict=True):
        assert torch.equal(x, y)


# Contract, "randomness": nothing seeds or spends the global generator.
def test_the_global_generator_is_left_alone(problem):
    before = torch.get_rng_state()
    scaled_dot_product_attention(*problem, MASKS["both"]())
    assert torch.equal(torch.get_rng_state(), before)


# Contract, "devices, dtypes".
def test_runs_on_meta(problem):
    query, key, value = (x.to("meta") for x in problem)
    mask = causal_mask(QUERIES, KEYS, device="meta")
    context, weights = scaled_dot_product_attention(query, key, value, mask)
    assert context.device.type == weights.device.type == "meta"
    assert context.shape == (BATCH, HEADS, QUERIES, VALUE_WIDTH)


def test_compiles(problem, agree):
    compiled = torch.compile(
        scaled_dot_product_attention, backend="aot_eager", fullgraph=True
    )
    mask = MASKS["blind row"]()
    expected = scaled_dot_product_attention(*problem, mask)
    for x, y in zip(compiled(*problem, mask), expected, strict=True):
        agree(x, y)


def test_maps_over_a_batch(problem, agree):
    mask = MASKS["both"]().expand(BATCH, 1, QUERIES, KEYS)
    expected = scaled_dot_product_attention(*problem, mask)
    for x, y in zip(
        torch.vmap(scaled_dot_product_attention)(*problem, mask),
        expected,
        strict=True,
    ):
        agree(x, y)


# Contract, "bad input".
X, MASK = torch.ones(2, 3), torch.ones(2, 2, dtype=torch.bool)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            (X.int(),),
            TypeError,
            "scores must be a floating-point tensor; got dtype torch.int32",
        ),
        (
            ([[1.0]],),
            TypeError,
            "scores must be a floating-point tensor; got list",
        ),
        (
            (X, torch.ones(2, 3)),
            TypeError,
            "mask must be a boolean tensor, True = may attend; got dtype torch.float32",
        ),
        (
            (X, np.ones((2, 3), dtype=bool)),
            TypeError,
            "mask must be a boolean tensor, True = may attend; got ndarray",
        ),
        (
            (X, MASK),
            ValueError,
            r"mask must broadcast to the scores' shape \(2, 3\); got \(2, 2\)",
        ),
        (
            (X, MASK.new_ones(3, 3)),
            ValueError,
            r"mask must broadcast to the scores' shape \(2, 3\); got \(3, 3\)",
        ),
        (
            (X, MASK.new_ones(1, 2, 3)),
            ValueError,
            r"mask must broadcast to the scores' shape \(2, 3\); got \(1, 2, 3\)",
        ),
        (
            (X[:1], MASK.new_ones(2, 3)),
            ValueError,
            r"mask must broadcast to the scores' shape \(1, 3\); got \(2, 3\)",
        ),
    ],
)
def test_masked_softmax_refuses(arguments, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        masked_softmax(*arguments)


@pytest.mark.parametrize(
    ("query", "key", "error", "message"),
    [
        (
            X.int(),
            X,
            TypeError,
            "query must be a floating-point tensor; got dtype torch.int32",
        ),
        (
            X,
            X.bool(),
            TypeError,
            "key must be a floating-point tensor; got dtype torch.bool",
        ),
        (
            X,
            X.double(),
            TypeError,
            "query and key must have one dtype; got torch.float32 and torch.float64",
        ),
        (
            X,
            torch.ones(2, 5),
            ValueError,
            r"query \(..., T, D\) and key \(..., S, D\) must have one width D; "
            r"got \(2, 3\) and \(2, 5\)",
        ),
        (
            X[0],
            X,
            ValueError,
            r"query \(..., T, D\) and key \(..., S, D\) must have one width D; "
            r"got \(3,\) and \(2, 3\)",
        ),
        (
            X,
            X[0],
            ValueError,
            r"query \(..., T, D\) and key \(..., S, D\) must have one width D; "
            r"got \(2, 3\) and \(3,\)",
        ),
        (
            X[0, 0],
            X[0, 0],
            ValueError,
            r"query \(..., T, D\) and key \(..., S, D\) must have one width D; "
            r"got \(\) and \(\)",
        ),
        (
            X[:, :0],
            X[:, :0],
            ValueError,
            r"query and key must have a width of at least 1; got \(2, 0\) and \(2, 0\)",
        ),
    ],
)
def test_query_and_key_are_refused(query, key, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        attention_weights(query, key)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (
            X.long(),
            TypeError,
            "value must be a floating-point tensor; got dtype torch.int64",
        ),
        (
            X.half(),
            TypeError,
            "key and value must have one dtype; got torch.float32 and torch.float16",
        ),
        (
            torch.ones(5, 3),
            ValueError,
            r"key \(..., S, D\) and value \(..., S, E\) must have one length S; "
            r"got \(2, 3\) and \(5, 3\)",
        ),
        (
            X[0],
            ValueError,
            r"key \(..., S, D\) and value \(..., S, E\) must have one length S; "
            r"got \(2, 3\) and \(3,\)",
        ),
    ],
)
def test_value_is_refused(value, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        scaled_dot_product_attention(X, X, value)


@pytest.mark.parametrize("shape", [(3, 2), (1, 2, 2), (5,)])
def test_attention_refuses_a_mask_that_does_not_fit(shape):
    mask = torch.ones(shape, dtype=torch.bool)
    with pytest.raises(
        ValueError, match=r"must broadcast to the scores' shape \(2, 2\)"
    ):
        scaled_dot_product_attention(X, X, X, mask)
