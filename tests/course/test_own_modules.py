"""Encoders and decoders with paths, orders and layers of their own, and names that would be false."""

import re

import pytest
import torch
from torch import nn

from selfattn_book.positions import sinusoidal_encoding
from tests.course import test_decoder, test_encoder
from tests.course.answers import report, said

pytestmark = pytest.mark.usefixtures("page")
Encoder, Decoder = test_encoder.Own, test_decoder.Own


def encoder(**parts):
    return type("OwnEncoder", (Encoder,), parts)


def decoder(**parts):
    return type("OwnDecoder", (Decoder,), parts)


def with_layers(kind, **layers):
    """Return an answer with layers of other sizes, which are used as they were, or not at all."""

    def build(self, d_model, num_heads, d_ff):
        kind.__init__(self, d_model, num_heads, d_ff)
        for name, layer in layers.items():
            setattr(self, name, layer(d_model, d_ff))

    return type("Own", (kind,), {"__init__": build})


class NetworkFirst(Encoder):
    def forward(self, source, lengths):
        made = self.back(self.wide(source).relu())
        return self.attend(made, self.hide(lengths, source.size(1)))


class Between(with_layers(Encoder, norm=lambda d, d_ff: nn.LayerNorm(d))):
    """A norm between attention and small network."""

    def attend(self, x, hidden):
        return self.norm(super().attend(x, hidden))


class Twice(
    with_layers(Encoder, more=lambda d, d_ff: nn.MultiheadAttention(d, 2, batch_first=True))
):
    def attend(self, x, hidden):
        x = super().attend(x, hidden)
        return self.more(x, x, x, key_padding_mask=hidden)[0]


class MoreLayers(with_layers(Encoder, more=lambda d, d_ff: nn.Linear(d, d))):
    def attend(self, x, hidden):
        return self.more(super().attend(x, hidden))


class PlainList(Encoder):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, num_heads, d_ff)
        self.layers = [self.wide, self.back]
        del self.wide, self.back

    def forward(self, source, lengths):
        context = self.attend(source, self.hide(lengths, source.size(1)))
        return self.layers[1](self.layers[0](context).relu())


class Shared(Encoder):
    def forward(self, source, lengths):
        context = self.attend(source, self.hide(lengths, source.size(1)))
        return self.wide(context).relu() @ self.wide.weight + self.back.bias


def by_the_mean(self, x, hidden):
    query = x.mean(1, keepdim=True).expand_as(x)
    return self.attention(query, x, x, key_padding_mask=hidden)[0]


class MemoryFirst(Decoder):
    def forward(self, x, m, n):
        return self.network(self.look(self.ask(x, m, self.padding(n, m))))


class HiddenTarget(Decoder):
    """Hide target points by the lengths of the sources, as well."""

    def forward(self, x, m, n):
        mask, hidden = self.future(x), self.padding(n, x)
        z, _ = self.looks(x, x, x, attn_mask=mask, key_padding_mask=hidden)
        return self.network(self.ask(z, m, self.padding(n, m)))


class HiddenTargetOnly(HiddenTarget):
    """Hide target points by the lengths of the sources, and no states."""

    def ask(self, z, m, hidden):
        return self.asks(z, m, m)[0]


class MemoryThroughNetwork(Decoder):
    def forward(self, x, m, n):
        return self.ask(self.look(x), self.network(m), self.padding(n, m))


class NormedTarget(with_layers(Decoder, norm=lambda d, d_ff: nn.LayerNorm(d))):
    def look(self, x):
        return super().look(self.norm(x))


def placed(x):
    return x + sinusoidal_encoding(x.size(1), x.size(2)).to(x)


def side_by_side(self, z, m, hidden):
    both = torch.cat([z, m], dim=1)
    return self.asks(z, both, both)[0]


def causal_on_memory(self, z, m, hidden):
    mask = torch.ones(z.size(1), m.size(1), dtype=torch.bool).triu(1)
    return self.asks(z, m, m, attn_mask=mask, key_padding_mask=hidden)[0]


def shifted_again(self, x):
    return Decoder.look(self, torch.cat([0 * x[:, :1], x[:, :-1]], dim=1))


WRONG = {
    "encoder": {
        "around the attention": (
            encoder(attend=lambda self, x, h: x + Encoder.attend(self, x, h)),
            "past the attention",
        ),
        "a tenth of it": (
            encoder(attend=lambda self, x, h: 0.1 * x + Encoder.attend(self, x, h)),
            "past the attention",
        ),
        "network first": (
            NetworkFirst,
            "An attention comes behind the small network",
        ),
        "norm between": (
            Between,
            "^(?!.*A ReLU stands before).*such as a norm.*A norm stands before the small",
        ),
        "two attentions": (Twice, "There is an attention too many"),
        "a linear layer more": (
            MoreLayers,
            "from d_model to d_model is one too many",
        ),
        "a plain list": (PlainList, "Layers in a plain list are not found"),
        "one weight": (Shared, "back.weight takes no part"),
        "no bias": (
            with_layers(Encoder, wide=lambda d, d_ff: nn.Linear(d, d_ff, bias=False)),
            "A linear layer of the small network has no bias",
        ),
        "detached": (
            encoder(attend=lambda self, x, h: Encoder.attend(self, x, h).detach()),
            "attention.in_proj_weight takes no part .* or is cut off",
        ),
        "by the mean": (
            encoder(attend=by_the_mean),
            "^(?!.*weakens).*its query has no part in the weights",
        ),
        "nobody but the last": (
            encoder(hide=lambda self, n, size: torch.arange(size) >= n[:, None] - 1),
            "^(?!.*LinAlg).*where there is one point alone, the states hold nan",
        ),
    },
    "decoder": {
        "around the self-attention": (
            decoder(look=lambda self, x: x + Decoder.look(self, x)),
            "past the self-attention",
        ),
        "memory first": (MemoryFirst, "The target asks the memory first"),
        "hidden target": (HiddenTarget, "hide points of the target"),
        "hidden target only": (
            HiddenTargetOnly,
            "^(?!.*weakens).*hide points of the target",
        ),
        "ReLU between": (
            decoder(look=lambda self, x: Decoder.look(self, x).relu()),
            "Something bends the queries",
        ),
        "memory through the network": (
            MemoryThroughNetwork,
            "An attention comes behind the small network",
        ),
        "a norm on the target": (
            NormedTarget,
            "as if a norm stood between.*such as a norm",
        ),
        "one attention for two": (
            decoder(ask=lambda self, z, m, h: self.looks(z, m, m, key_padding_mask=h)[0]),
            "asks.in_proj_weight takes no part",
        ),
        "positions": (
            decoder(look=lambda self, x: Decoder.look(self, placed(x))),
            "A table of positions is added to the target",
        ),
        "positions of states": (
            decoder(ask=lambda self, z, m, h: Decoder.ask(self, z, placed(m), h)),
            "^(?!.*The target itself).*A table of positions is added to the memory",
        ),
        "keys of the target": (
            decoder(ask=lambda self, z, m, hidden: self.asks(z, z, z)[0]),
            "^(?!.*no causal mask)(?!.*one point of its future)(?!.*without a ReLU)"
            ".*has keys and values of the target",
        ),
        "side by side": (
            decoder(ask=side_by_side),
            "^(?!.*no causal mask)(?!.*A ReLU stands)(?!.*Another function)"
            ".*has keys and values of the target",
        ),
        "causal over the memory": (
            decoder(ask=causal_on_memory),
            "^(?!.*table of positions).*target point 0, where the source has 5 points. "
            "The causal mask of the target lies over",
        ),
        "causal over the memory alone": (
            decoder(ask=causal_on_memory, look=lambda self, x: self.looks(x, x, x)[0]),
            "there is no causal mask.* The causal mask of the target lies over",
        ),
        "shifted again": (
            decoder(look=shifted_again),
            "^(?!.*table of positions).*shifted by one more place",
        ),
    },
}
CASES = [(chapter, kind) for chapter, found in WRONG.items() for kind in found]


@pytest.mark.parametrize(("chapter", "kind"), CASES)
def test_what_is_wrong_is_named(chapter, kind):
    answer, name = WRONG[chapter][kind]
    found = report(chapter, answer, f"Own{chapter.title()}")
    assert found.points < found.possible
    assert re.search(name, said(found))
