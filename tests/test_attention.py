import math

import pytest
import torch

from selfattn_book.attention import attention_weights, masked_softmax
from selfattn_book.attention import scaled_dot_product_attention as attend
from selfattn_book.masks import causal_mask, padding_mask

# Another prime for every size, so that no swapped axis can pass.
BATCH, HEADS, QUERIES, KEYS, WIDTH, VALUE_WIDTH = 2, 3, 5, 7, 11, 13
SCORES = (BATCH, HEADS, QUERIES, KEYS)
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

MASKS = {
    "none": lambda: None,
    "causal": lambda: causal_mask(QUERIES, KEYS),
    "padding": lambda: padding_mask([3, 7]),
    "both": lambda: causal_mask(QUERIES, KEYS) & padding_mask([3, 7]),
    "masked row": lambda: ~causal_mask(QUERIES, KEYS),
    "all masked": lambda: torch.tensor(False),
}
BROADCASTABLE = [(), (KEYS,), (1, 1), (QUERIES, 1), (QUERIES, KEYS)]
BROADCASTABLE += [(HEADS, 1, 1), (BATCH, 1, 1, KEYS), (1, HEADS, QUERIES, 1), SCORES]


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


def test_leading_axes_broadcast(problem, agree):
    query, key, value = problem
    context, _ = attend(query, key[0], value[0, 0])
    expected, _ = attend(query, key[0].expand_as(key), value[0, 0].expand_as(value))
    agree(context, expected)


# Agreement with PyTorch.
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_agrees_with_the_oracle(problem, oracle, agree, mask, dtype):
    query, key, value = in_dtype(problem, dtype)
    context, weights = attend(query, key, value, mask)
    assert context.dtype == weights.dtype == dtype
    agree(context, oracle(query, key, value, mask))
    one_value_a_key = torch.eye(KEYS).expand(BATCH, HEADS, KEYS, KEYS)
    agree(weights, oracle(query, key, one_value_a_key, mask))


@pytest.mark.parametrize("shape", BROADCASTABLE, ids=str)
def test_any_broadcastable_mask(problem, oracle, agree, draw_mask, shape):
    mask = draw_mask(*shape) if shape else torch.tensor(True)
    context, weights = attend(*problem, mask)
    agree(context, oracle(*problem, expand(mask)))
    assert not weights[~expand(mask)].any()


# Softmax in at least float32, a masked weight is exactly 0.
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_half_precision_softmax_is_rounded_once(draw, draw_mask, masked, dtype):
    scores = 5 * draw(QUERIES, 997, dtype=dtype)
    mask = draw_mask(QUERIES, 997) if masked else None
    precise = masked_softmax(scores.double(), mask)
    weights = masked_softmax(scores, mask).double()
    rounding, tiny = torch.finfo(dtype).eps, torch.finfo(dtype).tiny
    torch.testing.assert_close(weights, precise, rtol=rounding, atol=tiny)


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_weights_survive_a_masked_key_that_is_no_number(problem, poison):
    mask = padding_mask([3, 5], KEYS)
    query, key, _ = problem
    before = attention_weights(query, key, mask)
    key[0, :, 3:] = poison
    assert torch.equal(before, attention_weights(query, key, mask))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_fully_masked_query_has_weights_and_context_zero(problem, draw_mask, dtype):
    """And its gradients are finite."""
    mask = draw_mask(*SCORES)
    mask[1, 2, 3] = False
    mask[0, 1, [0, 4]] = False
    given = with_gradients(in_dtype(problem, dtype))
    with torch.autograd.set_detect_anomaly(True):
        context, weights = attend(*given, mask)
        (context.square().sum() + weights.square().sum()).backward()
    masked = ~mask.any(-1)
    assert masked.sum() == 3
    assert not weights[masked].any()
    assert not context[masked].any()
    assert context[~masked].all()
    atol = 9 * KEYS * torch.finfo(dtype).eps
    torch.testing.assert_close(weights.double().sum(-1), (~masked).double(), rtol=0, atol=atol)
    assert all(x.grad.isfinite().all() for x in given)
    assert not given[0].grad[masked].any()
    assert given[0].grad[~masked].any(-1).all()


# By the size of the head, so that scores keep a variance of 1.
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


# Finite wherever the oracle is.
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scores_beyond_the_range_of_float16(problem, oracle, agree, mask, dtype):
    query = torch.linspace(200, 250, QUERIES, dtype=torch.float64).to(dtype)
    key = torch.linspace(-250, 250, KEYS, dtype=torch.float64).to(dtype)
    query, key = query[:, None].expand(-1, 64), key[:, None].expand(-1, 64)
    shape = BATCH, HEADS, -1, -1
    query, key, value = query.expand(shape), key.expand(shape), problem[2].to(dtype)
    assert (query.double() @ key.double().mT / 8).max() > 65504
    given = [x.clone().requires_grad_() for x in (query, key, value)]
    context, weights = attend(*given, mask)
    agree(context, oracle(query, key, value, mask))
    context.sum().backward()
    assert all(x.isfinite().all() for x in (weights, *(x.grad for x in given)))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(QUERIES, 0), (0, KEYS), (0, 0)])
def test_no_queries_or_no_keys(problem, masked, queries, keys):
    query, key, value = problem
    mask = causal_mask(queries, keys) if masked else None
    context, weights = attend(
        query[..., :queries, :], key[..., :keys, :], value[..., :keys, :], mask
    )
    assert weights.shape == (BATCH, HEADS, queries, keys)
    assert torch.equal(context, torch.zeros_like(context))
    assert context.shape == (BATCH, HEADS, queries, VALUE_WIDTH)


def test_nothing_is_changed_or_kept(problem, mask):
    given = [*problem] if mask is None else [*problem, mask]
    before, state = [x.clone() for x in given], torch.get_rng_state()
    first = attend(*given)
    attend(*(x + 1 for x in problem))
    masked_softmax(torch.zeros(SCORES), mask)
    assert all(map(torch.equal, attend(*given), first))
    assert all(map(torch.equal, given, before))
    assert torch.equal(torch.get_rng_state(), state)


def test_runs_on_meta(problem):
    query, key, value = (x.to("meta") for x in problem)
    mask = causal_mask(QUERIES, KEYS, device="meta")
    context, weights = attend(query, key, value, mask)
    assert context.device.type == weights.device.type == "meta"
    assert context.shape == (BATCH, HEADS, QUERIES, VALUE_WIDTH)


def test_compiles(problem, agree):
    compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
    mask = MASKS["masked row"]()
    expected = attend(*problem, mask)
    for x, y in zip(compiled(*problem, mask), expected, strict=True):
        agree(x, y)


def test_maps_over_a_batch(problem, agree):
    mask = MASKS["both"]().expand(BATCH, 1, QUERIES, KEYS)
    expected = attend(*problem, mask)
    for x, y in zip(torch.vmap(attend)(*problem, mask), expected, strict=True):
        agree(x, y)


# All messages are in tests/test_arguments.py.
X, MASK = torch.ones(2, 3), torch.ones(2, 2, dtype=torch.bool)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: masked_softmax(X.int()), TypeError, "scores must be a floating-point tensor"),
        (lambda: masked_softmax(X, X), TypeError, "mask must be a boolean tensor"),
        (lambda: masked_softmax(X, MASK), ValueError, r"shape \(2, 3\); got \(2, 2\)"),
        (lambda: masked_softmax(X[:1], MASK.new_ones(2, 3)), ValueError, r"\(1, 3\); got \(2, 3\)"),
        (lambda: attention_weights(X, X.bool()), TypeError, "key must be a floating-point tensor"),
        (lambda: attention_weights(X, X.double()), TypeError, "query and key must have one dtype"),
        (lambda: attention_weights(X, X[:, 1:]), ValueError, "must have one dimension D"),
        (lambda: attention_weights(X[:, :0], X[:, :0]), ValueError, "dimension of at least 1"),
        (lambda: attention_weights(X, X, MASK.new_ones(3, 2)), ValueError, "must broadcast"),
        (lambda: attend(X, X, X.half()), TypeError, "key and value must have one dtype"),
        (lambda: attend(X, X, X[:1]), ValueError, "must have one length S"),
        (
            lambda: attend(X.expand(2, 2, 3), X, X.expand(3, 2, 3)),
            ValueError,
            "the leading axes of query and value must broadcast",
        ),
        (lambda: attend(X, X, X, MASK.new_ones(1, 2, 2)), ValueError, r"\(2, 2\); got \(1, 2, 2\)"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
