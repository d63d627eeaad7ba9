"""Multi-head attention, one head after the other: every option, mask, dtype and cache."""

import copy
import math
import pickle
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from selfattn_book.attention import attention_weights
from selfattn_book.cache import KeyValueCache
from selfattn_book.masks import causal_mask, padding_mask, sliding_window_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.rotary import dynamic_ntk_scaling, llama3_scaling, rotate

# Distinct sizes, none divisible by another, except in products.
BATCH, HEADS, QUERIES, KEYS, HEAD_WIDTH = 2, 6, 5, 7, 11
WIDTH = HEADS * HEAD_WIDTH
NARROW = {"d_model": WIDTH, "num_heads": HEADS}
WIDE = {"d_model": 17, "num_heads": HEADS, "d_head": 17, "d_input": WIDTH}
FREE = WIDE | {"d_head": HEAD_WIDTH}
ROTATED = WIDE | {"d_head": 10, "num_kv_heads": 1, "rotary_base": 500.0}
KINDS = {"narrow": NARROW, "wide": WIDE, "free": FREE, "rotated": ROTATED}
# Options of later models, all at once.
LONG = {"factor": 3.0, "original_length": 4}
LATER = ROTATED | {"rotary_scaling": partial(llama3_scaling, **LONG), "temperature": 2.0}
LATER |= {"qk_norm": partial(nn.RMSNorm, eps=0.01), "window": 3}
WINDOWS = {"window": LATER, "wide window": LATER | {"window": 99}}
DYNAMIC = {"rotary_scaling": partial(dynamic_ntk_scaling, **LONG), "dynamic_scaling": True}
EVERY = KINDS | WINDOWS | {"dynamic": LATER | DYNAMIC}
EVERY |= {f"{n} groups": FREE | {"num_kv_heads": n} for n in (1, 2, 3)}
EVERY |= {f"{n} rotated": ROTATED | {"num_kv_heads": n} for n in (2, 3, 6)}
SCORES = (BATCH, HEADS, QUERIES, KEYS)
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

MASKS = {
    "none": None,
    "causal": causal_mask(QUERIES, KEYS),
    "padding": padding_mask([3, 7]),
    "both": causal_mask(QUERIES, KEYS) & padding_mask([3, 7]),
    "masked row": ~causal_mask(QUERIES, KEYS),
    "masked sample": padding_mask([7, 0]),
    "nothing": torch.tensor(True),
    "one size": torch.ones(1, 1).bool(),
    "one key": torch.arange(KEYS) == 4,
    "queries": torch.arange(QUERIES)[:, None] > 1,
    "heads": (torch.arange(HEADS) % 3 > 0)[:, None, None],
    "heads and keys": (torch.arange(HEADS * KEYS) % 4 > 0).view(HEADS, 1, KEYS),
    "heads and queries": (torch.arange(HEADS * QUERIES) % 4 > 0).view(1, HEADS, QUERIES, 1),
    "scores": (torch.arange(math.prod(SCORES)) % 3 > 0).view(SCORES),
}

each_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
both_paths = pytest.mark.parametrize("need_weights", [True, False])
free_and_rotated = pytest.mark.parametrize("options", [FREE, ROTATED], ids=["free", "rotated"])


@pytest.fixture
def make(seeded):
    """Make a module from a seed, in float64 and in evaluation mode; no norm is the identity."""

    def _make(options=FREE, *, seed=0, dtype=torch.float64, **more):
        with seeded(seed):
            module = MultiHeadAttention(**options | more)
            for norm in (module.query_norm, module.key_norm):
                if norm is not None:
                    nn.init.normal_(norm.weight)
        return module.to(dtype).eval()

    return _make


@pytest.fixture
def inputs(draw):
    """Query, key and value sequences."""

    def _inputs(dtype=torch.float64):
        lengths = enumerate((QUERIES, KEYS, KEYS))
        return [draw(BATCH, t, WIDTH, seed=s, dtype=dtype) for s, t in lengths]

    return _inputs


def projections(attention):
    return attention.project_query, attention.project_key, attention.project_value


def by_hand(attention, oracle, query, key, value, mask):
    """Return output and weights, by one head after the other."""
    contexts, all_weights, width = [], [], attention.d_head
    base, scaling = attention.rotary_base, attention.rotary_scaling
    scaling = partial(scaling, length=KEYS) if attention.dynamic_scaling else scaling

    def head(linear, x, number):
        rows = slice(number * width, (number + 1) * width)
        return x @ linear.weight[rows].T + linear.bias[rows]

    for h in range(HEADS):
        g = h * attention.num_kv_heads // HEADS
        q, k = head(attention.project_query, query, h), head(attention.project_key, key, g)
        if attention.query_norm is not None:
            q, k = attention.query_norm(q), attention.key_norm(k)
        if base is not None:
            q = rotate(q, torch.arange(KEYS)[-QUERIES:], base, scaling=scaling)
            k = rotate(k, torch.arange(KEYS), base, scaling=scaling)
        q, own = q / attention.temperature, None if mask is None else mask.expand(SCORES)[:, h]
        contexts.append(oracle(q, k, head(attention.project_value, value, g), own))
        all_weights.append(attention_weights(q, k, own))
    return attention.project_output(torch.cat(contexts, -1)), torch.stack(all_weights, 1)


@pytest.mark.parametrize("options", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@both_paths
def test_output_weights_and_gradients_agree_with_a_loop(
    make, inputs, oracle, agree, options, mask, need_weights
):
    attention, seen = make(options), mask
    if window := attention.window:
        seen = sliding_window_mask(QUERIES, window, KEYS)
        seen = seen if mask is None else seen & mask
    ours, theirs = ([x.requires_grad_() for x in inputs()] for _ in range(2))
    expected, expected_weights = by_hand(attention, oracle, *theirs, seen)
    is_causal = window is not None
    output, weights = attention(*ours, mask, is_causal=is_causal, need_weights=need_weights)
    agree(output, expected)
    if need_weights:
        agree(weights, expected_weights)
        assert seen is None or not weights[~seen.expand(SCORES)].any()
    else:
        assert weights is None
    for found in (output, expected):
        found.square().sum().backward()
    for x, y in zip(ours, theirs, strict=True):
        torch.testing.assert_close(x.grad, y.grad, rtol=1e-11, atol=1e-12)


def test_parameters_are_initialized_as_by_four_linear_maps(seeded):
    with seeded(7):
        attention = MultiHeadAttention(17, 3, d_input=5, d_head=11)
    with seeded(7):
        for linear in (*projections(attention), attention.project_output):
            theirs = nn.Linear(linear.in_features, linear.out_features)
            assert linear.weight.equal(theirs.weight)
            assert linear.bias.equal(theirs.bias)
    assert attention.project_key.weight.shape == (33, 5)


# The dtype of the parameters, that of the inputs, and that of autocast, if any.
PRECISIONS = [(dtype, dtype, None) for dtype in DTYPES]
PRECISIONS += [(torch.float32, dtype, torch.bfloat16) for dtype in DTYPES[1:3]]


@free_and_rotated
@pytest.mark.parametrize(("dtype", "given_dtype", "autocast"), PRECISIONS)
@pytest.mark.parametrize("mask", [MASKS["scores"], MASKS["masked row"]])
@both_paths
def test_every_dtype(
    make, inputs, agree, options, dtype, given_dtype, autocast, mask, need_weights
):
    attention, given = make(options, dtype=dtype), inputs(given_dtype)
    with torch.autocast("cpu", autocast, enabled=autocast is not None):
        output, weights = attention(*given, mask, need_weights=need_weights)
    assert output.dtype == (autocast or dtype)
    if need_weights:
        assert weights.dtype == output.dtype
        assert torch.equal(weights != 0, mask.expand(SCORES))
    agree(output, attention.double()(*(x.double() for x in given), mask)[0])


@pytest.mark.parametrize(("batch", "queries", "keys"), [(0, 3, 3), (2, 0, 3), (2, 3, 0), (2, 0, 0)])
@each_kind
@both_paths
def test_empty_inputs(make, options, need_weights, batch, queries, keys):
    attention = make(options)
    query, key = (torch.ones(batch, n, WIDTH).double() for n in (queries, keys))
    output, _ = attention(query, key, key, causal_mask(queries, keys), need_weights=need_weights)
    assert output.shape == (batch, queries, options["d_model"])
    if keys == 0:
        assert torch.equal(output, attention.project_output.bias.expand_as(output))


@pytest.mark.parametrize("parts", [[1] * KEYS, [4, 1, 2], [2, 5]], ids=str)
@pytest.mark.parametrize("options", [*KINDS.values(), *WINDOWS.values()], ids=[*KINDS, *WINDOWS])
@both_paths
def test_chunks_with_a_cache_equal_all_at_once(make, draw, options, need_weights, parts):
    attention, cache, x = make(options), KeyValueCache(), draw(BATCH, KEYS, WIDTH)
    given = {"is_causal": True, "need_weights": need_weights}
    found = [attention(part, part, part, **given, cache=cache)[0] for part in x.split(parts, dim=1)]
    whole, _ = attention(x, x, x, **given)
    torch.testing.assert_close(torch.cat(found, 1), whole, rtol=0, atol=1e-12)
    shape = (BATCH, attention.num_kv_heads, KEYS, attention.d_head)  # one per key-value head
    assert cache.keys.shape == cache.values.shape == shape


def test_weights_are_returned_before_dropout_and_used_after(make, inputs, seeded, agree):
    attention, given = make(dropout=0.4), inputs()
    _, expected = attention(*given)
    with seeded(5):
        output, weights = attention.train()(*given)
    assert torch.equal(weights, expected)
    with seeded(5):
        dropped = F.dropout(weights, 0.4)
    values = attention.project_value(given[2]).unflatten(-1, (HEADS, -1)).transpose(1, 2)
    merged = (dropped @ values).transpose(1, 2).flatten(2)
    agree(output, attention.project_output(merged))


@both_paths
def test_dropout_only_in_training_and_without_a_change_of_the_mean(
    make, inputs, seeded, need_weights
):
    attention, given = make(dropout=0.5), [x[:1] for x in inputs()]
    expected, _ = make(dropout=0.0)(*given, need_weights=need_weights)
    before = torch.get_rng_state()
    assert torch.equal(attention(*given, need_weights=need_weights)[0], expected)
    assert torch.equal(torch.get_rng_state(), before)
    many = [x.expand(10_000, -1, -1) for x in given]
    with seeded(1):
        output, _ = attention.train()(*many, need_weights=need_weights)
    torch.testing.assert_close(output.mean(0), expected[0], rtol=0, atol=0.02)
    assert (output.std(0) > 0.02).all()


def test_compiles_under_autocast(make, inputs):
    attention, given = make(dtype=torch.float32), inputs(torch.bfloat16)
    compiled = torch.compile(attention, backend="aot_eager", fullgraph=True)
    with torch.autocast("cpu", torch.bfloat16):
        assert compiled(*given)[0].dtype == torch.bfloat16


def test_repr_shows_the_settings(make):
    assert "num_heads=6, d_head=11, dropout=0.25\n" in repr(make(dropout=0.25))
    assert "dropout=0.0, num_kv_heads=1, rotary_base=500.0\n" in repr(make(ROTATED))
    later = make(LATER)
    for module in (later, copy.deepcopy(later), pickle.loads(pickle.dumps(later))):
        assert "partial(<function llama3_scaling" in repr(module)
        assert "temperature=2.0, window=3\n" in repr(module)


@pytest.mark.parametrize("options", [*KINDS.values(), LATER], ids=[*KINDS, "later"])
def test_state_dict_holds_four_projections_and_restores_a_module(make, inputs, options):
    names = [f"project_{part}" for part in ("query", "key", "value", "output")]
    saved, other = make(options, seed=1), make(options, seed=2)
    norms = ["query_norm.weight", "key_norm.weight"] if options == LATER else []
    wanted = [f"{n}.{kind}" for n in names for kind in ("weight", "bias")] + norms
    assert list(saved.state_dict()) == wanted
    assert list(make(options, bias=False).state_dict()) == [f"{n}.weight" for n in names] + norms
    other.load_state_dict(saved.state_dict())
    first, second = (module(*inputs(), is_causal=True)[0] for module in (saved, other))
    assert torch.equal(first, second)


# tests/test_arguments.py asserts what each check refuses.
REFUSED_SIZES = {
    "d_model must be at least 1; got 0": {"d_model": 0},
    "num_heads must be at least 1; got 0": {"num_heads": 0},
    "num_heads must be divisible by num_kv_heads; got 6 and 4": {"num_kv_heads": 4},
    "num_kv_heads must be at least 1; got 0": {"num_kv_heads": 0},
    "d_input must be at least 1; got 0": {"d_input": 0},
    "d_head must be at least 1; got -3": {"d_head": -3},
    "d_model must be divisible .* when d_head is left out; got 7 and 6": {"d_model": 7},
    "d_head must be even where heads are rotated; got 3": {"d_head": 3, "rotary_base": 1e4},
    "rotary_base must be above 0, and finite; got 0.0": {"d_head": 2, "rotary_base": 0.0},
    "rotary_scaling must be left out without rotary_base; got .*": {"rotary_scaling": abs},
    "dynamic_scaling must be False without rotary_scaling; got True": {"dynamic_scaling": True},
    "temperature must be above 0, and finite; got 0": {"temperature": 0},
    "window must be at least 1; got 0": {"window": 0},
    "dropout must be between 0 and 1; got 1.5": {"dropout": 1.5},
    "qk_norm must be a function of d_head, .*; got True": {"qk_norm": True},
}


@pytest.mark.parametrize(("message", "options"), REFUSED_SIZES.items())
def test_construction_refuses(message, options):
    error = TypeError if "function" in message else ValueError
    with pytest.raises(error, match=f"^{message}$"):
        MultiHeadAttention(**{"d_model": 6, "num_heads": 6} | options)


def test_a_window_needs_the_causal_mask(draw, agree):
    x, attention = draw(1, 6, 6), MultiHeadAttention(6, 6, num_kv_heads=2, window=2).double()
    with pytest.raises(ValueError, match="a window needs is_causal=True; got False"):
        attention(x, x, x)
    given = x[:, 4:], x, x  # as many queries as key-value heads, as many keys as heads
    agree(*(attention(*given, is_causal=True, need_weights=need)[0] for need in (True, False)))


X = torch.ones(2, 3, 5)
DTYPE = "must have the dtype of the parameters, torch.float32; got"
REFUSED_INPUTS = [
    ((X.long(), X, X), "query must be a floating-point tensor; got dtype torch.int64"),
    ((X, X, [[[1.0]]]), "value must be a floating-point tensor; got list"),
    ((X, X, X.double()), f"value {DTYPE} torch.float64"),
    ((X.double(),) * 3, f"query {DTYPE} torch.float64"),
    ((X, X.to("meta", torch.float16), X), f"key {DTYPE} torch.float16"),
    ((X[0], X, X), r"query must have shape \(batch, length, 5\); got \(3, 5\)"),
    ((X, X[None], X), r"key must have shape .*; got \(1, 2, 3, 5\)"),
    ((X, X, X[..., :4]), r"value must have shape .*; got \(2, 3, 4\)"),
    ((X[:1], X, X), r"query, key, value must share .*; got \(1, 2, 2\)"),
    ((X, X[:1], X), r"query, key, value must share .*; got \(2, 1, 2\)"),
    ((X, X, X[:1]), r"query, key, value must share .*; got \(2, 2, 1\)"),
    ((X, X, X[:, :2]), r"key .* one length S; got \(2, 3, 5\) and \(2, 2, 5\)"),
    ((X, X, X, torch.ones(3, 3)), "mask must be a boolean .*; got dtype torch.float32"),
    ((X, X, X, torch.ones(2, 3, 3).bool()), r"mask .* \(2, 7, 3, 3\); got \(2, 3, 3\)"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED_INPUTS)
@pytest.mark.parametrize("groups", [1, 7])
@both_paths
def test_inputs_are_refused(given, message, groups, need_weights):
    error = TypeError if "dtype" in message or "list" in message else ValueError
    attention = MultiHeadAttention(5, 7, d_head=2, num_kv_heads=groups)
    for is_causal in (False, True):
        with pytest.raises(error, match=f"^{message}$"):
            attention(*given, need_weights=need_weights, is_causal=is_causal)


# A refused call leaves a cache unchanged: of the same module, or of another one.
FILLED = {"d_model": 5, "num_heads": 6, "d_head": 2, "num_kv_heads": 3, "rotary_base": 1e4}
NEXT = torch.ones(2, 1, 5)  # one position more, after the three of X
OTHER_DTYPE, OTHER_DEVICE = (NEXT.double(),) * 3, (NEXT.to("meta"),) * 3
REFUSED = [
    (None, (NEXT, NEXT, NEXT, torch.ones(1, 4)), "mask must be a boolean"),
    (None, (NEXT, NEXT, NEXT, torch.ones(3).bool()), "mask must broadcast"),
    (None, (NEXT, NEXT, NEXT, torch.ones(4, device="meta").bool()), "cpu; got meta"),
    (None, (NEXT.double(), NEXT, NEXT), "query must have the dtype"),
    (None, (NEXT[..., :4], NEXT, NEXT), "query must have shape"),
    (None, (NEXT.to("meta"), NEXT, NEXT), "meta"),
    (None, (NEXT, NEXT.to("meta"), NEXT.to("meta")), "meta"),
    (None, (NEXT[:1],) * 3, r"the cache's, \(2, 3, length, 2\)"),
    ({}, OTHER_DTYPE, "keys must have the dtype of the cache's"),
    ({"d_head": 4}, (NEXT,) * 3, "keys must continue the cache's"),
    ({"num_kv_heads": 1}, (NEXT,) * 3, "keys must continue"),
    ({}, OTHER_DEVICE, "the device of the cache's, cpu; got meta"),
    ({}, (NEXT,) * 3, "each attention module must have a cache of its own"),
]


def filled(attention):
    cache = KeyValueCache()
    attention(X, X, X, cache=cache)
    return cache


@pytest.mark.parametrize(("other", "given", "message"), REFUSED)
@both_paths
def test_a_refused_call_leaves_the_cache_unchanged(make, other, given, message, need_weights):
    attention = module = make(FILLED, dtype=torch.float32)
    cache, options = filled(attention), {"need_weights": need_weights}
    if other is not None:
        module = make(FILLED | other).to(given[0])
    with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        module(*given, **options, cache=cache)
    assert len(cache) == 3
    right, _ = attention(NEXT, NEXT, NEXT, **options, cache=cache)
    unchanged = filled(attention)
    assert right.equal(attention(NEXT, NEXT, NEXT, **options, cache=unchanged)[0])
    assert len(cache) == 4


def test_a_failure_after_the_attention_leaves_the_cache_unchanged(make):
    attention = make(FILLED, dtype=torch.float32)
    cache = filled(attention)
    attention.project_output = nn.Linear(3, 5)  # a wrong size
    with pytest.raises(RuntimeError):
        attention(NEXT, NEXT, NEXT, cache=cache)
    assert len(cache) == 3


# Finite wherever the oracle is, scores beyond 65504 included.
@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
@pytest.mark.parametrize("heads", [(1, 1), (2, 1)], ids=["one head", "grouped"])
@both_paths
def test_large_scores_in_half_precision(dtype, heads, autocast, need_weights):
    """With identity projections, scores are known: each query attends to one key alone."""
    attention = MultiHeadAttention(64, heads[0], num_kv_heads=heads[1], d_head=64, bias=False)
    for linear in projections(attention):
        linear.weight.data = torch.eye(64).repeat(linear.out_features // 64, 1)
    attention.project_output.weight.data = torch.eye(64).repeat(1, heads[0]) / heads[0]
    x = torch.tensor([200.0, 150.0, -200.0])[:, None].expand(1, 3, 64)
    assert (x @ x.mT / 8).max() > torch.finfo(torch.float16).max
    if not autocast:
        attention, x = attention.to(dtype), x.to(dtype)
    with torch.autocast("cpu", dtype, enabled=autocast):
        output, weights = attention(x, x, x, need_weights=need_weights)
    attended = torch.tensor([0, 0, 2])
    assert output.equal(x[:, attended].to(dtype))
    assert weights is None or weights.equal(torch.eye(3)[attended].expand_as(weights).to(weights))
