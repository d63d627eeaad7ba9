"""The parts of today's models: grouped attention as many heads, turned heads, and small networks."""

import math

import pytest
import torch
import torch.nn.functional as F

from selfattn_book.cache import KeyValueCache
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.modern import GatedFeedForward, GELUFeedForward, GroupedAttention
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.rotary import rotate

BATCH, HEADS, QUERIES, KEYS, HEAD_WIDTH, WIDTH = 2, 6, 5, 7, 10, 13
MASKS = {
    "none": lambda: None,
    "causal": lambda: causal_mask(QUERIES, KEYS),
    "padding": lambda: padding_mask([3, 7]),
    "both": lambda: causal_mask(QUERIES, KEYS) & padding_mask([3, 7]),
    "blind row": lambda: ~causal_mask(QUERIES, KEYS),
    "blind sample": lambda: padding_mask([7, 0]),
}
both_paths = pytest.mark.parametrize("need_weights", [True, False])
every_group = pytest.mark.parametrize("groups", [1, 2, 3, 6])


@pytest.fixture(params=MASKS)
def mask(request):
    return MASKS[request.param]()


@pytest.fixture
def make(seeded):
    def _make(groups=2, *, seed=0, dtype=torch.float64, **more):
        options = {"d_head": HEAD_WIDTH, "num_key_heads": groups} | more
        with seeded(seed):
            return GroupedAttention(WIDTH, HEADS, **options).to(dtype).eval()

    return _make


@pytest.fixture
def inputs(draw):
    def _inputs(dtype=torch.float64):
        lengths = enumerate((QUERIES, KEYS, KEYS))
        return [draw(BATCH, t, WIDTH, seed=s, dtype=dtype) for s, t in lengths]

    return _inputs


def as_many_heads(few):
    """The same attention with a head of keys for each of queries, by copying rows of weights."""
    many = MultiHeadAttention(
        WIDTH, HEADS, d_head=HEAD_WIDTH, bias=few.project_query.bias is not None
    )
    copied = {}
    for name, weight in few.state_dict().items():
        if "key" in name or "value" in name:
            heads = weight.split(HEAD_WIDTH)
            times = HEADS // len(heads)
            weight = torch.cat([heads[h // times] for h in range(HEADS)])
        copied[name] = weight
    many.load_state_dict(copied)
    return many.to(few.project_query.weight.dtype).eval()


@every_group
@both_paths
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_attention_with_copied_heads(
    make, inputs, agree, mask, groups, need_weights, bias
):
    few = make(groups, bias=bias)
    context, weights = few(*inputs(), mask, need_weights=need_weights)
    expected, theirs = as_many_heads(few)(*inputs(), mask)
    agree(context, expected)
    if need_weights:
        agree(weights, theirs)
    else:
        assert weights is None


@every_group
def test_turned_heads_are_those_of_the_equation(
    make, inputs, agree, oracle, groups
):
    """Head by head, with PyTorch's function, and the turn written out where the last are aligned."""
    few = make(groups, rotary_base=500.0)
    query, key, value = inputs()
    mask = causal_mask(QUERIES, KEYS)
    contexts = []
    for h in range(HEADS):
        g = h * groups // HEADS

        def of_head(linear, x, number):
            rows = slice(number * HEAD_WIDTH, (number + 1) * HEAD_WIDTH)
            return x @ linear.weight[rows].T + linear.bias[rows]

        q = of_head(few.project_query, query, h)
        k = of_head(few.project_key, key, g)
        v = of_head(few.project_value, value, g)
        q = rotate(q, torch.arange(QUERIES) + KEYS - QUERIES, 500.0)
        contexts.append(oracle(q, rotate(k, torch.arange(KEYS), 500.0), v, mask))
    expected = few.project_output(torch.cat(contexts, -1))
    agree(few(query, key, value, mask)[0], expected)


@every_group
@both_paths
@pytest.mark.parametrize("parts", [[1] * KEYS, [4, 1, 2], [2, 5]])
def test_with_a_cache_it_is_the_same(
    make, draw, agree, groups, need_weights, parts
):
    few, x = make(groups, rotary_base=10000.0), draw(BATCH, KEYS, WIDTH)
    whole, _ = few(x, x, x, causal_mask(KEYS))
    cache, found = KeyValueCache(), []
    for part in x.split(parts, dim=1):
        mask = causal_mask(part.size(1), len(cache) + part.size(1))
        options = {"need_weights": need_weights, "cache": cache}
        found.append(few(part, part, part, mask, **options)[0])
    agree(torch.cat(found, 1), whole)
    assert cache.keys.shape == (BATCH, groups, KEYS, HEAD_WIDTH)
    assert cache.values.shape == (BATCH, groups, KEYS, HEAD_WIDTH)


def test_turned_heads_see_order_and_others_do_not(make, draw, agree):
    x, order = draw(BATCH, KEYS, WIDTH), torch.tensor([3, 0, 6, 1, 5, 2, 4])
    plain, turned = make(), make(rotary_base=10000.0)
    agree(plain(x[:, order], *[x[:, order]] * 2)[0], plain(x, x, x)[0][:, order])
    gap = turned(x[:, order], *[x[:, order]] * 2)[0] - turned(x, x, x)[0][:, order]
    assert gap.abs().max() > 1e-3


def test_behind_padding_all_is_as_alone(make, draw, agree):
    few, x = make(rotary_base=10000.0), draw(1, KEYS, WIDTH)
    alone, _ = few(x, x, x, causal_mask(KEYS))
    padded = torch.cat([draw(1, 4, WIDTH, seed=9), x], 1)
    seen = causal_mask(KEYS + 4) & (torch.arange(KEYS + 4) >= 4)
    agree(few(padded, padded, padded, seen)[0][:, 4:], alone)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_lower_precision_is_close(make, inputs, agree, dtype):
    few = make(3, rotary_base=10000.0)
    expected, _ = few(*inputs())
    context, weights = few.to(dtype)(*inputs(dtype))
    assert context.dtype == weights.dtype == dtype
    atol = {torch.float32: 2e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}[dtype]
    torch.testing.assert_close(context.double(), expected, rtol=0, atol=atol)


def test_a_sample_knows_nothing_of_another_and_nothing_is_changed(make, inputs):
    few, (query, key, value) = make(rotary_base=10000.0), inputs()
    before = [x.clone() for x in (query, key, value)]
    one, _ = few(query, key, value)
    for x in (query, key, value):
        x[0] = 5.0
    two, _ = few(query, key, value)
    assert torch.equal(one[1], two[1])
    assert not torch.equal(one[0], two[0])
    assert all(
        torch.equal(x[1], y[1])
        for x, y in zip((query, key, value), before, strict=True)
    )


def test_weights_are_those_before_dropout_and_dropout_is_for_training(make, inputs):
    few = make(dropout=0.5)
    one, two = few(*inputs())[0], few(*inputs())[0]
    assert torch.equal(one, two)
    few.train()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        context, weights = few(*inputs())
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
    assert not torch.allclose(context, one)


def test_gradients_are_finite_with_a_blind_row(make, inputs):
    few = make(rotary_base=10000.0)
    given = [x.requires_grad_() for x in inputs()]
    few(*given, ~causal_mask(QUERIES, KEYS))[0].square().sum().backward()
    assert all(x.grad.isfinite().all() for x in given)


def test_shapes_alone_will_do_and_it_can_be_exported(make, inputs):
    few = make(2, rotary_base=10000.0).to("meta")
    context, weights = few(*[x.to("meta") for x in inputs()])
    assert context.shape == (BATCH, QUERIES, WIDTH)
    assert weights.shape == (BATCH, HEADS, QUERIES, KEYS)
    few = make(2, rotary_base=10000.0)
    exported = torch.export.export(few, tuple(inputs()))
    torch.testing.assert_close(exported.module()(*inputs()), few(*inputs()))


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        (
            {"num_key_heads": 4},
            ValueError,
            "divisible by num_key_heads; got 6 and 4",
        ),
        (
            {"num_key_heads": 0},
            ValueError,
            "num_key_heads must be at least 1; got 0",
        ),
        ({"num_key_heads": 2.0}, TypeError, "num_key_heads must be an integer"),
        ({"num_key_heads": 12}, ValueError, "got 6 and 12"),
        (
            {"d_head": 3, "rotary_base": 1e4},
            ValueError,
            "d_head must be even .* got 3",
        ),
        (
            {"rotary_base": 0.0},
            ValueError,
            "base must be above 0, and finite; got 0.0",
        ),
        ({"rotary_base": "a"}, TypeError, "base must be a number"),
        ({"dropout": 2}, ValueError, "dropout must be between 0 and 1"),
        ({"d_head": None}, ValueError, "d_model must be divisible by num_heads"),
    ],
)
def test_what_it_cannot_be_made_of_is_refused(options, error, told):
    with pytest.raises(error, match=told):
        GroupedAttention(WIDTH, HEADS, **({"d_head": HEAD_WIDTH} | options))


def test_a_refused_call_leaves_the_cache_as_it_was(make, draw, agree):
    few, x = make(rotary_base=10000.0), draw(BATCH, 3, WIDTH)
    cache, fresh = KeyValueCache(), KeyValueCache()
    few(x, x, x, cache=cache), few(x, x, x, cache=fresh)
    for bad, told in (
        ([x[:1], x, x], "share a batch size"),
        ([x[..., 1:], x, x], "must have shape"),
        ([x, x, x, torch.ones(2, dtype=torch.bool)], "mask must broadcast"),
        ([x[:1]] * 3, "must continue the cache's"),
    ):
        with pytest.raises(ValueError, match=told):
            few(*bad, cache=cache)
    with pytest.raises(TypeError, match="dtype of the parameters"):
        few(x.float(), x.float(), x.float(), cache=cache)
    assert len(cache) == 3
    agree(few(x, x, x, cache=cache)[0], few(x, x, x, cache=fresh)[0])


def test_it_says_what_it_is(make):
    told = "num_heads=6, num_key_heads=2, d_head=10, dropout=0.0, rotary_base=None"
    assert told in repr(make())


def test_the_gated_network_is_its_equation(draw, agree, seeded):
    with seeded(0):
        part = GatedFeedForward(5, 7).double()
    x = draw(2, 3, 5)
    names = (n for n, _ in part.named_parameters())
    assert sorted(names) == ["contract.weight", "expand.weight", "gate.weight"]
    gates = x @ part.gate.weight.T
    inner = gates * torch.sigmoid(gates) * (x @ part.expand.weight.T)
    agree(part(x), inner @ part.contract.weight.T)
    agree(part(x)[1, 2], part(x[1, 2]))


def test_the_network_of_gpt2_is_its_equation(draw, agree, seeded):
    with seeded(0):
        part = GELUFeedForward(5, 7).double()
    x = 3 * draw(2, 3, 5)
    z = x @ part.expand.weight.T + part.expand.bias
    soft = z / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
    agree(part(x), soft @ part.contract.weight.T + part.contract.bias)
    assert not torch.allclose(
        F.gelu(z), soft, atol=1e-5
    )  # the exact one is another


@pytest.mark.parametrize("kind", [GatedFeedForward, GELUFeedForward])
def test_networks_refuse_sizes_that_are_none(kind):
    with pytest.raises(ValueError, match="d_model must be at least 1; got 0"):
        kind(0, 4)
    with pytest.raises(ValueError, match="d_ff must be at least 1; got 0"):
        kind(4, 0)
    with pytest.raises(TypeError, match="d_ff must be an integer"):
        kind(4, 1.5)
