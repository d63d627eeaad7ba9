"""A decoder from parts: right answers of many kinds pass, and each wrong one is named."""

import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from selfattn_book.encoder_decoder import Decoder
from selfattn_book.masks import causal_mask, padding_mask
from tests.course.answers import report, said

pytestmark = pytest.mark.usefixtures("page")
RELU = torch.relu


class Own(nn.Module):
    """The answer of the page, in parts that a mistake can replace."""

    inside = staticmethod(RELU)
    before = after = staticmethod(lambda x: x)
    options = {"batch_first": True}  # noqa: RUF012

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        heads = nn.MultiheadAttention
        self.looks = heads(d_model, num_heads, **self.options)
        self.asks = heads(d_model, num_heads, **self.options)
        self.wide, self.back = (
            nn.Linear(d_model, d_ff),
            nn.Linear(d_ff, d_model),
        )

    def future(self, x):
        return torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)

    def padding(self, n, m):
        return torch.arange(m.size(1)) >= n[:, None]

    def look(self, x):
        return self.looks(x, x, x, attn_mask=self.future(x))[0]

    def ask(self, z, m, hidden):
        return self.asks(z, m, m, key_padding_mask=hidden)[0]

    def network(self, y):
        return self.after(self.back(self.inside(self.wide(self.before(y)))))

    def forward(self, x, m, n):
        return self.network(self.ask(self.look(x), m, self.padding(n, m)))


def own(**parts):
    """Return the answer with other parts."""
    return type("Own", (Own,), parts)


class OfTheBook(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.decoder = Decoder(d_model=d_model, num_heads=num_heads, d_ff=d_ff, d_input=d_model)

    def forward(self, x, m, n):
        hidden = padding_mask(n, m.size(1))
        return self.decoder(x, m, causal_mask(x.size(1)), hidden)[0]


class Fused(nn.Module):
    """One head, by PyTorch's function."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(6))
        self.network = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x, m, n):
        attend = F.scaled_dot_product_attention
        q, k, v = (f(x) for f in self.maps[:3])
        z = attend(q, k, v, is_causal=True)
        q, k, v = self.maps[3](z), self.maps[4](m), self.maps[5](m)
        mask = padding_mask(n, m.size(1))[:, 0].expand(-1, x.size(1), -1)
        return self.network(attend(q, k, v, attn_mask=mask))


class PointByPoint(Own):
    """Look at each beginning by itself."""

    def look(self, x):
        ends = range(1, x.size(1) + 1)
        return torch.cat(
            [self.looks(x[:, t - 1 : t], x[:, :t], x[:, :t])[0] for t in ends],
            dim=1,
        )


class LengthFirst(Own):
    options = {}  # noqa: RUF012

    def look(self, x):
        x, mask = x.transpose(0, 1), self.future(x)
        return self.looks(x, x, x, attn_mask=mask)[0].transpose(0, 1)

    def ask(self, z, m, hidden):
        z, m = z.transpose(0, 1), m.transpose(0, 1)
        return self.asks(z, m, m, key_padding_mask=hidden)[0].transpose(0, 1)


class NumPy(Own):
    def forward(self, *inputs):
        return super().forward(*inputs).detach().numpy()


class In32Bits(Own):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.float()


class Residual(Own):
    def forward(self, x, m, n):
        return x + super().forward(x, m, n)


class AroundTheMemory(Own):
    def ask(self, z, m, hidden):
        return z + super().ask(z, m, hidden)


class AroundTheNetwork(Own):
    def network(self, y):
        return y + super().network(y)


class OneHead(Own):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, 1, d_ff)


class FourTimes(Own):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, num_heads, 4 * d_model)


class AllOutputs(Own):
    def forward(self, *inputs):
        return super().forward(*inputs), None, None


class Last(Own):
    def forward(self, *inputs):
        return super().forward(*inputs)[:, -1]


def zeroed(self, z, m, hidden):
    m = m.masked_fill(hidden[..., None], 0)
    return self.asks(z, m, m)[0]


def all_of_it(self, z, m, hidden):
    return self.asks(z, m, m)[0]


def values_of_the_target(self, z, m, hidden):
    return self.asks(z, m, z, key_padding_mask=hidden)[0]


def causal_too(self, z, m, hidden):
    mask = self.future(z)
    return self.asks(z, m, m, key_padding_mask=hidden, attn_mask=mask)[0]


def causal_to_the_memory(self, z, m, hidden):
    mask = torch.ones(z.size(1), m.size(1), dtype=torch.bool).triu(1)
    return self.asks(z, m, m, key_padding_mask=hidden, attn_mask=mask)[0]


def asked_by_the_memory(self, z, m, hidden):
    return self.asks(m, z, z)[0]


def unasked(self, z, m, hidden):
    return self.asks(z, z, z, attn_mask=self.future(z))[0]


def asked_by_nobody(self, z, m, hidden):
    return self.asks(torch.ones_like(z), m, m, key_padding_mask=hidden)[0]


class PaddedTarget(Own):
    """Hide points of the target by the lengths of the sources."""

    def forward(self, x, m, n):
        hidden = self.padding(n, m)
        z, _ = self.looks(x, x, x, attn_mask=self.future(x), key_padding_mask=hidden)
        return self.network(self.ask(z, m, hidden))


class Mixing(Own):
    """Take a mean over the samples away."""

    def look(self, x):
        return super().look(x - x.mean(0, keepdim=True))


class WithMean(Own):
    """Know the length of the target."""

    def look(self, x):
        return super().look(x) / x.size(1)


class WithPositions(Own):
    def ask(self, z, m, hidden):
        places = torch.arange(z.size(1))[:, None].to(z)
        return super().ask(z, m, hidden) + places


def triangle(diagonal, turned=False):
    def future(self, x):
        mask = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(diagonal)
        return mask.mT if turned else mask

    return future


RIGHT = {
    "OwnDecoder": {
        "as on the page": Own,
        "of the book": OfTheBook,
        "fused": Fused,
        "point by point": PointByPoint,
        "length first": LengthFirst,
        "NumPy": NumPy,
        "32 bits": In32Bits,
        "a mask of -inf": own(
            future=lambda self, x: torch.full((x.size(1), x.size(1)), -torch.inf).triu(1),
            padding=lambda self, n, m: torch.zeros(m.shape[:2]).masked_fill(
                torch.arange(m.size(1)) >= n[:, None], -torch.inf
            ),
        ),
        "dropout": own(options={"batch_first": True, "dropout": 0.5}),
    }
}
WRONG = {
    "OwnDecoder": {
        "batch second": (
            own(options={}),
            "exception: .* unless `batch_first=True` is said",
        ),
        "all outputs": (AllOutputs, "missing: .* the outputs alone; got 3 values"),
        "the last": (Last, r"shape: .*\(3, 4, 6\); got \(3, 6\)"),
        "asked by the memory": (
            own(ask=asked_by_the_memory),
            r"got \(3, 5, 6\). There is one for each state",
        ),
        "causal inverted": (
            own(future=lambda self, x: causal_mask(x.size(1))),
            "The causal mask is inverted: .* `True` means ignore",
        ),
        "padding inverted": (
            own(padding=lambda self, n, m: torch.arange(m.size(1)) < n[:, None]),
            "padding is seen, and the rest is hidden. .* `True` means ignore",
        ),
        "not itself": (own(future=triangle(0)), "hides a point from itself"),
        "no causal mask": (
            own(future=lambda self, x: None),
            "position 0 moves with target point 1, .* there is no causal mask",
        ),
        "one too wide": (own(future=triangle(2)), "one diagonal too wide"),
        "transposed": (own(future=triangle(1, turned=True)), "mask is transposed"),
        "only itself": (
            own(look=lambda self, x: self.looks.out_proj(x)),
            "Each point sees only itself",
        ),
        "samples mix": (Mixing, "moves by .* when sample 0 is alone"),
        "knows the length": (WithMean, "when the points behind it are left out"),
        "asked by nobody": (own(ask=asked_by_nobody), "The target plays no part"),
        "no memory": (own(ask=unasked), "The memory plays no part"),
        "causal, too": (own(ask=causal_too), "causal mask of the target lies over"),
        "causal to the memory": (
            own(ask=causal_to_the_memory),
            "causal mask of the target lies over the memory",
        ),
        "a padded target": (PaddedTarget, "lengths of the sources hide points"),
        "padding heard": (
            own(ask=all_of_it),
            "other numbers stand in its padding. The lengths make no difference",
        ),
        "padding zeroed": (own(ask=zeroed), "Padding is set to 0, and not hidden"),
        "numbers for a mask": (
            own(padding=lambda self, n, m: 1.0 * (torch.arange(m.size(1)) < n[:, None])),
            "The mask weakens padding",
        ),
        "one too late": (
            own(padding=lambda self, n, m: torch.arange(m.size(1)) > n[:, None]),
            "the mask begins one place too late",
        ),
        "one too early": (
            own(
                padding=lambda self, n, m: (
                    torch.arange(m.size(1)) >= n[:, None] - int(m.size(1) > 1)
                )
            ),
            "The last state is hidden",
        ),
        "values of the target": (
            own(ask=values_of_the_target),
            "Target and memory stand side by side as keys and values",
        ),
        "residual": (Residual, "The target itself is in what comes back"),
        "around the memory": (
            AroundTheMemory,
            "The target itself is in what comes",
        ),
        "positions": (WithPositions, "Something counts the positions"),
        "around the network": (AroundTheNetwork, "A residual path carries"),
        "one head": (OneHead, "where num_heads = 2, an attention has 1 heads"),
        "four times": (FourTimes, "The inner width does not follow d_ff"),
        "no ReLU": (
            own(inside=staticmethod(lambda x: x)),
            "nothing ever bends. Two linear layers without",
        ),
        "ReLU at the end": (
            own(inside=staticmethod(lambda x: x), after=staticmethod(RELU)),
            "A ReLU stands at the end",
        ),
        "ReLU before": (
            own(inside=staticmethod(lambda x: x), before=staticmethod(RELU)),
            "A ReLU stands before the first layer",
        ),
        "GELU": (own(inside=staticmethod(F.gelu)), "Another function than ReLU"),
        "nothing": (
            own(forward=lambda self, x, m, n: None),
            "missing: .* got None",
        ),
        "two inputs": (own(forward=lambda self, x, m: x), "exception: TypeError"),
    }
}


@pytest.mark.parametrize("kind", RIGHT["OwnDecoder"])
def test_what_is_right_passes(kind):
    found = report("decoder", RIGHT["OwnDecoder"][kind], "OwnDecoder")
    assert said(found) == ""


@pytest.mark.parametrize("kind", WRONG["OwnDecoder"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["OwnDecoder"][kind]
    found = report("decoder", answer, "OwnDecoder")
    assert found.points < found.possible
    assert re.search(name, said(found))


@pytest.mark.parametrize(
    ("kind", "points"),
    [("no causal mask", 12), ("padding zeroed", 13), ("no ReLU", 12)],
)
def test_what_is_half_right_has_a_part_of_the_points(kind, points):
    found = report("decoder", WRONG["OwnDecoder"][kind][0], "OwnDecoder")
    assert (found.points, found.possible) == (points, 14)
