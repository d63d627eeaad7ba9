"""Blocks and PyTorch's layers, weights copied there and back, agree in both norms and under masks."""

from functools import partial

import pytest
import torch
from torch import nn

from selfattn_book.blocks import DecoderBlock, EncoderBlock
from selfattn_book.feed_forward import FeedForward
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.pytorch import block_from_torch, block_to_torch

BATCH, LENGTH, SOURCE, HEADS, WIDTH, INNER = 2, 5, 7, 3, 33, 13
LENGTHS, SOURCE_LENGTHS = torch.tensor([3, LENGTH]), torch.tensor([4, SOURCE])

close = partial(torch.testing.assert_close, rtol=0, atol=1e-12)
both_norms = pytest.mark.parametrize("norm_first", [True, False])
each_block = pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
each_layer = pytest.mark.parametrize(
    "kind", [nn.TransformerEncoderLayer, nn.TransformerDecoderLayer]
)


@pytest.fixture
def drawn(seeded):
    """Make a module whose parameters are all drawn: zeros and ones would hide a swap."""

    def _drawn(kind, *sizes, **options):
        with seeded(0):
            module = kind(*sizes, **options).double()
            for parameter in module.parameters():
                nn.init.normal_(parameter, std=0.2)
        return module

    return _drawn


@pytest.fixture
def block(drawn):
    def _block(kind, **options):
        return drawn(kind, WIDTH, HEADS, d_ff=INNER, **options)

    return _block


@pytest.fixture
def layer(drawn):
    def _layer(kind, **options):
        options = {"dropout": 0.0, "batch_first": True, **options}
        return drawn(kind, WIDTH, HEADS, INNER, **options)

    return _layer


@pytest.fixture
def x(draw):
    return draw(BATCH, LENGTH, WIDTH, seed=1)


@pytest.fixture
def memory(draw):
    return draw(BATCH, SOURCE, WIDTH, seed=2)


@both_norms
def test_encoders_agree(block, x, norm_first):
    ours = block(EncoderBlock, norm_first=norm_first)
    theirs = block_to_torch(ours)
    padding, causal = padding_mask(LENGTHS, LENGTH), causal_mask(LENGTH)
    message = theirs(x, src_mask=~causal, src_key_padding_mask=~padding[:, 0, 0])
    close(ours(x, padding & causal)[0], message)
    close(ours(x)[0], theirs(x))


@both_norms
def test_encoders_agree_in_evaluation_as_well(block, x, norm_first):
    ours = block(EncoderBlock, norm_first=norm_first).eval()
    with torch.no_grad():  # where PyTorch has a path of its own
        close(ours(x)[0], block_to_torch(ours)(x))


@both_norms
def test_decoders_agree(block, x, memory, norm_first):
    ours = block(DecoderBlock, norm_first=norm_first)
    theirs = block_to_torch(ours)
    padding, causal = padding_mask(LENGTHS, LENGTH), causal_mask(LENGTH)
    of_memory = padding_mask(SOURCE_LENGTHS, SOURCE)
    message = theirs(
        x,
        memory,
        tgt_mask=~causal,
        tgt_key_padding_mask=~padding[:, 0, 0],
        memory_key_padding_mask=~of_memory[:, 0, 0],
    )
    close(ours(x, memory, padding & causal, of_memory)[0], message)
    close(ours(x, memory)[0], theirs(x, memory))


@both_norms
@pytest.mark.parametrize("batch_first", [True, False])
def test_their_encoder_as_ours(layer, x, norm_first, batch_first):
    options = {"norm_first": norm_first, "batch_first": batch_first}
    theirs = layer(nn.TransformerEncoderLayer, **options)
    message = theirs(x) if batch_first else theirs(x.transpose(0, 1)).transpose(0, 1)
    close(block_from_torch(theirs)(x)[0], message)


@both_norms
def test_their_decoder_as_ours(layer, x, memory, norm_first):
    theirs = layer(nn.TransformerDecoderLayer, norm_first=norm_first)
    close(block_from_torch(theirs)(x, memory)[0], theirs(x, memory))


@both_norms
@each_block
def test_there_and_back_is_the_same_to_the_last_bit(block, kind, norm_first):
    ours = block(kind, norm_first=norm_first, dropout=0.25)
    again = block_from_torch(block_to_torch(ours))
    assert repr(again) == repr(ours)
    wanted = ours.state_dict()
    assert list(again.state_dict()) == list(wanted)
    for name, value in again.state_dict().items():
        assert value.equal(wanted[name]), name
        assert value.data_ptr() != wanted[name].data_ptr()


@each_block
@pytest.mark.parametrize("mode", [True, False])
def test_mode_and_dropout_are_carried(block, kind, mode):
    theirs = block_to_torch(block(kind, dropout=0.25).train(mode))
    rates = {m.p for m in theirs.modules() if isinstance(m, nn.Dropout)}
    assert rates == {0.25}
    assert all(module.training is mode for module in theirs.modules())
    assert all(module.training is mode for module in block_from_torch(theirs).modules())


@each_block
def test_a_copy_spends_no_random_numbers(block, kind):
    ours, state = block(kind), torch.get_rng_state()
    block_from_torch(block_to_torch(ours))
    assert torch.get_rng_state().equal(state)


@each_block
def test_wide_heads_and_heads_without_biases_are_refused(block, kind):
    with pytest.raises(ValueError, match="needs an attention with biases; got one"):
        block_to_torch(block(kind, attention_bias=False))
    with pytest.raises(ValueError, match="d_head"):
        block_to_torch(block(kind, d_head=WIDTH))


@each_layer
def test_layers_that_have_no_block_are_refused(layer, kind):
    for option, rule in (
        ({"activation": "gelu"}, "the activation must be relu; got <"),
        ({"bias": False}, "the layer must have biases; got one without"),
        ({"layer_norm_eps": 0.001}, "layer_norm_eps must be 1e-05; got 0.001"),
    ):
        with pytest.raises(ValueError, match=rule):
            block_from_torch(layer(kind, **option))


@each_layer
@pytest.mark.parametrize("activation", [nn.functional.relu, torch.relu, nn.ReLU()])
def test_a_relu_is_a_relu(layer, kind, activation):
    block_from_torch(layer(kind, activation=activation))


@each_layer
def test_every_norm_is_looked_at(layer, kind):
    names = [name for name, _ in layer(kind).named_modules() if "norm" in name]
    assert len(names) == (3 if kind is nn.TransformerDecoderLayer else 2)
    for name in names:
        theirs = layer(kind)
        theirs.get_submodule(name).eps = 0.25
        with pytest.raises(ValueError, match="layer_norm_eps must be 1e-05; got"):
            block_from_torch(theirs)


@each_block
def test_every_part_of_ours_is_looked_at(block, kind):
    ours = block(kind)
    ours.feed_forward_residual.norm.eps = 0.25
    with pytest.raises(ValueError, match="layer_norm_eps must be 1e-05; got"):
        block_to_torch(ours)
    ours = block(kind)
    ours.feed_forward_residual.norm_first = True
    with pytest.raises(ValueError, match="one norm_first; got False and True"):
        block_to_torch(ours)
    ours = block(kind, dropout=0.25)
    ours.feed_forward.dropout.p = 0.5
    with pytest.raises(ValueError, match=r"one dropout; got 0\.25 and 0\.5"):
        block_to_torch(ours)


@each_layer
def test_a_layer_with_two_dropout_probabilities_is_refused(layer, kind):
    theirs = layer(kind)
    theirs.self_attn.dropout = 0.5
    with pytest.raises(ValueError, match=r"one dropout; got 0\.0 and 0\.5"):
        block_from_torch(theirs)


def test_a_different_kind_of_module_is_refused():
    with pytest.raises(TypeError, match="TransformerDecoderLayer; got a Linear"):
        block_from_torch(nn.Linear(2, 2))


@each_block
@pytest.mark.parametrize("change", ["gelu", "gated"])
def test_a_network_that_pytorch_lacks_is_refused(block, kind, change):
    ours = block(kind)
    options = {"activation": "gelu"} if change == "gelu" else {"gated": True}
    ours.feed_forward = FeedForward(WIDTH, INNER, **options)
    with pytest.raises(ValueError, match="ReLU without a gate; got FeedForward"):
        block_to_torch(ours)


@each_block
def test_what_is_frozen_stays_frozen(block, kind):
    ours = block(kind)
    ours.feed_forward.expand.bias.requires_grad_(False)
    ours.feed_forward_residual.norm.requires_grad_(False)
    name = "attention" if kind is EncoderBlock else "cross_attention"
    ours.get_submodule(name).requires_grad_(False)
    learning = {name: p.requires_grad for name, p in ours.named_parameters()}
    theirs = block_to_torch(ours)
    again = block_from_torch(theirs).named_parameters()
    assert {name: p.requires_grad for name, p in again} == learning
    assert not theirs.linear1.bias.requires_grad
    assert theirs.linear1.weight.requires_grad
