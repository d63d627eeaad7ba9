"""Attention, blocks and stacks, and PyTorch's modules: weights copied there and back, same outputs."""

import warnings
from functools import partial

import pytest
import torch
from torch import nn

from selfattn_book.blocks import DecoderBlock, DecoderStack, EncoderBlock, EncoderStack
from selfattn_book.feed_forward import FeedForward
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.pytorch import block_from_torch, block_to_torch, from_torch, to_torch
from selfattn_book.pytorch_stacks import transformer_from_torch, transformer_to_torch

BATCH, LENGTH, SOURCE, HEADS, WIDTH, INNER, LAYERS = 2, 5, 7, 3, 33, 13, (3, 2)
PADDING = padding_mask([3, LENGTH]), padding_mask([4, SOURCE])  # of the target, of the source
OURS = {"attention": MultiHeadAttention, "encoder": EncoderBlock, "decoder": DecoderBlock}
THEIRS = {
    "attention": nn.MultiheadAttention,
    "encoder": nn.TransformerEncoderLayer,
    "decoder": nn.TransformerDecoderLayer,
    "stacks": nn.Transformer,
}
TO = {"attention": to_torch, "encoder": block_to_torch, "decoder": block_to_torch}
TO["stacks"] = lambda stacks: transformer_to_torch(*stacks)
FROM = {"attention": from_torch, "encoder": block_from_torch, "decoder": block_from_torch}
FROM["stacks"] = lambda module: nn.ModuleList(transformer_from_torch(module))
VARIANTS = [("attention", {"bias": True}), ("attention", {"bias": False})]
VARIANTS += [(kind, {"norm_first": x}) for kind in list(THEIRS)[1:] for x in (True, False)]

close = partial(torch.testing.assert_close, rtol=0, atol=1e-11)
each_kind = pytest.mark.parametrize("kind", THEIRS)
each_block = pytest.mark.parametrize("kind", ["encoder", "decoder"])
each_variant = pytest.mark.parametrize(("kind", "options"), VARIANTS)


@pytest.fixture
def ours(randomized):
    """Make a module of the book with random parameters only."""

    def _ours(kind, **options):
        if kind == "attention":
            return randomized(MultiHeadAttention(WIDTH, HEADS, **options))
        options["d_ff"] = INNER
        if kind in OURS:
            return randomized(OURS[kind](WIDTH, HEADS, **options))
        stacks = zip((EncoderStack, DecoderStack), LAYERS, strict=True)
        modules = [stack(layers, WIDTH, HEADS, **options) for stack, layers in stacks]
        return randomized(nn.ModuleList(modules))

    return _ours


@pytest.fixture
def theirs(randomized):
    def _theirs(kind, **options):
        sizes = {"attention": (), "stacks": (*LAYERS, INNER)}.get(kind, (INNER,))
        options = {"dropout": 0.0, "batch_first": True} | options
        # PyTorch says of some sizes that a fast path of its own does not apply.
        with warnings.catch_warnings(action="ignore"):
            return randomized(THEIRS[kind](WIDTH, HEADS, *sizes, **options))

    return _theirs


@pytest.fixture
def x(draw):
    return draw(BATCH, LENGTH, WIDTH, seed=1)


@pytest.fixture
def memory(draw):
    return draw(BATCH, SOURCE, WIDTH, seed=2)


def run_ours(kind, module, x, memory, *padding):
    """Run a module of ours, causal if there is padding."""
    own, other = padding or (None, None)

    def causal(keys, real):
        return causal_mask(LENGTH, keys) & (torch.tensor(True) if real is None else real)

    past = causal(LENGTH, own) if padding else None
    if kind == "attention":
        return module(x, memory, memory, causal(SOURCE, other) if padding else None)[0]
    if kind == "encoder":
        return module(x, past)[0]
    if kind == "stacks":
        memory, module = module[0](memory, other)[0], module[1]
    return module(x, memory, past, other)[0]


def run_theirs(kind, module, x, memory, *padding):
    """Run PyTorch's module, in which True means hidden, and a padding mask is (B, S)."""
    own, other = (None if m is None else ~m[:, 0, 0] for m in padding or (None, None))
    future = ~causal_mask(LENGTH) if padding else None
    if kind == "attention":
        future = ~causal_mask(LENGTH, SOURCE) if padding else None
        return module(x, memory, memory, attn_mask=future, key_padding_mask=other)[0]
    if kind == "encoder":
        return module(x, src_mask=future, src_key_padding_mask=own)
    options = {"tgt_mask": future, "tgt_key_padding_mask": own, "memory_key_padding_mask": other}
    if kind == "stacks":
        return module(memory, x, src_key_padding_mask=other, **options)
    return module(x, memory, **options)


@each_variant
@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("padding", [(), PADDING, (None, PADDING[1]), (PADDING[0], None)])
def test_ours_as_theirs(ours, x, memory, kind, options, padding, is_training):
    module = ours(kind, **options).train(is_training)
    with torch.set_grad_enabled(is_training):  # PyTorch has a path of its own without
        expected = run_theirs(kind, TO[kind](module), x, memory, *padding)
        close(run_ours(kind, module, x, memory, *padding), expected)


@each_variant
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("padding", [(), PADDING])
def test_theirs_as_ours(theirs, x, memory, kind, options, batch_first, padding):
    module = theirs(kind, batch_first=batch_first, **options)
    inputs = (x, memory) if batch_first else (x.transpose(0, 1), memory.transpose(0, 1))
    expected = run_theirs(kind, module, *inputs, *padding)
    expected = expected if batch_first else expected.transpose(0, 1)
    close(run_ours(kind, FROM[kind](module), x, memory, *padding), expected)


@each_variant
@pytest.mark.parametrize("is_training", [True, False])
def test_there_and_back_is_the_same_to_the_last_bit(ours, kind, options, is_training):
    """With mode, dropout and dtype, in memory of its own, and without a random number."""
    module = ours(kind, dropout=0.25, **options).train(is_training)
    state = torch.get_rng_state()
    there = TO[kind](module)
    again = FROM[kind](there)
    assert torch.get_rng_state().equal(state)
    assert repr(again) == repr(module)
    parts = [m for m in (*there.modules(), *again.modules()) if not isinstance(m, nn.ModuleList)]
    assert all(part.training is is_training for part in parts)
    assert {part.p for part in there.modules() if isinstance(part, nn.Dropout)} <= {0.25}
    wanted = module.state_dict()
    assert list(again.state_dict()) == list(wanted)
    assert all(value.equal(wanted[name]) for name, value in again.state_dict().items())
    places = [{p.data_ptr() for p in copy.parameters()} for copy in (module, there, again)]
    assert not (places[0] & places[1])
    assert not (places[1] & places[2])
    assert all(p.requires_grad and p.is_leaf for p in (*there.parameters(), *again.parameters()))


@each_kind
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_dtype_and_device_are_carried(ours, kind, dtype):
    module = ours(kind).to(dtype)
    with torch.device("meta"):
        there = TO[kind](module)
        modules = there, FROM[kind](there)
    assert {(p.dtype, p.is_meta) for m in modules for p in m.parameters()} == {(dtype, False)}
    there = TO[kind](module.to("meta"))
    assert all(p.is_meta for m in (there, FROM[kind](there)) for p in m.parameters())


FROZEN = [("project_query", "project_key", "project_value"), ("project_output",)]
FROZEN += [("norm",), ("expand",)]


@each_kind
@pytest.mark.parametrize("frozen", FROZEN)
def test_what_is_frozen_stays_frozen(ours, kind, frozen):
    module = ours(kind)
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(not any(part in name for part in frozen))
    with torch.no_grad():
        there = TO[kind](module)
        again = FROM[kind](there)
    first, last = (dict(m.named_parameters()) for m in (module, again))
    assert all(last[name].requires_grad == p.requires_grad for name, p in first.items())
    trained = [sum(p.numel() for p in m.parameters() if p.requires_grad) for m in (module, there)]
    assert trained[0] == trained[1]


@pytest.mark.parametrize("name", ["weight", "bias"])
def test_projections_that_do_not_learn_together_are_refused(ours, name):
    module = ours("attention")
    getattr(module.project_key, name).requires_grad_(False)
    with pytest.raises(ValueError, match="all frozen; got 1 of 6 tensors frozen"):
        to_torch(module)


def test_only_pytorch_has_a_norm_behind_a_post_norm_stack(theirs, ours):
    assert isinstance(theirs("stacks", norm_first=False).encoder.norm, nn.LayerNorm)
    stacks = ours("stacks", norm_first=False)
    assert isinstance(stacks[0].norm, nn.Identity)
    made = transformer_to_torch(*stacks)
    assert (made.encoder.norm, made.decoder.norm) == (None, None)


# What one side lacks is refused.
NEEDS = r"PyTorch needs d_input = d_model = num_heads \* d_head"
WITHOUT = "PyTorch has no QK-norm, window or temperature"
HEADS_ALIKE = "PyTorch has neither grouped nor rotated heads"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_model": 6, "d_head": 6}, rf"{NEEDS}; got 6, 6 and 2 \* 6"),
        ({"d_model": 6, "d_input": 5}, rf"{NEEDS}; got 5, 6 and 2 \* 3"),
        ({"d_model": 7, "d_input": 6, "d_head": 3}, rf"{NEEDS}; got 6, 7 and 2 \* 3"),
        ({"num_kv_heads": 1}, rf"{HEADS_ALIKE}; got num_kv_heads 1, .*"),
        ({"rotary_base": 1e4}, rf"{HEADS_ALIKE}; got .*, rotary_base 10000.0"),
        ({"window": 3}, rf"{WITHOUT}; got window 3, .*"),
        ({"temperature": 2.0}, rf"{WITHOUT}; got .*, temperature 2.0"),
        ({"qk_norm": nn.RMSNorm}, rf"{WITHOUT}; got QK-norm, .*"),
    ],
)
def test_an_attention_that_pytorch_lacks_is_refused(options, message):
    with pytest.raises(ValueError, match=f"(?s)^{message}$"):
        to_torch(MultiHeadAttention(**{"d_model": 8, "num_heads": 2} | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kdim": 5}, "must equal embed_dim = 33; got kdim = 5, vdim = 33"),
        ({"vdim": 5}, "must equal embed_dim = 33; got kdim = 33, vdim = 5"),
        ({"add_bias_kv": True}, "no added key; got add_bias_kv or add_zero_attn"),
        ({"add_zero_attn": True}, "no added key; got add_bias_kv or add_zero_attn"),
    ],
)
def test_an_attention_that_the_book_lacks_is_refused(theirs, options, message):
    with pytest.raises(ValueError, match=f"{message}$"):
        from_torch(theirs("attention", **options))


def changed(module, path, value):
    """Change one attribute of a module, at a dotted path if any."""
    owner, _, name = path.rpartition(".")
    if path:
        setattr(module.get_submodule(owner), name, value)
    return module


NETWORK, EPS = "ReLU without a gate; got FeedForward", "layer_norm_eps must be 1e-05; got"


@each_block
@pytest.mark.parametrize(
    ("options", "path", "value", "message"),
    [
        ({"attention_bias": False}, "", None, "needs an attention with biases; got one"),
        ({"d_head": WIDTH}, "", None, "d_head"),
        ({}, "feed_forward_residual.norm.eps", 0.25, EPS),
        ({}, "feed_forward_residual.norm_first", True, "one norm_first; got False and True"),
        ({}, "feed_forward.dropout.p", 0.5, r"one dropout; got 0\.0 and 0\.5"),
        ({}, "feed_forward", FeedForward(WIDTH, INNER, activation="gelu"), NETWORK),
        ({}, "feed_forward", FeedForward(WIDTH, INNER, gated=True), NETWORK),
    ],
)
def test_a_block_that_pytorch_lacks_is_refused(ours, kind, options, path, value, message):
    with pytest.raises(ValueError, match=message):
        block_to_torch(changed(ours(kind, **options), path, value))


@each_block
@pytest.mark.parametrize(
    ("options", "path", "value", "message"),
    [
        ({"activation": "gelu"}, "", None, "the activation must be relu; got <"),
        ({"bias": False}, "", None, "the layer must have biases; got one without"),
        ({"layer_norm_eps": 0.001}, "", None, f"{EPS} 0.001"),
        ({}, "norm2.eps", 0.25, EPS),
        ({}, "self_attn.dropout", 0.5, r"one dropout; got 0\.0 and 0\.5"),
    ],
)
def test_a_layer_that_the_book_lacks_is_refused(theirs, kind, options, path, value, message):
    with pytest.raises(ValueError, match=message):
        block_from_torch(changed(theirs(kind, **options), path, value))


@each_block
@pytest.mark.parametrize("activation", [nn.functional.relu, torch.relu, nn.ReLU()])
def test_a_relu_is_a_relu(theirs, kind, activation):
    block_from_torch(theirs(kind, activation=activation))


def test_stacks_and_modules_of_a_different_kind_are_refused(ours):
    encoder, decoder = ours("stacks")
    assert transformer_to_torch(EncoderStack(1, 6, 2), DecoderStack(1, 6, 2)).nhead == 2
    with pytest.raises(ValueError, match="one d_model; got 33 and 6"):
        transformer_to_torch(encoder, DecoderStack(1, 6, 2))
    with pytest.raises(ValueError, match="attention with biases"):
        transformer_to_torch(EncoderStack(1, 33, 3, attention_bias=False), decoder)
    with pytest.raises(TypeError, match="must be a Transformer; got a EncoderStack"):
        transformer_from_torch(encoder)
    with pytest.raises(ValueError, match="activation must be relu"):
        transformer_from_torch(nn.Transformer(6, 2, 1, 1, 5, activation="gelu", batch_first=True))
    with pytest.raises(TypeError, match="TransformerDecoderLayer; got a Linear"):
        block_from_torch(nn.Linear(2, 2))
