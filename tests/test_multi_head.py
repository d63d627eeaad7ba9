import copy
import math
import pickle

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from selfattn_book.cache import KeyValueCache
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.measure.flow import information_flow
from selfattn_book.multi_head import MultiHeadAttention

# Another prime for every size, but for the width of narrow heads, which is a product.
BATCH, HEADS, QUERIES, KEYS, HEAD_WIDTH, INPUT_WIDTH = 2, 3, 5, 7, 11, 13
NARROW = {"d_model": HEADS * HEAD_WIDTH, "num_heads": HEADS}
WIDE = {"d_model": 17, "num_heads": HEADS, "d_head": 17, "d_input": INPUT_WIDTH}
FREE = {"d_model": 17, "num_heads": HEADS, "d_head": 11, "d_input": INPUT_WIDTH}
KINDS = {"narrow": NARROW, "wide": WIDE, "free": FREE}
SCORES = (BATCH, HEADS, QUERIES, KEYS)
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

MASKS = {
    "none": lambda: None,
    "causal": lambda: causal_mask(QUERIES, KEYS),
    "padding": lambda: padding_mask([3, 7]),
    "both": lambda: causal_mask(QUERIES, KEYS) & padding_mask([3, 7]),
    "blind row": lambda: ~causal_mask(QUERIES, KEYS),
    "blind sample": lambda: padding_mask([7, 0]),
}
BROADCASTABLE = [(), (KEYS,), (1, 1), (QUERIES, 1), (QUERIES, KEYS), (HEADS, 1, 1)]
BROADCASTABLE += [
    (HEADS, 1, KEYS),
    (BATCH, 1, 1, KEYS),
    (1, HEADS, QUERIES, 1),
    SCORES,
]

each_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
both_paths = pytest.mark.parametrize("need_weights", [True, False])


@pytest.fixture(params=MASKS)
def mask(request):
    return MASKS[request.param]()


@pytest.fixture
def make(seeded):
    """Make a module from a seed, in float64 and in evaluation mode."""

    def _make(options=FREE, *, seed=0, dtype=torch.float64, **more):
        with seeded(seed):
            return MultiHeadAttention(**options, **more).to(dtype).eval()

    return _make


@pytest.fixture
def inputs(draw):
    """Query, key and value sequences of a given width."""

    def _inputs(width=INPUT_WIDTH, dtype=torch.float64):
        lengths = enumerate((QUERIES, KEYS, KEYS))
        return [draw(BATCH, t, width, seed=s, dtype=dtype) for s, t in lengths]

    return _inputs


def one_by_one(attention):
    """Return a function of each input for each head, with that head's rows of the maps."""

    def of_rows(linear, rows):
        return lambda x: x @ linear.weight[rows].T + linear.bias[rows]

    width = attention.d_head
    each = [slice(h * width, (h + 1) * width) for h in range(attention.num_heads)]
    return [[of_rows(m, rows) for m in projections(attention)] for rows in each]


def projections(attention):
    return attention.project_query, attention.project_key, attention.project_value


# Contract, "layout" and "weights returned".
@each_kind
def test_shapes(make, inputs, options):
    attention = make(options)
    width = options.get("d_input", options["d_model"])
    context, weights = attention(*inputs(width))
    assert context.shape == (BATCH, QUERIES, options["d_model"])
    assert weights.shape == SCORES
    assert attention(*inputs(width), need_weights=False)[1] is None


@both_paths
def test_samples_do_not_meet(make, inputs, mask, need_weights):
    attention, given = make(), inputs()
    before, _ = attention(*given, mask, need_weights=need_weights)
    for x in given:
        x[0] *= 2
    after, _ = attention(*given, mask, need_weights=need_weights)
    assert torch.equal(before[1], after[1])
    assert not torch.equal(before[0], after[0])


# Contract, "mask": `~mask` against nn.MultiheadAttention, with its parameters copied.
@pytest.fixture
def peers(make, seeded):
    """Our module and PyTorch's, with the same parameters."""

    def _peers(bias, dtype=torch.float64):
        ours = make(NARROW, dtype=dtype, bias=bias)
        with seeded(1):
            theirs = nn.MultiheadAttention(
                NARROW["d_model"], HEADS, bias=bias, batch_first=True, dtype=dtype
            )
        copied = {
            "in_proj_weight": torch.cat([p.weight for p in projections(ours)]),
            "out_proj.weight": ours.project_output.weight,
        }
        if bias:
            copied["in_proj_bias"] = torch.cat([p.bias for p in projections(ours)])
            copied["out_proj.bias"] = ours.project_output.bias
        theirs.load_state_dict(copied)
        return ours, theirs.eval()

    return _peers


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("bias", [True, False])
@both_paths
def test_agrees_with_pytorch(
    peers, inputs, agree, draw_mask, bias, dtype, need_weights
):
    ours, theirs = peers(bias, dtype)
    given = inputs(NARROW["d_model"], dtype)
    mask = draw_mask(*SCORES)
    context, weights = ours(*given, mask, need_weights=need_weights)
    expected_context, expected_weights = theirs(
        *given, attn_mask=~mask.flatten(0, 1), average_attn_weights=False
    )
    agree(context, expected_context)
    if need_weights:
        agree(weights, expected_weights)


@both_paths
def test_gradients_agree_with_pytorch(peers, inputs, draw_mask, need_weights):
    ours, theirs = peers(bias=True)
    mask = draw_mask(*SCORES)
    ours_given = [x.requires_grad_() for x in inputs(NARROW["d_model"])]
    theirs_given = [x.requires_grad_() for x in inputs(NARROW["d_model"])]
    ours(*ours_given, mask, need_weights=need_weights)[0].square().sum().backward()
    theirs(*theirs_given, attn_mask=~mask.flatten(0, 1))[
        0
    ].square().sum().backward()
    for x, y in zip(ours_given, theirs_given, strict=True):
        torch.testing.assert_close(x.grad, y.grad, rtol=1e-12, atol=1e-14)


# Wide heads: against one head after the other.
@both_paths
def test_wide_heads_agree_with_a_loop(
    make, inputs, oracle, agree, mask, need_weights
):
    attention, given = make(WIDE, seed=7), inputs()
    contexts = [
        oracle(*(m(x) for m, x in zip(maps, given, strict=True)), one_head(mask))
        for maps in one_by_one(attention)
    ]
    context, _ = attention(*given, mask, need_weights=need_weights)
    agree(context, attention.project_output(torch.cat(contexts, -1)))


def test_parameters_are_drawn_as_pytorch_draws_four_linear_maps(seeded):
    with seeded(7):
        attention = MultiHeadAttention(17, 3, d_input=5, d_head=11)
    with seeded(7):
        for name in ("query", "key", "value"):
            ours = getattr(attention, f"project_{name}")
            theirs = nn.Linear(5, 33)
            assert ours.weight.equal(theirs.weight)
            assert ours.bias.equal(theirs.bias)
        assert attention.project_output.weight.equal(nn.Linear(33, 17).weight)


def one_head(mask):
    """Drop the axis of heads from a mask that is the same for all of them."""
    return mask[:, 0] if mask is not None and mask.ndim == 4 else mask


# Contract, "mask": broadcastable to (B, H, T, S).
@pytest.mark.parametrize("shape", BROADCASTABLE, ids=str)
@both_paths
def test_any_broadcastable_mask(
    make, inputs, agree, draw_mask, shape, need_weights
):
    attention, given = make(), inputs()
    mask = draw_mask(*shape) if shape else torch.tensor(True)
    context, weights = attention(*given, mask, need_weights=need_weights)
    expected, expected_weights = attention(*given, mask.expand(SCORES))
    agree(context, expected)
    if need_weights:
        agree(weights, expected_weights)
        assert not weights[~mask.expand(SCORES)].any()


def test_every_head_follows_its_own_mask(make, inputs, draw_mask):
    mask = draw_mask(HEADS, 1, KEYS)
    assert len(mask.unique(dim=0)) == HEADS
    _, weights = make()(*inputs(), mask)
    assert torch.equal(weights != 0, mask.expand(SCORES))


# Contract, "fill".
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@both_paths
def test_every_dtype(make, inputs, agree, draw_mask, dtype, need_weights):
    attention = make(dtype=dtype)
    given, mask = inputs(dtype=dtype), draw_mask(*SCORES)
    context, weights = attention(*given, mask, need_weights=need_weights)
    assert context.dtype == dtype
    if need_weights:
        assert weights.dtype == dtype
        assert torch.equal(weights != 0, mask)
    precise = attention.double()(*(x.double() for x in given), mask)[0]
    agree(context, precise)


# Contract, "row with nothing to see".
@both_paths
def test_a_blind_query_gets_the_bias_alone(make, inputs, draw_mask, need_weights):
    mask = draw_mask(BATCH, 1, QUERIES, KEYS)
    mask[1, 0, 3] = False
    attention = make()
    context, weights = attention(*inputs(), mask, need_weights=need_weights)
    assert torch.equal(context[1, 3], attention.project_output.bias)
    assert not torch.equal(context[1, 2], attention.project_output.bias)
    if need_weights:
        assert not weights[1, :, 3].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@both_paths
def test_a_blind_query_has_finite_gradients(
    make, inputs, draw_mask, dtype, need_weights
):
    mask = draw_mask(BATCH, HEADS, QUERIES, KEYS)
    mask[1, :, 3] = False  # blind in every head
    mask[0, 2, 1] = False  # blind in one head
    attention = make(dtype=dtype)
    given = [x.requires_grad_() for x in inputs(dtype=dtype)]
    with torch.autograd.set_detect_anomaly(True):
        context, _ = attention(*given, mask, need_weights=need_weights)
        context.square().sum().backward()
    for x in (*given, *attention.parameters()):
        assert x.grad.isfinite().all()
        assert x.grad.any()
    assert not given[0].grad[1, 3].any()


@both_paths
def test_no_keys_at_all(make, inputs, need_weights):
    attention, (query, key, value) = make(), inputs()
    context, _ = attention(
        query, key[:, :0], value[:, :0], need_weights=need_weights
    )
    assert torch.equal(context, attention.project_output.bias.expand_as(context))


@pytest.mark.parametrize(("batch", "length"), [(0, QUERIES), (BATCH, 0)])
@both_paths
def test_nothing_in_nothing_out(make, need_weights, batch, length):
    x = torch.ones(batch, length, INPUT_WIDTH).double()
    context, weights = make()(
        x, x, x, causal_mask(length), need_weights=need_weights
    )
    assert context.shape == (batch, length, FREE["d_model"])
    if need_weights:
        assert weights.shape == (batch, HEADS, length, length)


# Contract, "causal": one position at a time equals all at once.
@both_paths
def test_one_position_at_a_time_equals_all_at_once(make, inputs, need_weights):
    attention, (_, x, _) = make(), inputs()
    whole, _ = attention(x, x, x, causal_mask(KEYS), need_weights=need_weights)
    for t in range(KEYS):
        seen = x[:, : t + 1]
        mask = causal_mask(1, t + 1)
        step, _ = attention(x[:, [t]], seen, seen, mask, need_weights=need_weights)
        torch.testing.assert_close(step, whole[:, [t]], rtol=0, atol=1e-12)


@both_paths
def test_only_the_past_moves_the_output(make, draw, need_weights):
    attention, mask = make(), causal_mask(KEYS)

    def attend(x):
        x = x[None]
        return attention(x, x, x, mask, need_weights=need_weights)[0][0]

    assert torch.equal(information_flow(attend, draw(KEYS, INPUT_WIDTH)) != 0, mask)


# Contract, "padding mask".
@both_paths
def test_a_padded_sequence_equals_itself_alone(make, inputs, agree, need_weights):
    attention, (_, x, _) = make(), inputs()
    lengths = [3, 7]
    context, _ = attention(
        x, x, x, padding_mask(lengths), need_weights=need_weights
    )
    for sample, length in enumerate(lengths):
        alone = x[[sample], :length]
        expected, _ = attention(alone, alone, alone, need_weights=need_weights)
        agree(context[[sample], :length], expected)


# Contract, "scale": of the head size, never of the model width.
@both_paths
def test_scale_is_of_the_head(make, inputs, oracle, agree, need_weights):
    attention, given = make(FREE | {"num_heads": 1}), inputs()
    projected = [p(x) for p, x in zip(projections(attention), given, strict=True)]
    context, _ = attention(*given, need_weights=need_weights)
    agree(context, attention.project_output(oracle(*projected)))


# Contract, "weights returned": both paths agree.
@each_kind
def test_both_paths_agree(make, inputs, agree, options, mask):
    attention = make(options)
    given = inputs(options.get("d_input", options["d_model"]))
    with_weights, _ = attention(*given, mask)
    without, nothing = attention(*given, mask, need_weights=False)
    agree(without, with_weights)
    assert nothing is None


# Contract, "weights returned" and "dropout".
def test_weights_are_those_before_dropout(make, inputs, mask):
    attention, given = make(dropout=0.5), inputs()
    _, expected = attention.eval()(*given, mask)
    _, weights = attention.train()(*given, mask)
    assert torch.equal(weights, expected)
    visible = torch.ones(SCORES) if mask is None else mask.expand(SCORES)
    total = visible.any(-1).double()
    torch.testing.assert_close(weights.sum(-1), total, rtol=0, atol=1e-13)


def test_context_is_that_after_dropout(make, inputs, seeded, agree):
    attention, given = make(dropout=0.4).train(), inputs()
    with seeded(5):
        context, weights = attention(*given)
    with seeded(5):
        dropped = F.dropout(weights, 0.4)
    values = (
        attention.project_value(given[2]).unflatten(-1, (HEADS, -1)).transpose(1, 2)
    )
    merged = (dropped @ values).transpose(1, 2).flatten(2)
    agree(context, attention.project_output(merged))


@both_paths
def test_one_head_drops_as_several_do(make, inputs, need_weights):
    attention, given = make({**FREE, "num_heads": 1}, dropout=1.0).train(), inputs()
    context, weights = attention(*given, need_weights=need_weights)
    bias = attention.project_output.bias.expand_as(context)
    assert context.equal(bias)
    assert weights is None or weights.all()


@both_paths
def test_dropout_only_while_training(make, inputs, seeded, need_weights):
    attention, given = make(dropout=0.5), inputs()
    without_dropout, _ = make(dropout=0.0)(*given, need_weights=need_weights)
    for _ in range(2):
        context, _ = attention.eval()(*given, need_weights=need_weights)
        assert torch.equal(context, without_dropout)
    with seeded(1):
        first, _ = attention.train()(*given, need_weights=need_weights)
        second, _ = attention(*given, need_weights=need_weights)
    with seeded(1):
        again, _ = attention(*given, need_weights=need_weights)
    assert not torch.equal(first, without_dropout)
    assert not torch.equal(first, second)
    assert torch.equal(first, again)


@both_paths
def test_dropping_everything_leaves_the_bias(make, inputs, need_weights):
    attention = make(dropout=1.0).train()
    context, _ = attention(*inputs(), need_weights=need_weights)
    assert torch.equal(context, attention.project_output.bias.expand_as(context))


@both_paths
def test_dropout_keeps_the_mean(make, inputs, seeded, need_weights):
    attention = make(dropout=0.5)
    given = [x[:1].expand(10_000, -1, -1) for x in inputs()]
    mean, _ = attention(*inputs())
    with seeded(1):
        context, _ = attention.train()(*given, need_weights=need_weights)
    torch.testing.assert_close(context.mean(0), mean[0], rtol=0, atol=0.02)
    assert (context.std(0) > 0.02).all()


# Contract, "no hidden state".
@both_paths
def test_nothing_is_changed_or_kept(make, inputs, mask, need_weights):
    attention, given = make(), inputs()
    inputs_before = [x.clone() for x in given]
    mask_before = None if mask is None else mask.clone()
    state_before = copy.deepcopy(attention.state_dict())
    attributes_before = set(vars(attention))
    attention(*given, mask, need_weights=need_weights)
    assert all(map(torch.equal, given, inputs_before))
    assert mask is None or torch.equal(mask, mask_before)
    assert set(vars(attention)) == attributes_before
    for name, x in attention.state_dict().items():
        assert torch.equal(x, state_before[name])


@both_paths
def test_repeated_and_interleaved_calls_are_equal(make, inputs, need_weights):
    attention, given = make(), inputs()
    first, _ = attention(*given, MASKS["both"](), need_weights=need_weights)
    attention(*(x[:, :3] for x in given), need_weights=not need_weights)
    second, _ = attention(*given, MASKS["both"](), need_weights=need_weights)
    assert torch.equal(first, second)


# Contract, "randomness".
@both_paths
def test_evaluation_spends_no_random_numbers(make, inputs, need_weights):
    attention, given = make(dropout=0.5), inputs()
    before = torch.get_rng_state()
    attention(*given, need_weights=need_weights)
    assert torch.equal(torch.get_rng_state(), before)


# Contract, "devices, dtypes".
@both_paths
def test_runs_on_meta(need_weights):
    with torch.device("meta"):
        attention = MultiHeadAttention(**FREE)
        x = torch.ones(BATCH, KEYS, INPUT_WIDTH)
        context, _ = attention(
            x, x, x, causal_mask(KEYS), need_weights=need_weights
        )
    assert all(p.is_meta for p in attention.parameters())
    assert context.is_meta
    assert context.shape == (BATCH, KEYS, FREE["d_model"])


def test_moves_to_meta_and_between_dtypes(make):
    assert all(p.is_meta for p in make().to("meta").parameters())
    assert all(p.dtype == torch.bfloat16 for p in make().bfloat16().parameters())


@both_paths
def test_compiles(make, inputs, agree, need_weights):
    attention, given = make(), inputs()
    compiled = torch.compile(attention, backend="aot_eager", fullgraph=True)
    mask = MASKS["blind row"]()
    context, weights = compiled(*given, mask, need_weights=need_weights)
    expected_context, expected_weights = attention(*given, mask)
    agree(context, expected_context)
    if need_weights:
        agree(weights, expected_weights)


def free_sizes(*, batch):
    """Dynamic lengths, and a dynamic batch if asked for."""
    first = {0: torch.export.Dim("batch")} if batch else {}
    queries, keys = torch.export.Dim("queries"), torch.export.Dim("keys")
    return {
        "query": first | {1: queries},
        "key": first | {1: keys},
        "value": first | {1: keys},
        "mask": {0: queries, 1: keys},
        "need_weights": None,
    }


@pytest.mark.parametrize("batch", [BATCH, 5])
@both_paths
def test_exports_with_free_sizes(make, inputs, draw, agree, need_weights, batch):
    attention, options = make(), {"need_weights": need_weights}
    exported = torch.export.export(
        attention,
        (*inputs(), causal_mask(QUERIES, KEYS)),
        options,
        dynamic_shapes=free_sizes(batch=batch != BATCH),
    )
    query, key = draw(batch, 17, INPUT_WIDTH), draw(batch, 19, INPUT_WIDTH)
    context, _ = exported.module()(query, key, key, causal_mask(17, 19), **options)
    agree(context, attention(query, key, key, causal_mask(17, 19), **options)[0])


@both_paths
def test_autocast(make, inputs, agree, need_weights):
    attention, given = make(dtype=torch.float32), inputs(dtype=torch.float32)
    mask = MASKS["blind row"]()
    with torch.autocast("cpu", torch.bfloat16):
        context, _ = attention(*given, mask, need_weights=need_weights)
    assert context.dtype == torch.bfloat16
    agree(context, attention(*given, mask)[0])


@both_paths
def test_autocast_casts_its_inputs(make, inputs, agree, need_weights):
    attention, given = make(dtype=torch.float32), inputs(dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        context, _ = attention(*given, need_weights=need_weights)
    agree(context, attention(*(x.float() for x in given))[0])


def test_autocast_compiles(make, inputs):
    attention, given = make(dtype=torch.float32), inputs(dtype=torch.bfloat16)
    compiled = torch.compile(attention, backend="aot_eager", fullgraph=True)
    with torch.autocast("cpu", torch.bfloat16):
        assert compiled(*given)[0].dtype == torch.bfloat16


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))]
)
def test_copies_give_the_same(make, inputs, duplicate):
    attention, given = make(), inputs()
    for x, y in zip(duplicate(attention)(*given), attention(*given), strict=True):
        assert torch.equal(x, y)


def test_state_dict_holds_four_maps(make):
    maps = ["project_query", "project_key", "project_value", "project_output"]
    names = list(make().state_dict())
    assert names == [
        f"{name}.{kind}" for name in maps for kind in ("weight", "bias")
    ]
    assert list(make(bias=False).state_dict()) == [
        f"{name}.weight" for name in maps
    ]


def test_state_dict_restores_a_module(make, inputs):
    saved, other, given = make(seed=1), make(seed=2), inputs()
    assert not torch.equal(saved(*given)[0], other(*given)[0])
    other.load_state_dict(saved.state_dict())
    assert torch.equal(saved(*given)[0], other(*given)[0])


def test_repr_shows_the_sizes(make):
    assert "num_heads=3, d_head=11, dropout=0.25" in repr(make(dropout=0.25))


# Contract, "fidelity": source A's printed numbers, to the digits shown.
# Contract, "bad input".
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"d_model": 6.0, "num_heads": 2},
            TypeError,
            "d_model must be an integer; got 6.0",
        ),
        (
            {"d_model": 0, "num_heads": 2},
            ValueError,
            "d_model must be at least 1; got 0",
        ),
        (
            {"d_model": 6, "num_heads": True},
            TypeError,
            "num_heads must be an integer; got True",
        ),
        (
            {"d_model": 6, "num_heads": 0},
            ValueError,
            "num_heads must be at least 1; got 0",
        ),
        (
            {"d_model": 6, "num_heads": 2, "d_input": "6"},
            TypeError,
            "d_input must be an integer; got '6'",
        ),
        (
            {"d_model": 6, "num_heads": 2, "d_input": 0},
            ValueError,
            "d_input must be at least 1; got 0",
        ),
        (
            {"d_model": 6, "num_heads": 2, "d_head": 1.5},
            TypeError,
            "d_head must be an integer; got 1.5",
        ),
        (
            {"d_model": 6, "num_heads": 2, "d_head": -3},
            ValueError,
            "d_head must be at least 1; got -3",
        ),
        (
            {"d_model": 7, "num_heads": 2},
            ValueError,
            "d_model must be divisible by num_heads when d_head is left out; "
            "got 7 and 2",
        ),
        (
            {"d_model": 6, "num_heads": 2, "dropout": -0.1},
            ValueError,
            "dropout must be between 0 and 1; got -0.1",
        ),
        (
            {"d_model": 6, "num_heads": 2, "dropout": 1.5},
            ValueError,
            "dropout must be between 0 and 1; got 1.5",
        ),
        (
            {"d_model": 6, "num_heads": 2, "dropout": math.nan},
            ValueError,
            "dropout must be between 0 and 1; got nan",
        ),
    ],
)
def test_construction_refuses(options, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        MultiHeadAttention(**options)


def test_a_free_head_width_needs_no_divisible_model(draw):
    attention = MultiHeadAttention(7, 2, d_head=3)
    x = draw(BATCH, KEYS, 7, dtype=torch.float32)
    assert attention(x, x, x)[0].shape == x.shape


def test_sizes_may_be_numpy_integers():
    attention = MultiHeadAttention(np.int64(6), np.int32(2))
    assert attention.project_query.weight.shape == (6, 6)


X = torch.ones(2, 3, 5)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            (X.long(), X, X),
            TypeError,
            "query must be a floating-point tensor; got dtype torch.int64",
        ),
        (
            (X, X.bool(), X),
            TypeError,
            "key must be a floating-point tensor; got dtype torch.bool",
        ),
        (
            (X, X, [[[1.0]]]),
            TypeError,
            "value must be a floating-point tensor; got list",
        ),
        (
            (X, X, X.double()),
            TypeError,
            "value must have the dtype of the parameters, torch.float32; got torch.float64",
        ),
        (
            (X.double(), X.double(), X.double()),
            TypeError,
            "query must have the dtype of the parameters, torch.float32; got torch.float64",
        ),
        (
            (X, X.to("meta", torch.float16), X),
            TypeError,
            "key must have the dtype of the parameters, torch.float32; got torch.float16",
        ),
        (
            (X[0], X, X),
            ValueError,
            r"query must have shape \(batch, length, 5\); got \(3, 5\)",
        ),
        (
            (X, X[None], X),
            ValueError,
            r"key must have shape \(batch, length, 5\); got \(1, 2, 3, 5\)",
        ),
        (
            (X, X, X[..., :4]),
            ValueError,
            r"value must have shape \(batch, length, 5\); got \(2, 3, 4\)",
        ),
        (
            (X[:1], X, X),
            ValueError,
            r"query, key, value must share a batch size; got \(1, 2, 2\)",
        ),
        (
            (X, X[:1], X),
            ValueError,
            r"query, key, value must share a batch size; got \(2, 1, 2\)",
        ),
        (
            (X, X, X[:1]),
            ValueError,
            r"query, key, value must share a batch size; got \(2, 2, 1\)",
        ),
        (
            (X, X, X[:, :2]),
            ValueError,
            r"key \(B, S, d_input\) and value \(B, S, d_input\) must have one length S; "
            r"got \(2, 3, 5\) and \(2, 2, 5\)",
        ),
    ],
)
@both_paths
def test_inputs_are_refused(given, error, message, need_weights):
    attention = MultiHeadAttention(5, 1)
    with pytest.raises(error, match=f"^{message}$"):
        attention(*given, need_weights=need_weights)


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (
            torch.ones(3, 3),
            TypeError,
            "mask must be a boolean tensor, True = may attend; got dtype torch.float32",
        ),
        (
            [[True]],
            TypeError,
            "mask must be a boolean tensor, True = may attend; got list",
        ),
        (
            torch.ones(2, 3, 3, dtype=torch.bool),  # a batch where the heads belong
            ValueError,
            r"mask must broadcast to the scores' shape \(2, 7, 3, 3\); got \(2, 3, 3\)",
        ),
        (
            torch.ones(1, 1, 1, 3, 3, dtype=torch.bool),
            ValueError,
            r"mask must broadcast to the scores' shape \(2, 7, 3, 3\); "
            r"got \(1, 1, 1, 3, 3\)",
        ),
        (
            torch.ones(4, 4, dtype=torch.bool),
            ValueError,
            r"mask must broadcast to the scores' shape \(2, 7, 3, 3\); got \(4, 4\)",
        ),
    ],
)
@both_paths
def test_masks_are_refused(mask, error, message, need_weights):
    attention = MultiHeadAttention(5, 7, d_head=2)
    with pytest.raises(error, match=f"^{message}$"):
        attention(X, X, X, mask, need_weights=need_weights)


# Contract, "refusal": what is refused leaves a cache as it was.
FILLED = {"d_model": 5, "num_heads": 7, "d_head": 2}
NEXT = torch.ones(2, 1, 5)  # one position more, after the three of X
REFUSED = {
    "mask's kind": (NEXT, NEXT, torch.ones(1, 4), "mask must be a boolean"),
    "mask's size": (NEXT, NEXT, torch.ones(3).bool(), "mask must broadcast"),
    "mask's place": (
        NEXT,
        NEXT,
        torch.ones(4, device="meta").bool(),
        "cpu; got meta",
    ),
    "query's kind": (NEXT.double(), NEXT, None, "query must have the dtype"),
    "query's width": (NEXT[..., :4], NEXT, None, "query must have shape"),
    "query's place": (NEXT.to("meta"), NEXT, None, "meta"),
    "keys' place": (NEXT, NEXT.to("meta"), None, "meta"),
    "batch": (NEXT[:1], NEXT[:1], None, r"the cache's, \(2, 7, length, 2\)"),
}


def filled(attention, need_weights):
    cache = KeyValueCache()
    attention(X, X, X, need_weights=need_weights, cache=cache)
    return cache


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
@both_paths
def test_a_refused_call_does_not_grow_a_cache(make, case, need_weights):
    attention = make(FILLED, dtype=torch.float32)
    query, keys, mask, message = case
    told = {"need_weights": need_weights}
    cache, other = (filled(attention, need_weights) for _ in range(2))
    with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        attention(query, keys, keys, mask, **told, cache=cache)
    assert len(cache) == 3
    right, _ = attention(NEXT, NEXT, NEXT, **told, cache=cache)
    assert right.equal(attention(NEXT, NEXT, NEXT, **told, cache=other)[0])
    assert len(cache) == 4


def test_a_cache_of_another_module_is_refused_and_left_alone(make):
    cache = filled(make(FILLED, dtype=torch.float32), True)
    kept = cache.keys
    for options, dtype, message in (
        (FILLED, torch.float64, "keys must have the dtype of the cache's"),
        ({**FILLED, "d_head": 3}, torch.float32, "keys must continue the cache's"),
        ({**FILLED, "num_heads": 1}, torch.float32, "keys must continue"),
    ):
        x = NEXT.to(dtype)
        with pytest.raises((TypeError, ValueError), match=message):
            make(options, dtype=dtype)(x, x, x, cache=cache)
        assert cache.keys is kept
    x, there = NEXT.to("meta"), make(FILLED, dtype=torch.float32).to("meta")
    with pytest.raises(
        ValueError, match="the device of the cache's, cpu; got meta"
    ):
        there(x, x, x, cache=cache)


def test_a_failure_after_the_attention_does_not_grow_a_cache(make):
    attention = make(FILLED, dtype=torch.float32)
    cache = filled(attention, True)
    attention.project_output = nn.Linear(3, 5)  # too narrow for what comes
    with pytest.raises(RuntimeError):
        attention(NEXT, NEXT, NEXT, cache=cache)
    assert len(cache) == 3


# Contract, "range": finite wherever the oracle is, scores beyond 65504 included.
HALVES = [torch.float16, torch.bfloat16]


@pytest.fixture
def loud():
    """One head of width 64 that leaves its inputs as they are, so that scores are known."""
    attention = MultiHeadAttention(64, 1, bias=False)
    for weight in attention.parameters():
        nn.init.eye_(weight)
    x = torch.tensor([200.0, 150.0, -200.0])[:, None].expand(1, 3, 64)
    assert (x @ x.mT / 8).max() > torch.finfo(torch.float16).max
    return attention, x


LOUDEST = torch.tensor([0, 0, 2])  # whom each of the three listens to


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@both_paths
def test_half_precision_survives_loud_scores(loud, dtype, need_weights):
    attention, x = loud[0].to(dtype), loud[1].to(dtype)
    context, weights = attention(x, x, x, need_weights=need_weights)
    assert context.equal(x[:, LOUDEST])
    if need_weights:
        assert weights.dtype == dtype
        assert weights.equal(torch.eye(3, dtype=dtype)[LOUDEST][None, None])


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@both_paths
def test_autocast_survives_loud_scores(loud, dtype, need_weights):
    attention, x = loud
    with torch.autocast("cpu", dtype):
        context, _ = attention(x, x, x, need_weights=need_weights)
    assert context.equal(x[:, LOUDEST].to(dtype))
