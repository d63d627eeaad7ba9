"""Stacks and PyTorch's Transformer, weights copied there and back, agree under all masks."""

import warnings
from functools import partial

import pytest
import torch
from torch import nn

from selfattn_book.blocks import DecoderStack, EncoderStack
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.pytorch_stacks import transformer_from_torch, transformer_to_torch

BATCH, LENGTH, SOURCE, HEADS, WIDTH, INNER, LAYERS = 2, 5, 7, 3, 33, 13, (3, 2)
PADDING = padding_mask([3, LENGTH]), padding_mask([4, SOURCE])

close = partial(torch.testing.assert_close, rtol=0, atol=1e-11)
both_norms = pytest.mark.parametrize("norm_first", [True, False])


def drawn(module):
    """Draw all parameters: zeros and ones would hide a swap."""
    for parameter in module.double().parameters():
        nn.init.normal_(parameter, std=0.2)
    return module


@pytest.fixture
def stacks(seeded):
    def _stacks(**options):
        sizes = zip((EncoderStack, DecoderStack), LAYERS, strict=True)
        with seeded(0):
            return [
                drawn(kind(layers, WIDTH, HEADS, d_ff=INNER, **options)) for kind, layers in sizes
            ]

    return _stacks


@pytest.fixture
def theirs(seeded):
    def _theirs(**options):
        options = {"dropout": 0.0, "batch_first": True, **options}
        # PyTorch says of some sizes that a fast path of its own does not apply.
        with seeded(0), warnings.catch_warnings(action="ignore"):
            return drawn(nn.Transformer(WIDTH, HEADS, *LAYERS, INNER, **options))

    return _theirs


@pytest.fixture
def source(draw):
    return draw(BATCH, SOURCE, WIDTH, seed=1)


@pytest.fixture
def target(draw):
    return draw(BATCH, LENGTH, WIDTH, seed=2)


def ours_says(encoder, decoder, source, target, of_target=None, of_source=None):
    mask = causal_mask(LENGTH) if of_target is None else of_target & causal_mask(LENGTH)
    memory, _ = encoder(source, of_source)
    return decoder(target, memory, mask, of_source)[0]


def theirs_says(theirs, source, target, of_target=None, of_source=None):
    """PyTorch's module means the opposite by True, and wants (B, S) of a padding mask."""
    hidden = [None if mask is None else ~mask[:, 0, 0] for mask in (of_target, of_source)]
    return theirs(
        source,
        target,
        tgt_mask=~causal_mask(LENGTH),
        src_key_padding_mask=hidden[1],
        tgt_key_padding_mask=hidden[0],
        memory_key_padding_mask=hidden[1],
    )


@both_norms
@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("masks", [(), PADDING, (None, PADDING[1]), (PADDING[0], None)])
def test_our_stacks_as_theirs(stacks, source, target, norm_first, masks, is_training):
    ours = [stack.train(is_training) for stack in stacks(norm_first=norm_first)]
    theirs = transformer_to_torch(*ours)
    assert theirs.training is is_training
    assert [x.training for x in transformer_from_torch(theirs)] == [is_training] * 2
    with torch.set_grad_enabled(is_training):  # PyTorch has a path of its own without
        given = source, target, *masks
        close(ours_says(*ours, *given), theirs_says(theirs, *given))


@both_norms
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("masks", [(), PADDING])
def test_theirs_as_our_stacks(theirs, source, target, norm_first, batch_first, masks):
    theirs = theirs(norm_first=norm_first, batch_first=batch_first)
    encoder, decoder = transformer_from_torch(theirs)
    assert (len(encoder.blocks), len(decoder.blocks)) == LAYERS
    given = [x if batch_first else x.transpose(0, 1) for x in (source, target)]
    message = theirs_says(theirs, *given, *masks)
    message = message if batch_first else message.transpose(0, 1)
    close(ours_says(encoder, decoder, source, target, *masks), message)


@both_norms
def test_there_and_back_is_the_same(stacks, source, target, norm_first):
    ours = stacks(norm_first=norm_first)
    again = transformer_from_torch(transformer_to_torch(*ours))
    for one, other in zip(ours, again, strict=True):
        assert list(one.state_dict()) == list(other.state_dict())
        for name, number in one.state_dict().items():
            assert number.equal(other.state_dict()[name])
        assert type(one.norm) is type(other.norm)
    assert ours_says(*ours, source, target).equal(ours_says(*again, source, target))


def test_a_copy_shares_nothing_and_draws_nothing(stacks, theirs):
    ours, other = stacks(norm_first=True), theirs(norm_first=True)
    state = torch.get_rng_state()
    there, back = transformer_to_torch(*ours), transformer_from_torch(other)
    assert torch.get_rng_state().equal(state)
    for copies, originals in ((there.parameters(), ours), (other.parameters(), back)):
        places = {p.data_ptr() for p in copies}
        assert not places & {p.data_ptr() for x in originals for p in x.parameters()}


def test_the_norm_behind_a_post_norm_stack_is_theirs_alone(theirs, stacks):
    """PyTorch's Transformer has one in both kinds; the book's stack in pre-norm only."""
    assert isinstance(theirs(norm_first=False).encoder.norm, nn.LayerNorm)
    encoder, decoder = stacks(norm_first=False)
    assert isinstance(encoder.norm, nn.Identity)
    made = transformer_to_torch(encoder, decoder)
    assert made.encoder.norm is None
    assert made.decoder.norm is None


def test_what_is_frozen_stays_frozen(stacks):
    encoder, decoder = stacks(norm_first=True)
    encoder.requires_grad_(False)
    there = transformer_to_torch(encoder, decoder)
    assert not any(p.requires_grad for p in there.encoder.parameters())
    assert all(p.requires_grad for p in there.decoder.parameters())
    back = transformer_from_torch(there)
    assert not any(p.requires_grad for p in back[0].parameters())


def test_what_does_not_fit_is_refused(stacks):
    encoder, decoder = stacks()
    with pytest.raises(ValueError, match="one d_model; got 33 and 6"):
        transformer_to_torch(encoder, DecoderStack(1, 6, 2))
    with pytest.raises(ValueError, match="attention with biases"):
        transformer_to_torch(EncoderStack(1, 33, 3, attention_bias=False), decoder)
    with pytest.raises(TypeError, match="must be a Transformer; got a EncoderStack"):
        transformer_from_torch(encoder)
    with pytest.raises(ValueError, match="activation must be relu"):
        transformer_from_torch(nn.Transformer(6, 2, 1, 1, 5, activation="gelu", batch_first=True))
