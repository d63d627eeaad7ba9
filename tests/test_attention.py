"""Attention, whole and in blocks, against PyTorch's: every mask, every dtype, gradients, refusals."""

import math
from functools import partial

import pytest
import torch

from selfattn_book.attention import attention_weights, masked_softmax, scaled_dot_product_attention
from selfattn_book.blockwise import blockwise_attention
from selfattn_book.masks import causal_mask, padding_mask

# Another prime for every size, so that no swapped axis can pass.
BATCH, HEADS, QUERIES, KEYS, WIDTH, VALUE_WIDTH = 2, 3, 5, 7, 11, 13
SCORES = (BATCH, HEADS, QUERIES, KEYS)
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

MASKS = {
    "none": None,
    "causal": causal_mask(QUERIES, KEYS),
    "padding": padding_mask([3, 7]),
    "both": causal_mask(QUERIES, KEYS) & padding_mask([3, 7]),
    "masked rows": ~causal_mask(QUERIES, KEYS),
    "masked at first": ~causal_mask(QUERIES, KEYS).flip(0),
    "nothing": torch.tensor(True),
    "all masked": torch.tensor(False),
    "one size": torch.ones(1, 1).bool(),
    "one key": torch.arange(KEYS) == 4,
    "queries": torch.arange(QUERIES)[:, None] > 1,
    "heads": torch.tensor([True, False, True])[:, None, None],
    "heads and queries": (torch.arange(HEADS * QUERIES) % 4 > 0).view(1, HEADS, QUERIES, 1),
    "scores": (torch.arange(math.prod(SCORES)) % 3 > 0).view(SCORES),
}
# The keys at once, or in blocks: some divide the lengths, most do not.
WAYS = {"whole": scaled_dot_product_attention}
WAYS |= {f"blocks of {n}": partial(blockwise_attention, block_size=n) for n in (1, 2, 3, 5, 7, 100)}

each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def attend(way, *given):
    """Return the context, and the weights if there are any."""
    found = way(*given)
    return found if isinstance(found, tuple) else (found, None)


@pytest.fixture
def problem(draw):
    """A query, a key and a value for every batch entry and head."""
    return (
        3 * draw(BATCH, HEADS, QUERIES, WIDTH, seed=1),
        draw(BATCH, HEADS, KEYS, WIDTH, seed=2),
        draw(BATCH, HEADS, KEYS, VALUE_WIDTH, seed=3),
    )


def expand(mask):
    return None if mask is None else mask.expand(SCORES)


def with_gradients(tensors):
    return [x.clone().requires_grad_() for x in tensors]


@each_mask
@each_dtype
@each_way
def test_agrees_with_the_oracle(problem, oracle, agree, mask, dtype, way):
    query, key, value = (x.to(dtype) for x in problem)
    context, weights = attend(way, query, key, value, mask)
    assert context.dtype == dtype
    agree(context, oracle(query, key, value, expand(mask)))
    if weights is not None:
        assert weights.dtype == dtype
        one_value_a_key = torch.eye(KEYS).expand(BATCH, HEADS, KEYS, KEYS)
        agree(weights, oracle(query, key, one_value_a_key, expand(mask)))
        assert mask is None or not weights[~expand(mask)].any()


@each_mask
@each_way
def test_gradients_agree_with_the_oracle(problem, oracle, agree, mask, way):
    ours, theirs = with_gradients(problem), with_gradients(problem)
    with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either
        attend(way, *ours, mask)[0].square().sum().backward()
    oracle(*theirs, expand(mask)).square().sum().backward()
    for x, y, before in zip(ours, theirs, problem, strict=True):
        agree(x.grad, y.grad)
        assert x.equal(before)


@each_way
def test_leading_axes_broadcast(problem, oracle, agree, way):
    query, key, value = problem
    for given in ((query, key[0], value[0, 0]), (query[0, 0], key[0], value)):
        expected = oracle(*(x.expand(BATCH, HEADS, -1, -1) for x in given))
        agree(attend(way, *given)[0], expected)


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
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


@pytest.mark.parametrize("name", ["none", "causal", "masked rows"])
@each_dtype
@each_way
def test_scores_beyond_the_range_of_float16(problem, oracle, agree, name, dtype, way):
    """Finite wherever the oracle is, gradients too."""
    mask = MASKS[name]
    query = torch.linspace(200, 250, QUERIES, dtype=torch.float64).to(dtype)
    key = torch.linspace(-250, 250, KEYS, dtype=torch.float64).to(dtype)
    query, key = (x[:, None].expand(BATCH, HEADS, -1, 64) for x in (query, key))
    value = problem[2].to(dtype)
    assert (query.double() @ key.double().mT / 8).max() > 65504
    given = with_gradients([query, key, value])
    context, weights = attend(way, *given, mask)
    agree(context, oracle(query, key, value, expand(mask)))
    context.sum().backward()
    assert all(x.grad.isfinite().all() for x in given)
    assert weights is None or weights.isfinite().all()


@each_way
def test_under_autocast_it_keeps_its_range(way):
    query = torch.full((2, 1), 300.0)
    with torch.autocast("cpu", torch.float16):
        context, _ = attend(way, query, query, torch.ones(2, 1))
    assert context.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(QUERIES, 0), (0, KEYS), (0, 0)])
@each_way
def test_no_queries_or_no_keys(problem, masked, queries, keys, way):
    mask = causal_mask(queries, keys) if masked else None
    lengths = zip(problem, (queries, keys, keys), strict=True)
    given = with_gradients([x[..., :length, :] for x, length in lengths])
    context, weights = attend(way, *given, mask)
    assert torch.equal(context, torch.zeros(BATCH, HEADS, queries, VALUE_WIDTH).double())
    assert weights is None or weights.shape == (BATCH, HEADS, queries, keys)
    context.sum().backward()  # part of the graph, with gradient 0
    assert not any(x.grad.any() for x in given)


def test_maps_over_a_batch(problem, agree):
    given = [*problem, MASKS["both"].expand(BATCH, 1, QUERIES, KEYS)]
    mapped = torch.vmap(scaled_dot_product_attention)(*given)
    for x, y in zip(mapped, scaled_dot_product_attention(*given), strict=True):
        agree(x, y)


# All messages are in tests/test_arguments.py.
X, MASK = torch.ones(2, 3), torch.ones(2, 2, dtype=torch.bool)
REFUSED = [
    ((X, X.bool(), X), TypeError, "key must be a floating-point tensor"),
    ((X, X.double(), X.double()), TypeError, "query and .* must have one dtype"),
    ((X, X, X.half()), TypeError, "key and value must have one dtype"),
    ((X, X[:, 1:], X), ValueError, "must have one dimension D"),
    ((X[:, :0], X[:, :0], X), ValueError, "dimension of at least 1"),
    ((X, X, X[:1]), ValueError, "must have one length S"),
    ((X, X.expand(2, 2, 3), X.expand(3, 2, 3)), ValueError, "leading axes of key and value"),
    ((X.expand(2, 2, 3), X, X.expand(3, 2, 3)), ValueError, "leading axes of query and value"),
    ((X, X, X, X), TypeError, "mask must be a boolean tensor"),
    ((X, X, X, MASK.new_ones(3, 2)), ValueError, "must broadcast"),
]


@pytest.mark.parametrize(("given", "error", "message"), REFUSED)
@each_way
def test_wrong_arguments_are_refused(given, error, message, way):
    with pytest.raises(error, match=message):
        way(*given)


def test_wrong_scores_are_refused():
    with pytest.raises(TypeError, match="scores must be a floating-point tensor"):
        masked_softmax(X.int())
    with pytest.raises(ValueError, match=r"\(1, 3\); got \(2, 3\)"):
        masked_softmax(X[:1], MASK.new_ones(2, 3))
