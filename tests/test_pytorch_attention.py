"""Weights cross over and come back, bit by bit, and the two modules agree."""

import pytest
import torch
from torch import nn

from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.pytorch import from_torch, to_torch

BATCH, HEADS, QUERIES, KEYS, HEAD_WIDTH = 2, 3, 5, 7, 11
WIDTH = HEADS * HEAD_WIDTH

with_and_without_bias = pytest.mark.parametrize("bias", [True, False])
both_modes = pytest.mark.parametrize("training", [True, False])


@pytest.fixture
def ours(seeded):
    def _ours(*, dtype=torch.float64, **options):
        with seeded(0):
            return draw_all(MultiHeadAttention(WIDTH, HEADS, **options).to(dtype))

    return _ours


@pytest.fixture
def theirs(seeded):
    def _theirs(*, dtype=torch.float64, batch_first=True, **options):
        with seeded(0):
            module = nn.MultiheadAttention(
                WIDTH, HEADS, batch_first=batch_first, dtype=dtype, **options
            )
            return draw_all(module)

    return _theirs


def draw_all(module):
    """Draw every parameter anew: PyTorch's biases begin at zero, and would hide a swap."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.2)
    return module


@pytest.fixture
def inputs(draw):
    lengths = enumerate((QUERIES, KEYS, KEYS))
    return [draw(BATCH, length, WIDTH, seed=seed) for seed, length in lengths]


# Both directions, with biases or none.
@with_and_without_bias
def test_ours_as_theirs(ours, inputs, agree, bias):
    module = ours(bias=bias)
    context, weights = module(*inputs)
    expected, expected_weights = to_torch(module)(*inputs, average_attn_weights=False)
    agree(expected, context)
    agree(expected_weights, weights)


@with_and_without_bias
@pytest.mark.parametrize("batch_first", [True, False])
def test_theirs_as_ours(theirs, inputs, agree, bias, batch_first):
    module = theirs(bias=bias, batch_first=batch_first)
    context, weights = from_torch(module)(*inputs)
    given = inputs if batch_first else [x.transpose(0, 1) for x in inputs]
    expected, expected_weights = module(*given, average_attn_weights=False)
    agree(context, expected if batch_first else expected.transpose(0, 1))
    agree(weights, expected_weights)


# Contract, "mask": `~mask` against nn.MultiheadAttention.
def test_masks_are_inverted(ours, inputs, agree, draw_mask):
    module, mask = ours(), draw_mask(BATCH, HEADS, QUERIES, KEYS)
    context, weights = module(*inputs, mask)
    expected, expected_weights = to_torch(module)(
        *inputs, attn_mask=~mask.flatten(0, 1), average_attn_weights=False
    )
    agree(context, expected)
    agree(weights, expected_weights)


def test_causal_and_padding_masks_are_inverted(theirs, inputs, agree):
    module, causal = theirs(), causal_mask(QUERIES, KEYS)
    padding = padding_mask([KEYS, 3])
    context, _ = from_torch(module)(*inputs, causal & padding)
    expected, _ = module(*inputs, attn_mask=~causal, key_padding_mask=~padding[:, 0, 0])
    agree(context, expected)


# What else is carried: dropout, mode, dtype, device.
@both_modes
def test_dropout_and_mode_are_carried(ours, theirs, training):
    there = to_torch(ours(dropout=0.3).train(training))
    assert there.dropout == 0.3
    assert all(module.training == training for module in there.modules())
    here = from_torch(theirs(dropout=0.3).train(training))
    assert here.dropout == 0.3
    assert all(module.training == training for module in here.modules())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_dtype_is_carried(ours, theirs, dtype):
    for module in (to_torch(ours(dtype=dtype)), from_torch(theirs(dtype=dtype))):
        assert {parameter.dtype for parameter in module.parameters()} == {dtype}


def test_the_device_is_carried(ours, theirs):
    for module in (to_torch(ours().to("meta")), from_torch(theirs().to("meta"))):
        assert all(parameter.is_meta for parameter in module.parameters())


def test_a_default_device_does_not_move_a_copy(ours, theirs):
    ours, theirs = ours(), theirs()
    with torch.device("meta"):
        copies = to_torch(ours), from_torch(theirs)
    for module in copies:
        assert not any(parameter.is_meta for parameter in module.parameters())


# Nothing is lost, shared, changed or drawn.
@with_and_without_bias
@both_modes
def test_there_and_back_is_the_same_to_the_last_bit(ours, theirs, bias, training):
    here = ours(bias=bias, dropout=0.3).train(training)
    there = theirs(bias=bias, dropout=0.3).train(training)
    for first, again in ((here, from_torch(to_torch(here))), (there, to_torch(from_torch(there)))):
        assert repr(again) == repr(first)
        assert again.state_dict().keys() == first.state_dict().keys()
        for name, value in first.state_dict().items():
            assert torch.equal(again.state_dict()[name], value)


@pytest.mark.parametrize("convert", [to_torch, from_torch])
def test_a_copy_shares_no_memory_and_learns(ours, theirs, convert):
    module = ours() if convert is to_torch else theirs()
    before = [parameter.clone() for parameter in module.parameters()]
    copy = convert(module)
    assert all(parameter.requires_grad for parameter in copy.parameters())
    assert all(parameter.is_leaf for parameter in copy.parameters())
    with torch.no_grad():
        for parameter in copy.parameters():
            parameter.zero_()
    assert all(map(torch.equal, module.parameters(), before))


def test_copying_spends_no_random_numbers(ours, theirs):
    ours, theirs = ours(), theirs()
    before = torch.get_rng_state()
    to_torch(ours), from_torch(theirs)
    assert torch.equal(torch.get_rng_state(), before)


# What is wrong is named, after the rule.
@pytest.mark.parametrize(
    ("options", "got"),
    [
        ({"d_model": 6, "num_heads": 2, "d_head": 6}, r"6, 6 and 2 \* 6"),
        ({"d_model": 6, "num_heads": 2, "d_input": 5}, r"5, 6 and 2 \* 3"),
        ({"d_model": 7, "num_heads": 2, "d_input": 6, "d_head": 3}, r"6, 7 and 2 \* 3"),
    ],
)
def test_what_pytorch_has_not_is_refused(options, got):
    rule = r"PyTorch needs d_input = d_model = num_heads \* d_head"
    with pytest.raises(ValueError, match=f"^{rule}; got {got}$"):
        to_torch(MultiHeadAttention(**options))


@pytest.mark.parametrize("options", [{"num_kv_heads": 1}, {"rotary_base": 1e4}])
def test_grouped_and_rotated_heads_are_refused(options):
    with pytest.raises(ValueError, match=r"neither grouped nor rotated heads; got Multi"):
        to_torch(MultiHeadAttention(8, 2, **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kdim": 5}, "must equal embed_dim = 33; got kdim = 5, vdim = 33"),
        ({"vdim": 5}, "must equal embed_dim = 33; got kdim = 33, vdim = 5"),
        ({"add_bias_kv": True}, "no added key; got add_bias_kv or add_zero_attn"),
        ({"add_zero_attn": True}, "no added key; got add_bias_kv or add_zero_attn"),
    ],
)
def test_what_ours_has_not_is_refused(theirs, options, message):
    with pytest.raises(ValueError, match=f"{message}$"):
        from_torch(theirs(**options))


@with_and_without_bias
@pytest.mark.parametrize("frozen", ["in", "out"])
def test_what_is_frozen_stays_frozen(ours, bias, frozen):
    module = ours(bias=bias)
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(("output" in name) != (frozen == "out"))
    with torch.no_grad():
        there = to_torch(module)
        again = from_torch(there)
    learning = {name: p.requires_grad for name, p in module.named_parameters()}
    assert {name: p.requires_grad for name, p in again.named_parameters()} == learning
    assert there.in_proj_weight.requires_grad == (frozen == "out")
    assert there.out_proj.weight.requires_grad == (frozen == "in")


@pytest.mark.parametrize(("name", "got"), [("weight", "1 of 6"), ("bias", "1 of 6")])
def test_maps_that_do_not_learn_together_are_refused(ours, name, got):
    module = ours()
    getattr(module.project_key, name).requires_grad_(False)
    with pytest.raises(ValueError, match=f"all frozen; got {got} tensors frozen"):
        to_torch(module)
