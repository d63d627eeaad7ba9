"""An encoder from parts: right answers of many kinds pass, and each wrong one is named."""

import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from selfattn_book.masks import padding_mask
from selfattn_book.multi_head import MultiHeadAttention
from tests.course.answers import report, said

pytestmark = pytest.mark.usefixtures("page")
RELU = torch.relu


class Own(nn.Module):
    """The answer of the page, in parts that a mistake can replace."""

    inside = staticmethod(RELU)
    before = after = staticmethod(lambda x: x)

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = self.look(d_model, num_heads)
        self.wide, self.back = (
            nn.Linear(d_model, d_ff),
            nn.Linear(d_ff, d_model),
        )

    def look(self, d_model, num_heads):
        return nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    def hide(self, lengths, size):
        return torch.arange(size) >= lengths[:, None]

    def attend(self, x, hidden):
        return self.attention(x, x, x, key_padding_mask=hidden)[0]

    def forward(self, source, lengths):
        context = self.attend(source, self.hide(lengths, source.size(1)))
        inner = self.inside(self.wide(self.before(context)))
        return self.after(self.back(inner))


def own(**parts):
    """Return the answer with other parts."""
    return type("Own", (Own,), parts)


class ByHand(nn.Module):
    """Heads by einsum."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.heads = num_heads
        self.maps = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.network = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x, lengths):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in self.maps[:3])
        scores = torch.einsum("bthd,bshd->bhts", q, k) / q.size(-1) ** 0.5
        hidden = torch.arange(x.size(1)) >= lengths[:, None]
        weights = self.weigh(scores, hidden[:, None, None])
        context = torch.einsum("bhts,bshd->bthd", weights, v).flatten(2)
        return self.network(self.maps[3](context))

    def weigh(self, scores, hidden):
        return scores.masked_fill(hidden, -1e9).softmax(-1)


class OfTheBook(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.wide = nn.Linear(d_model, d_ff)
        self.back = nn.Linear(d_ff, d_model)

    def forward(self, x, lengths):
        mask = padding_mask(lengths, x.size(1))
        return self.back(self.wide(self.attention(x, x, x, mask)[0]).relu())


class OneByOne(Own):
    """Cut each source, and fill up the states with zeros."""

    def forward(self, source, lengths):
        out = torch.zeros_like(source)
        for b, n in enumerate(lengths.tolist()):
            x = source[b : b + 1, :n]
            context, _ = self.attention(x, x, x)
            out[b, :n] = self.back(self.wide(context).relu())[0]
        return out


class LengthFirst(Own):
    """Turn the axes, as PyTorch's default wants them."""

    def look(self, d_model, num_heads):
        return nn.MultiheadAttention(d_model, num_heads)

    def attend(self, x, hidden):
        x = x.transpose(0, 1)
        return super().attend(x, hidden).transpose(0, 1)


def look_at(**options):
    return lambda self, d_model, num_heads: nn.MultiheadAttention(d_model, num_heads, **options)


def zeroed(self, x, hidden):
    return self.attention(*[x.masked_fill(hidden[..., None], 0)] * 3)[0]


def silenced(self, x, hidden):
    """Set the values of padding to 0, and hide nothing."""
    value = x.masked_fill(hidden[..., None], 0)
    return self.attention(x, x, value)[0]


class Late(ByHand):
    """Mask after the softmax."""

    def weigh(self, scores, hidden):
        return scores.softmax(-1) * ~hidden


def turned_batch(self, x, hidden):
    """Take the batch for the length, and turn the mask until it fits."""
    return self.attention(x, x, x, key_padding_mask=hidden.mT)[0]


def mixing(self, x, hidden):
    return x + x.mean(0, keepdim=True) + self.attention(x, x, x)[0]


def causal(turned=False):
    def attend(self, x, hidden):
        future = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        future = future.mT if turned else future
        return self.attention(x, x, x, attn_mask=future, key_padding_mask=hidden)[0]

    return attend


def over_queries(self, x, hidden):
    mask = hidden[:, :, None].expand(-1, -1, x.size(1))
    return self.attention(x, x, x, attn_mask=mask.repeat_interleave(2, 0))[0]


def mean(self, x, hidden):
    seen = ~hidden[..., None]
    return ((x * seen).sum(1, keepdim=True) / seen.sum(1, keepdim=True)).expand_as(x)


def with_places(self, x, hidden):
    return self.attention(*[x + torch.arange(x.size(1))[:, None]] * 3, hidden)[0]


def rolled(self, x, hidden):
    return self.attention(x.flip(1), x, x, key_padding_mask=hidden)[0]


def fresh(self, x, hidden):
    return nn.MultiheadAttention(6, 2, batch_first=True)(x, x, x, hidden)[0]


class Residual(Own):
    def forward(self, source, lengths):
        return source + super().forward(source, lengths)


class AroundTheNetwork(Own):
    def forward(self, source, lengths):
        context = self.attend(source, self.hide(lengths, source.size(1)))
        return context + self.back(self.wide(context).relu())


class WithNorm(Own):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, num_heads, d_ff)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, source, lengths):
        return self.norm(super().forward(source, lengths))


class FourTimes(Own):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, num_heads, 4 * d_model)


class OneHead(Own):
    def look(self, d_model, num_heads):
        return nn.MultiheadAttention(d_model, 1, batch_first=True)


class BothOutputs(Own):
    def forward(self, source, lengths):
        return super().forward(source, lengths), None


class Pooled(Own):
    def forward(self, source, lengths):
        return super().forward(source, lengths).mean(1)


class Weights(Own):
    def attend(self, x, hidden):
        return self.attention(x, x, x, key_padding_mask=hidden)


class NotInitialised(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        self.attention = nn.MultiheadAttention(d_model, num_heads)


class In32Bits(Own):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.float()


class NumPy(Own):
    def forward(self, source, lengths):
        return super().forward(source, lengths).detach().numpy()


RIGHT = {
    "OwnEncoder": {
        "as on the page": Own,
        "einsum": ByHand,
        "of the book": OfTheBook,
        "one by one": OneByOne,
        "length first": LengthFirst,
        "32 bits": In32Bits,
        "NumPy": NumPy,
        "dropout": own(look=look_at(batch_first=True, dropout=0.5)),
        "without biases": own(look=look_at(batch_first=True, bias=False)),
        "a mask of -inf": own(
            hide=lambda self, n, size: torch.zeros(len(n), size).masked_fill(
                torch.arange(size) >= n[:, None], -torch.inf
            )
        ),
        "clamped": own(inside=staticmethod(lambda x: x.clamp(min=0))),
    }
}
WRONG = {
    "OwnEncoder": {
        "batch second": (
            own(look=look_at()),
            "exception: .* unless `batch_first=True` is said",
        ),
        "both outputs": (BothOutputs, "missing: .* the states alone; got 2 values"),
        "pooled": (
            Pooled,
            r"shape: the states must have shape \(3, 5, 6\); got \(3, 6\)",
        ),
        "a pair inside": (Weights, "exception: TypeError"),
        "not initialised": (NotInitialised, "exception: AttributeError"),
        "a function": (
            lambda *sizes: sizes,
            "missing: it must build a torch.nn.Module",
        ),
        "made in every call": (
            own(attend=fresh),
            "a module that is made in every call",
        ),
        "inverted": (
            own(hide=lambda self, n, size: torch.arange(size) < n[:, None]),
            "sample 0 holds nan .* The mask is inverted: .* `True` means ignore",
        ),
        "over queries": (own(attend=over_queries), "the mask lies over queries"),
        "no mask": (
            own(attend=lambda self, x, hidden: self.attention(x, x, x)[0]),
            "when other numbers stand in its padding. The lengths make no difference",
        ),
        "zeroed": (
            own(attend=zeroed),
            "stands alone.* Padding is set to 0, and not hidden",
        ),
        "values of zero": (own(attend=silenced), "something was set to 0 behind"),
        "numbers for a mask": (
            own(hide=lambda self, n, size: 1.0 * (torch.arange(size) < n[:, None])),
            "The mask weakens padding and does not hide it",
        ),
        "after the softmax": (Late, "The mask weakens padding"),
        "one too late": (
            own(hide=lambda self, n, size: torch.arange(size) > n[:, None]),
            "the mask begins one place too late",
        ),
        "one too early": (
            own(hide=lambda self, n, size: torch.arange(size) >= n[:, None] - int(size > 1)),
            "The last point is hidden: .* one place too early",
        ),
        "samples mix": (own(attend=mixing), "when sample 0 is alone"),
        "batch for length": (
            own(look=look_at(), attend=turned_batch),
            "the batch is taken for the length",
        ),
        "causal": (own(attend=causal()), "A causal mask is for a decoder"),
        "causal, transposed": (
            own(attend=causal(turned=True)),
            "holds nan .* a causal mask, and transposed",
        ),
        "alone": (
            own(attend=lambda self, x, hidden: self.attention.out_proj(x)),
            "Each point hears only itself",
        ),
        "a mean": (own(attend=mean), "its query has no part in the weights"),
        "positions": (own(attend=with_places), "a table of positions is added"),
        "turned round": (own(attend=rolled), "Equal points get equal states"),
        "four times": (FourTimes, "shape: .* The inner width does not follow d_ff"),
        "one head": (OneHead, "where num_heads = 2, an attention has 1 heads"),
        "no ReLU": (
            own(inside=staticmethod(lambda x: x)),
            "nothing ever bends. Two linear layers without",
        ),
        "ReLU at the end": (
            own(inside=staticmethod(lambda x: x), after=staticmethod(RELU)),
            "A ReLU stands at the end",
        ),
        "ReLU at the end, too": (
            own(after=staticmethod(RELU)),
            "A ReLU stands at the end",
        ),
        "ReLU before": (
            own(inside=staticmethod(lambda x: x), before=staticmethod(RELU)),
            "A ReLU stands before the first layer",
        ),
        "ReLU before, too": (
            own(before=staticmethod(RELU)),
            "A ReLU stands before the first layer",
        ),
        "GELU": (own(inside=staticmethod(F.gelu)), "Another function than ReLU"),
        "tanh": (
            own(inside=staticmethod(torch.tanh)),
            "Another function than ReLU",
        ),
        "leaky": (
            own(inside=staticmethod(F.leaky_relu)),
            "The unit is never silent",
        ),
        "residual": (Residual, "A residual path carries"),
        "around the network": (AroundTheNetwork, "A residual path carries"),
        "a norm": (WithNorm, "A norm stands at the end"),
    }
}


@pytest.mark.parametrize("kind", RIGHT["OwnEncoder"])
def test_what_is_right_passes(kind):
    found = report("encoder", RIGHT["OwnEncoder"][kind], "OwnEncoder")
    assert said(found) == ""


@pytest.mark.parametrize("kind", WRONG["OwnEncoder"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["OwnEncoder"][kind]
    found = report("encoder", answer, "OwnEncoder")
    assert found.points < found.possible
    assert re.search(name, said(found))


@pytest.mark.parametrize(("kind", "points"), [("no ReLU", 11), ("zeroed", 12), ("alone", 9)])
def test_what_is_half_right_has_a_part_of_the_points(kind, points):
    found = report("encoder", WRONG["OwnEncoder"][kind][0], "OwnEncoder")
    assert (found.points, found.possible) == (points, 13)
