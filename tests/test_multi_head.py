"""Multi-head attention against PyTorch's, head by head, grouped and rotated too, in every dtype."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from selfattn_book.attention import attention_weights
from selfattn_book.cache import KeyValueCache
from selfattn_book.masks import causal_mask, padding_mask, sliding_window_mask
from selfattn_book.measure.sensitivity import sensitivity
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.rotary import dynamic_ntk_scaling, llama3_scaling, rotate

# Distinct primes for all sizes, except products where one divides another.
BATCH, HEADS, QUERIES, KEYS, HEAD_WIDTH, INPUT_WIDTH = 2, 3, 5, 7, 11, 13
NARROW = {"d_model": HEADS * HEAD_WIDTH, "num_heads": HEADS}
WIDE = {"d_model": 17, "num_heads": HEADS, "d_head": 17, "d_input": INPUT_WIDTH}
FREE = {"d_model": 17, "num_heads": HEADS, "d_head": 11, "d_input": INPUT_WIDTH}
ROTATED = {"d_model": 17, "num_heads": HEADS, "d_head": 10, "d_input": INPUT_WIDTH}
ROTATED |= {"num_kv_heads": 1, "rotary_base": 500.0}
KINDS = {"narrow": NARROW, "wide": WIDE, "free": FREE, "rotated": ROTATED}
SCORES = (BATCH, HEADS, QUERIES, KEYS)
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

MASKS = {
    "none": lambda: None,
    "causal": lambda: causal_mask(QUERIES, KEYS),
    "padding": lambda: padding_mask([3, 7]),
    "both": lambda: causal_mask(QUERIES, KEYS) & padding_mask([3, 7]),
    "masked row": lambda: ~causal_mask(QUERIES, KEYS),
    "masked sample": lambda: padding_mask([7, 0]),
}
BROADCASTABLE = [
    *[(), (KEYS,), (1, 1), (QUERIES, 1), (QUERIES, KEYS), (HEADS, 1, 1), (HEADS, 1, KEYS)],
    *[(BATCH, 1, 1, KEYS), (1, HEADS, QUERIES, 1), SCORES],
]

each_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
both_paths = pytest.mark.parametrize("need_weights", [True, False])
free_and_rotated = pytest.mark.parametrize("options", [FREE, ROTATED], ids=["free", "rotated"])


@pytest.fixture(params=MASKS)
def mask(request):
    return MASKS[request.param]()


@pytest.fixture
def make(seeded):
    """Make a module from a seed, in float64 and in evaluation mode."""

    def _make(options=FREE, *, seed=0, dtype=torch.float64, **more):
        with seeded(seed):
            return MultiHeadAttention(**options | more).to(dtype).eval()

    return _make


@pytest.fixture
def inputs(draw):
    """Query, key and value sequences of a given dimension."""

    def _inputs(width=INPUT_WIDTH, dtype=torch.float64):
        lengths = enumerate((QUERIES, KEYS, KEYS))
        return [draw(BATCH, t, width, seed=s, dtype=dtype) for s, t in lengths]

    return _inputs


def projections(attention):
    return attention.project_query, attention.project_key, attention.project_value


def head(linear, x, number, width):
    """One head's part of a projection."""
    rows = slice(number * width, (number + 1) * width)
    return x @ linear.weight[rows].T + linear.bias[rows]


@each_kind
def test_shapes_and_samples_that_do_not_interact(make, inputs, mask, options):
    attention, given = make(options), inputs(options.get("d_input", options["d_model"]))
    before, weights = attention(*given, mask)
    assert before.shape == (BATCH, QUERIES, options["d_model"])
    assert weights.shape == SCORES
    for x in given:
        x[0] *= 2
    after, _ = attention(*given, mask)
    assert torch.equal(before[1], after[1])
    assert not torch.equal(before[0], after[0])


# `~mask` against nn.MultiheadAttention, with its parameters copied.
@pytest.fixture
def peers(make, seeded):
    """Our module and PyTorch's, with the same parameters."""

    def _peers(bias, dtype=torch.float64):
        ours = make(NARROW, dtype=dtype, bias=bias)
        options = {"bias": bias, "batch_first": True, "dtype": dtype}
        with seeded(1):
            theirs = nn.MultiheadAttention(NARROW["d_model"], HEADS, **options)
        for kind in ("weight", "bias") if bias else ("weight",):
            parts = [getattr(linear, kind) for linear in projections(ours)]
            getattr(theirs, f"in_proj_{kind}").data = torch.cat(parts).detach()
            getattr(theirs.out_proj, kind).data = getattr(ours.project_output, kind).detach()
        return ours, theirs.eval()

    return _peers


@pytest.mark.parametrize("dtype", DTYPES[2:], ids=str)
@pytest.mark.parametrize("bias", [True, False])
@both_paths
def test_agrees_with_pytorch(peers, inputs, agree, draw_mask, bias, dtype, need_weights):
    ours, theirs = peers(bias, dtype)
    given, mask = inputs(NARROW["d_model"], dtype), draw_mask(*SCORES)
    output, weights = ours(*given, mask, need_weights=need_weights)
    options = {"attn_mask": ~mask.flatten(0, 1), "average_attn_weights": False}
    expected, expected_weights = theirs(*given, **options)
    agree(output, expected)
    if need_weights:
        agree(weights, expected_weights)


@both_paths
def test_gradients_agree_with_pytorch(peers, inputs, draw_mask, need_weights):
    ours, theirs = peers(bias=True)
    mask = draw_mask(*SCORES)
    ours_given, theirs_given = (
        [x.requires_grad_() for x in inputs(NARROW["d_model"])] for _ in range(2)
    )
    ours(*ours_given, mask, need_weights=need_weights)[0].square().sum().backward()
    theirs(*theirs_given, attn_mask=~mask.flatten(0, 1))[0].square().sum().backward()
    for x, y in zip(ours_given, theirs_given, strict=True):
        torch.testing.assert_close(x.grad, y.grad, rtol=1e-12, atol=1e-14)


def test_parameters_are_initialized_as_by_four_linear_maps(seeded):
    with seeded(7):
        attention = MultiHeadAttention(17, 3, d_input=5, d_head=11)
    with seeded(7):
        for linear in (*projections(attention), attention.project_output):
            theirs = nn.Linear(linear.in_features, linear.out_features)
            assert linear.weight.equal(theirs.weight)
            assert linear.bias.equal(theirs.bias)
    assert attention.project_key.weight.shape == (33, 5)


# Wide heads, grouped heads and rotated heads: against one head after the other.
@pytest.mark.parametrize("base", [None, 500.0])
@pytest.mark.parametrize(("heads", "groups"), [(3, 3), (6, 1), (6, 2), (6, 3)])
@both_paths
def test_agrees_with_a_loop(make, inputs, oracle, agree, mask, heads, groups, base, need_weights):
    width = 10
    options = {"d_head": width, "num_heads": heads, "num_kv_heads": groups, "rotary_base": base}
    attention, (query, key, value) = make(FREE, **options), inputs()
    if mask is not None and mask.ndim == 4:
        mask = mask[:, 0]
    contexts, all_weights = [], []
    for h in range(heads):
        g = h * groups // heads
        q = head(attention.project_query, query, h, width)
        k = head(attention.project_key, key, g, width)
        v = head(attention.project_value, value, g, width)
        if base is not None:
            q = rotate(q, torch.arange(QUERIES) + KEYS - QUERIES, base)
            k = rotate(k, torch.arange(KEYS), base)
        contexts.append(oracle(q, k, v, mask))
        all_weights.append(attention_weights(q, k, mask))
    mask = mask if mask is None or mask.ndim == 2 else mask[:, None]
    output, weights = attention(query, key, value, mask, need_weights=need_weights)
    agree(output, attention.project_output(torch.cat(contexts, -1)))
    if need_weights:
        agree(weights, torch.stack(all_weights, 1))
    else:
        assert weights is None


# Options of later models, all at once: against the same operations, one after the other.
LONG = {"factor": 3.0, "original_length": 4}
LATER = {"rotary_scaling": partial(llama3_scaling, **LONG), "temperature": 2.0, "window": 3}
LATER |= ROTATED | {"qk_norm": partial(nn.RMSNorm, eps=0.01)}
DYNAMIC = {"rotary_scaling": partial(dynamic_ntk_scaling, **LONG), "dynamic_scaling": True}
each_later = pytest.mark.parametrize("more", [{}, DYNAMIC, {"window": 99}], ids=len)


def later(make, randomized, **more):
    return randomized(make(LATER | more)).eval()


@each_later
@pytest.mark.parametrize("padded", [False, True])
@both_paths
def test_later_options_agree_with_their_definitions(
    make, randomized, inputs, oracle, agree, more, padded, need_weights
):
    attention, (query, key, value) = later(make, randomized, **more), inputs()
    mask = sliding_window_mask(QUERIES, attention.window, KEYS)
    padding = padding_mask([7, 5]).flip(-1) if padded else None
    scaling = attention.rotary_scaling
    scaling = partial(scaling, length=KEYS) if more == DYNAMIC else scaling
    k = attention.key_norm(attention.project_key(key))
    k = rotate(k, torch.arange(KEYS), 500.0, scaling=scaling)
    contexts = []
    for h in range(HEADS):
        q = attention.query_norm(head(attention.project_query, query, h, 10))
        q = rotate(q, torch.arange(KEYS)[-QUERIES:], 500.0, scaling=scaling) / 2.0
        both = mask & padding[:, 0] if padded else mask
        contexts.append(oracle(q, k, attention.project_value(value), both))
    given = {"is_causal": True, "need_weights": need_weights}
    output, weights = attention(query, key, value, padding, **given)
    agree(output, attention.project_output(torch.cat(contexts, -1)))
    if need_weights:
        assert torch.equal(weights != 0, both.expand(HEADS, BATCH, -1, -1).transpose(0, 1))


@pytest.mark.parametrize("more", [{}, {"window": 99}], ids=len)
@pytest.mark.parametrize("parts", [[1] * KEYS, [4, 1, 2], [2, 5]], ids=str)
@both_paths
def test_later_options_are_exact_with_a_cache(make, randomized, draw, more, parts, need_weights):
    attention, x = later(make, randomized, **more), draw(BATCH, KEYS, INPUT_WIDTH)
    cache, given = KeyValueCache(), {"is_causal": True, "need_weights": need_weights}
    found = [attention(z, z, z, **given, cache=cache)[0] for z in x.split(parts, dim=1)]
    whole, _ = attention(x, x, x, **given)
    torch.testing.assert_close(torch.cat(found, 1), whole, rtol=0, atol=1e-12)


def test_later_options_are_shown_and_saved(make, randomized):
    attention = pickle.loads(pickle.dumps(later(make, randomized)))
    assert "partial(<function llama3_scaling" in repr(attention)
    assert "temperature=2.0, window=3\n" in repr(attention)
    assert list(attention.state_dict())[-2:] == ["query_norm.weight", "key_norm.weight"]


def test_only_rotated_heads_depend_on_the_order_of_keys(make, draw, agree):
    x, order = draw(BATCH, KEYS, INPUT_WIDTH), torch.tensor([3, 0, 6, 1, 5, 2, 4])
    for attention, has_order in ((make(), False), (make(ROTATED), True)):
        shuffled = attention(x, *[x[:, order]] * 2)[0]
        gap = (shuffled - attention(x, x, x)[0]).abs().max()
        assert (gap > 1e-3) if has_order else (gap < 1e-12)


# Broadcastable to (B, H, T, S).
@pytest.mark.parametrize("shape", BROADCASTABLE, ids=str)
@both_paths
def test_any_broadcastable_mask(make, inputs, agree, draw_mask, shape, need_weights):
    attention, given = make(), inputs()
    mask = draw_mask(*shape) if shape else torch.tensor(True)
    output, weights = attention(*given, mask, need_weights=need_weights)
    expected, expected_weights = attention(*given, mask.expand(SCORES))
    agree(output, expected)
    if need_weights:
        agree(weights, expected_weights)
        assert not weights[~mask.expand(SCORES)].any()


@free_and_rotated
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@both_paths
def test_every_dtype(make, inputs, agree, draw_mask, options, dtype, need_weights):
    attention = make(options, dtype=dtype)
    given, mask = inputs(dtype=dtype), draw_mask(*SCORES)
    output, weights = attention(*given, mask, need_weights=need_weights)
    assert output.dtype == dtype
    if need_weights:
        assert weights.dtype == dtype
        assert torch.equal(weights != 0, mask)
    agree(output, attention.double()(*(x.double() for x in given), mask)[0])


@pytest.mark.parametrize("dtype", DTYPES[2:], ids=str)
@free_and_rotated
@both_paths
def test_a_fully_masked_query(make, inputs, draw_mask, options, dtype, need_weights):
    """Its output is the bias alone, and all gradients are finite."""
    mask = draw_mask(*SCORES)
    mask[1, :, 3] = False  # in every head
    mask[0, 2, 1] = False  # in one head
    attention, given = make(options, dtype=dtype), [x.requires_grad_() for x in inputs(dtype=dtype)]
    with torch.autograd.set_detect_anomaly(True):
        output, weights = attention(*given, mask, need_weights=need_weights)
        output.square().sum().backward()
    torch.testing.assert_close(output[1, 3], attention.project_output.bias)
    assert not torch.equal(output[1, 2], attention.project_output.bias)
    assert weights is None or not weights[1, :, 3].any()
    for x in (*given, *attention.parameters()):
        assert x.grad.isfinite().all()
        assert x.grad.any()
    assert not given[0].grad[1, 3].any()


@pytest.mark.parametrize(("batch", "queries", "keys"), [(0, 3, 3), (2, 0, 3), (2, 3, 0), (2, 0, 0)])
@each_kind
@both_paths
def test_empty_inputs(make, options, need_weights, batch, queries, keys):
    attention, width = make(options), options.get("d_input", options["d_model"])
    query, key = (torch.ones(batch, n, width).double() for n in (queries, keys))
    output, _ = attention(query, key, key, causal_mask(queries, keys), need_weights=need_weights)
    assert output.shape == (batch, queries, options["d_model"])
    if keys == 0:
        assert torch.equal(output, attention.project_output.bias.expand_as(output))


# In chunks, with a cache, equals all at once.
@pytest.mark.parametrize("parts", [[1] * KEYS, [4, 1, 2], [2, 5]], ids=str)
@each_kind
@both_paths
def test_chunks_with_a_cache_equal_all_at_once(make, draw, options, need_weights, parts):
    attention, cache, found = make(options), KeyValueCache(), []
    x = draw(BATCH, KEYS, options.get("d_input", options["d_model"]))
    whole, _ = attention(x, x, x, causal_mask(KEYS), need_weights=need_weights)
    for part in x.split(parts, dim=1):
        mask = causal_mask(part.size(1), len(cache) + part.size(1))
        given = {"need_weights": need_weights, "cache": cache}
        found.append(attention(part, part, part, mask, **given)[0])
    torch.testing.assert_close(torch.cat(found, 1), whole, rtol=0, atol=1e-12)
    shape = (BATCH, attention.num_kv_heads, KEYS, attention.d_head)  # one per key-value head
    assert cache.keys.shape == cache.values.shape == shape


@each_kind
@both_paths
def test_only_the_past_affects_the_output(make, draw, options, need_weights):
    attention, mask = make(options), causal_mask(KEYS)

    def attend(x):
        return attention(*[x[None]] * 3, mask, need_weights=need_weights)[0][0]

    x = draw(KEYS, options.get("d_input", options["d_model"]))
    assert torch.equal(sensitivity(attend, x) != 0, mask)


@free_and_rotated
@both_paths
def test_a_padded_sequence_equals_itself_alone(make, inputs, agree, options, need_weights):
    attention, (_, x, _) = make(options), inputs()
    output, _ = attention(x, x, x, padding_mask([3, 7]), need_weights=need_weights)
    for sample, length in enumerate([3, 7]):
        alone = x[[sample], :length]
        expected, _ = attention(alone, alone, alone, need_weights=need_weights)
        agree(output[[sample], :length], expected)
    left = causal_mask(KEYS) & (torch.arange(KEYS) >= 2)
    expected, _ = attention(*[x[:, 2:]] * 3, causal_mask(KEYS - 2))
    agree(attention(x, x, x, left, need_weights=need_weights)[0][:, 2:], expected)


def test_weights_are_returned_before_dropout(make, inputs, mask, agree):
    attention, given = make(ROTATED, dropout=0.5), inputs()
    _, expected = attention(*given, mask)
    _, weights = attention.train()(*given, mask)
    assert torch.equal(weights, expected)
    visible = torch.ones(SCORES) if mask is None else mask.expand(SCORES)
    agree(weights.sum(-1), visible.any(-1).double())


def test_the_output_is_computed_after_dropout(make, inputs, seeded, agree):
    attention, given = make(dropout=0.4).train(), inputs()
    with seeded(5):
        output, weights = attention(*given)
    with seeded(5):
        dropped = F.dropout(weights, 0.4)
    values = attention.project_value(given[2]).unflatten(-1, (HEADS, -1)).transpose(1, 2)
    merged = (dropped @ values).transpose(1, 2).flatten(2)
    agree(output, attention.project_output(merged))


@both_paths
def test_dropout_only_in_training(make, inputs, seeded, need_weights):
    attention, given = make(dropout=0.5), inputs()
    without, _ = make(dropout=0.0)(*given, need_weights=need_weights)
    before = torch.get_rng_state()
    assert torch.equal(attention(*given, need_weights=need_weights)[0], without)
    assert torch.equal(torch.get_rng_state(), before)
    found = []
    for seed in (1, 1, 2):
        with seeded(seed):
            found.append(attention.train()(*given, need_weights=need_weights)[0])
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert not torch.equal(found[0], without)


@both_paths
def test_dropping_everything_leaves_the_bias(make, inputs, need_weights):
    attention = make(dropout=1.0).train()
    output, weights = attention(*inputs(), need_weights=need_weights)
    assert torch.equal(output, attention.project_output.bias.expand_as(output))
    assert weights is None or weights.all()


@both_paths
def test_dropout_keeps_the_mean(make, inputs, seeded, need_weights):
    attention = make(dropout=0.5)
    given = [x[:1].expand(10_000, -1, -1) for x in inputs()]
    mean, _ = attention(*inputs())
    with seeded(1):
        output, _ = attention.train()(*given, need_weights=need_weights)
    torch.testing.assert_close(output.mean(0), mean[0], rtol=0, atol=0.02)
    assert (output.std(0) > 0.02).all()


@free_and_rotated
@both_paths
def test_nothing_is_changed_or_kept(make, inputs, mask, options, need_weights):
    attention, given = make(options), inputs()
    clones = [x.clone() for x in given], copy.deepcopy(attention.state_dict())
    mask_before, attributes = None if mask is None else mask.clone(), set(vars(attention))
    first, _ = attention(*given, mask, need_weights=need_weights)
    attention(*(x[:, :3] for x in given), need_weights=not need_weights)
    assert torch.equal(attention(*given, mask, need_weights=need_weights)[0], first)
    assert all(map(torch.equal, given, clones[0]))
    assert mask is None or torch.equal(mask, mask_before)
    assert set(vars(attention)) == attributes
    assert all(torch.equal(x, clones[1][name]) for name, x in attention.state_dict().items())


@each_kind
@both_paths
def test_runs_on_meta(options, need_weights):
    with torch.device("meta"):
        attention = MultiHeadAttention(**options)
        x = torch.ones(BATCH, KEYS, options.get("d_input", options["d_model"]))
        output, _ = attention(x, x, x, causal_mask(KEYS), need_weights=need_weights)
    assert all(p.is_meta for p in attention.parameters())
    assert output.is_meta
    assert output.shape == (BATCH, KEYS, options["d_model"])


@free_and_rotated
@both_paths
def test_compiles(make, inputs, agree, options, need_weights):
    attention, given, mask = make(options), inputs(), MASKS["masked row"]()
    compiled = torch.compile(attention, backend="aot_eager", fullgraph=True)
    output, weights = compiled(*given, mask, need_weights=need_weights)
    expected, expected_weights = attention(*given, mask)
    agree(output, expected)
    if need_weights:
        agree(weights, expected_weights)


@pytest.mark.parametrize("batch", [BATCH, 5])
@free_and_rotated
@both_paths
def test_exports_with_dynamic_sizes(make, inputs, draw, agree, options, need_weights, batch):
    attention, given = make(options), {"need_weights": need_weights}
    first = {} if batch == BATCH else {0: torch.export.Dim("batch")}
    queries, keys = torch.export.Dim("queries"), torch.export.Dim("keys")
    sizes = {"query": first | {1: queries}, "key": first | {1: keys}, "value": first | {1: keys}}
    sizes |= {"mask": {0: queries, 1: keys}, "need_weights": None}
    example = (*inputs(), causal_mask(QUERIES, KEYS))
    exported = torch.export.export(attention, example, given, dynamic_shapes=sizes)
    query, key = draw(batch, 17, INPUT_WIDTH), draw(batch, 19, INPUT_WIDTH)
    output, _ = exported.module()(query, key, key, causal_mask(17, 19), **given)
    agree(output, attention(query, key, key, causal_mask(17, 19), **given)[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@free_and_rotated
@both_paths
def test_autocast(make, inputs, agree, options, dtype, need_weights):
    attention, given = make(options, dtype=torch.float32), inputs(dtype=dtype)
    mask = MASKS["masked row"]()
    with torch.autocast("cpu", torch.bfloat16):
        output, _ = attention(*given, mask, need_weights=need_weights)
    assert output.dtype == torch.bfloat16
    agree(output, attention(*(x.float() for x in given), mask)[0])


def test_autocast_compiles(make, inputs):
    attention, given = make(dtype=torch.float32), inputs(dtype=torch.bfloat16)
    compiled = torch.compile(attention, backend="aot_eager", fullgraph=True)
    with torch.autocast("cpu", torch.bfloat16):
        assert compiled(*given)[0].dtype == torch.bfloat16


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))]
)
def test_copies_give_the_same(make, inputs, duplicate):
    attention, given = make(ROTATED), inputs()
    for x, y in zip(duplicate(attention)(*given), attention(*given), strict=True):
        assert torch.equal(x, y)


@each_kind
def test_state_dict_holds_four_projections_and_restores_a_module(make, inputs, options):
    names = ["project_query", "project_key", "project_value", "project_output"]
    saved, other = make(options, seed=1), make(options, seed=2)
    assert list(saved.state_dict()) == [f"{n}.{kind}" for n in names for kind in ("weight", "bias")]
    assert list(make(options, bias=False).state_dict()) == [f"{n}.weight" for n in names]
    given = inputs(options.get("d_input", options["d_model"]))
    assert not torch.equal(saved(*given)[0], other(*given)[0])
    other.load_state_dict(saved.state_dict())
    assert torch.equal(saved(*given)[0], other(*given)[0])


def test_repr_shows_the_settings(make):
    assert "num_heads=3, d_head=11, dropout=0.25\n" in repr(make(dropout=0.25))
    assert "dropout=0.0, num_kv_heads=1, rotary_base=500.0\n" in repr(make(ROTATED))


def test_sizes_may_be_numpy_integers():
    attention = MultiHeadAttention(np.int64(6), np.int32(2), num_kv_heads=np.int64(1))
    assert attention.project_query.weight.shape == (6, 6)
    assert attention.project_key.weight.shape == (3, 6)


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
}


@pytest.mark.parametrize(("message", "options"), REFUSED_SIZES.items())
def test_construction_refuses(message, options):
    with pytest.raises(ValueError, match=f"^{message}$"):
        MultiHeadAttention(**{"d_model": 6, "num_heads": 6} | options)


def test_a_norm_is_a_function():
    with pytest.raises(TypeError, match="got True"):
        MultiHeadAttention(6, 6, qk_norm=True)


def test_a_window_needs_the_causal_mask(draw, agree):
    x, attention = draw(1, 6, 6), MultiHeadAttention(6, 6, num_kv_heads=2, window=2).double()
    with pytest.raises(ValueError, match="a window needs is_causal=True; got False"):
        attention(x, x, x)
    ways = (attention(x, x, x, is_causal=True, need_weights=need)[0] for need in (True, False))
    agree(*ways)


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
    ((X, X, X, [[True]]), "mask must be a boolean tensor, True = may attend; got list"),
    ((X, X, X, torch.ones(2, 3, 3).bool()), r"mask .* \(2, 7, 3, 3\); got \(2, 3, 3\)"),
    ((X, X, X, torch.ones(1, 1, 1, 3, 3).bool()), r"mask .*; got \(1, 1, 1, 3, 3\)"),
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


# A refused call leaves a cache unchanged.
FILLED = {"d_model": 5, "num_heads": 6, "d_head": 2, "num_kv_heads": 3, "rotary_base": 1e4}
NEXT = torch.ones(2, 1, 5)  # one position more, after the three of X
REFUSED = {
    "dtype of the mask": (NEXT, NEXT, torch.ones(1, 4), "mask must be a boolean"),
    "size of the mask": (NEXT, NEXT, torch.ones(3).bool(), "mask must broadcast"),
    "device of the mask": (NEXT, NEXT, torch.ones(4, device="meta").bool(), "cpu; got meta"),
    "dtype of the query": (NEXT.double(), NEXT, None, "query must have the dtype"),
    "size of the query": (NEXT[..., :4], NEXT, None, "query must have shape"),
    "device of the query": (NEXT.to("meta"), NEXT, None, "meta"),
    "device of the keys": (NEXT, NEXT.to("meta"), None, "meta"),
    "batch": (NEXT[:1], NEXT[:1], None, r"the cache's, \(2, 3, length, 2\)"),
}


def filled(attention, need_weights=True):
    cache = KeyValueCache()
    attention(X, X, X, need_weights=need_weights, cache=cache)
    return cache


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
@both_paths
def test_a_refused_call_leaves_the_cache_unchanged(make, case, need_weights):
    attention = make(FILLED, dtype=torch.float32)
    query, keys, mask, message = case
    options = {"need_weights": need_weights}
    cache, other = (filled(attention, need_weights) for _ in range(2))
    with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        attention(query, keys, keys, mask, **options, cache=cache)
    assert len(cache) == 3
    right, _ = attention(NEXT, NEXT, NEXT, **options, cache=cache)
    assert right.equal(attention(NEXT, NEXT, NEXT, **options, cache=other)[0])
    assert len(cache) == 4


def test_a_cache_of_a_different_module_is_refused_and_left_unchanged(make):
    cache = filled(make(FILLED, dtype=torch.float32))
    keys, values = cache.keys.clone(), cache.values
    for options, dtype, device, message in (
        (FILLED, torch.float64, "cpu", "keys must have the dtype of the cache's"),
        (FILLED | {"d_head": 4}, torch.float32, "cpu", "keys must continue the cache's"),
        (FILLED | {"num_kv_heads": 1}, torch.float32, "cpu", "keys must continue"),
        (FILLED, torch.float32, "meta", "the device of the cache's, cpu; got meta"),
        (FILLED, torch.float32, "cpu", "each attention module must have a cache of its own"),
    ):
        x = NEXT.to(device, dtype)
        with pytest.raises((TypeError, ValueError), match=message):
            make(options, dtype=dtype).to(device)(x, x, x, cache=cache)
        assert cache.keys.equal(keys)
    for wrong, error, message in (
        (values[:, :, :1].double(), TypeError, "values must have the dtype of the cache's"),
        (values[..., :1], ValueError, r"values must continue the cache's, \(2, 3, length, 2\)"),
        (values.to("meta"), ValueError, "values must be on the device"),
    ):
        with pytest.raises(error, match=message):
            cache.append(keys, wrong)


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
