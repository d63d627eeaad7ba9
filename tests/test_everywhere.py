"""What holds for every module of the book: compiled, exported, copied, or without numbers."""

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.encoder_decoder import EncoderDecoder
from selfattn_book.language import decoder_only
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.positions import PositionalEncoding
from selfattn_book.rotary import rotate
from selfattn_book.transformer import Transformer

D, TOKENS, LENGTH = 8, 11, 30


class Call(nn.Module):
    """A function, or a module with options, as a module."""

    def __init__(self, function, **options):
        super().__init__()
        self.function, self.options = function, options

    def forward(self, *given):
        return self.function(*given, **self.options)


def heads(**options):
    return MultiHeadAttention(D, 2, **options)


# Each letter is an input: x and y sequences of vectors, s and t of tokens, p positions, m a mask.
AXES = {"x": "bt", "y": "bs", "t": "bt", "s": "bs", "p": "t", "m": "ts"}
ROTATED = {"num_kv_heads": 1, "rotary_base": 500.0}
SIZES = {"d_model": D, "num_layers": 1, "num_heads": 2}
MODULES = {
    "attention": (lambda: Call(scaled_dot_product_attention), "xyym"),
    "heads": (heads, "xyym"),
    "heads, fused": (lambda: Call(heads(), need_weights=False), "xyym"),
    "rotated heads": (lambda: heads(**ROTATED), "xyym"),
    "rotated heads, fused": (lambda: Call(heads(**ROTATED), need_weights=False), "xyym"),
    "rotate": (lambda: Call(rotate), "xp"),
    "positions": (lambda: PositionalEncoding(D, LENGTH, 2.0), "x"),
    "plain": (lambda: EncoderDecoder(d_model=4, num_heads=2, d_ff=5, d_input=D), "yx"),
    "Transformer": (lambda: Transformer(TOKENS, TOKENS, **SIZES, max_len=LENGTH), "st"),
    "language model": (lambda: decoder_only(TOKENS, **SIZES, context_length=LENGTH), "t"),
}


def inputs(letters, b=2, t=5, s=7):
    """Return an input of these sizes for each letter."""
    generator, sizes = torch.Generator().manual_seed(0), {"b": b, "t": t, "s": s}

    def one(letter):
        shape = [sizes[axis] for axis in AXES[letter]]
        if letter in "st":
            return torch.randint(TOKENS, shape, generator=generator)
        if letter in "pm":
            return torch.arange(t) if letter == "p" else causal_mask(t, s)
        return torch.randn(*shape, D, generator=generator, dtype=torch.float64)

    return tuple(map(one, letters))


@pytest.fixture
def case(request, randomized):
    """A module in evaluation mode, and the letters of its inputs."""
    make, letters = MODULES[request.param]
    return randomized(make()).eval(), letters


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", MODULES, indirect=True)
def test_compiled_it_is_the_same(case):
    module, letters = case
    given = inputs(letters)
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    close(compiled(*given), module(*given))


@pytest.mark.parametrize("case", MODULES, indirect=True)
def test_exported_it_is_the_same_for_other_sizes(case):
    module, letters = case
    exported = Call(module) if not isinstance(module, Call) else module
    sizes = {axis: torch.export.Dim(axis, min=2, max=LENGTH) for axis in "bts"}
    shapes = tuple({i: sizes[a] for i, a in enumerate(AXES[letter])} for letter in letters)
    program = torch.export.export(exported, inputs(letters), dynamic_shapes=(shapes,))
    others = inputs(letters, b=3, t=17, s=19)
    close(program.module()(*others), module(*others))


@pytest.mark.parametrize("case", MODULES, indirect=True)
def test_nothing_is_changed_or_kept_and_copies_give_the_same(case):
    module, letters = case
    given, attributes = inputs(letters), set(vars(module))
    before, state = copy.deepcopy((given, module.state_dict())), torch.get_rng_state()
    first = module(*given)
    module(*inputs(letters, b=3, t=4))
    for same in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        torch.testing.assert_close(same(*given), first, rtol=0, atol=0)
    torch.testing.assert_close((given, module.state_dict()), before, rtol=0, atol=0)
    assert set(vars(module)) == attributes
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("case", MODULES, indirect=True)
def test_without_numbers_its_shapes_are_the_same(case):
    module, letters = case
    expected = pytree.tree_leaves(module(*inputs(letters)))
    found = module.to("meta")(*(x.to("meta") for x in inputs(letters)))
    for x, y in zip(pytree.tree_leaves(found), expected, strict=True):
        assert (x is y is None) or (x.is_meta and x.shape == y.shape)
