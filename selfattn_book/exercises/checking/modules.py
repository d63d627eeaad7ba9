"""A reference module with attention and a feed-forward network, and misconceptions about both."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from selfattn_book.exercises.checking import feed_forward
from selfattn_book.exercises.checking.probes import variant
from selfattn_book.properties.explain_models import RANDOM, STATEFUL

IGNORE = "For nn.MultiheadAttention `True` means ignore."
INVERTED = "The mask is inverted: padding is seen, and the rest is hidden."
CUT_OFF = "The attention is cut off from the gradients, as by `detach`."


class OwnModule(nn.Module):
    """The reference module, in parts that a misconception replaces."""

    network: type = feed_forward.FeedForward
    options: ClassVar[dict[str, Any]] = {"batch_first": True}
    attentions: tuple[str, ...] = ("attention",)
    attention: Any
    feed_forward: Any

    def __init__(self, d_model: int, num_heads: int, d_ff: int):
        super().__init__()
        for name in self.attentions:
            setattr(self, name, nn.MultiheadAttention(d_model, num_heads, **self.options))
        self.feed_forward = self.network(d_model, d_ff)

    def hidden(self, lengths: Tensor, size: int) -> Tensor:
        """Return the mask of padding."""
        return torch.arange(size) >= lengths[:, None]

    def attend(self, x: Tensor, m: Tensor, hidden: Tensor | None) -> Tensor:
        """Return the contexts of queries from ``x``, with keys and values from ``m``."""
        return self.attention(x, m, m, key_padding_mask=hidden)[0]

    def read(self, x: Tensor, m: Tensor, lengths: Tensor) -> Tensor:
        """Return the contexts from the first ``lengths`` positions of ``m``."""
        return self.attend(x, m, self.hidden(lengths, m.size(1)))


def stub(name: str, inputs: str) -> str:
    """Return the code of a module that a student begins with."""
    return (
        f"class {name}(torch.nn.Module):\n"
        "    def __init__(self, d_model, num_heads, d_ff):\n"
        "        super().__init__()\n        ...\n\n"
        f"    def forward(self, {inputs}):\n        ..."
    )


def calling(
    base: type,
    inputs: Callable[[Tensor, Tensor], Any] = lambda x, m: (x, m, m),
    mask: Callable[[Tensor, Tensor], Tensor | None] = lambda x, m: None,
    padded: bool = True,
) -> type:
    """Return a module whose attention has other inputs, another mask, or none of padding."""

    def attend(self: OwnModule, x: Tensor, m: Tensor, hidden: Tensor) -> Tensor:
        masks = {"attn_mask": mask(x, m), "key_padding_mask": hidden if padded else None}
        return self.attention(*inputs(x, m), **masks)[0]

    return variant(base, attend=attend)


def hiding(base: type, hidden: Callable[[Tensor, Tensor], Tensor]) -> type:
    """Return a module with another mask of padding, made of positions ``s`` and lengths ``n``."""
    return variant(base, hidden=lambda self, n, size: hidden(torch.arange(size), n[:, None]))


def filled(base: type, number: float) -> type:
    """Return a module with a number in place of padding, and no mask."""

    def attend(self: OwnModule, x: Tensor, m: Tensor, hidden: Tensor) -> Tensor:
        m = m.masked_fill(hidden[..., None], number)
        return self.attention(x, m, m)[0]

    return variant(base, attend=attend)


def after(base: type, change: Callable[[Tensor, Tensor], Tensor]) -> type:
    """Return a module with a change of the contexts, from these and the queries' points."""
    attend = base.attend  # type: ignore[attr-defined]
    return variant(base, attend=lambda self, x, m, h: change(attend(self, x, m, h), x))


def with_positions(x: Tensor, *others: Tensor) -> Tensor:
    """Add the number of each position."""
    return x + torch.arange(x.size(1))[:, None].to(x)


def wrong(base: type) -> dict[str, type | tuple[type, ...]]:
    """Return the wrong modules that encoders and decoders have in common, by their sentences."""

    def with_state(self: OwnModule, x: Tensor, m: Tensor, hidden: Tensor) -> Tensor:
        sign = self.sign = -getattr(self, "sign", 1)  # type: ignore[assignment]
        return sign * OwnModule.attend(self, x, m, hidden)

    return {
        "PyTorch takes the first axis for the length, unless `batch_first=True` is given.": (
            variant(base, options={})
        ),
        RANDOM: calling(base, lambda x, m: (x, m, m + torch.rand(())), padded=False),
        STATEFUL: variant(base, attend=with_state),
        f"{INVERTED} {IGNORE}": hiding(base, lambda s, n: s < n),
        "The last position is hidden: the padding mask begins one position too early.": (
            hiding(base, lambda s, n: s >= n - int(len(s) > 1))
        ),
        "The lengths have no effect: with full lengths, the outputs are the same.": (
            calling(base, padded=False)
        ),
        INVERTED: hiding(base, lambda s, n: -1e9 * (s < n)),
        "One padded position is seen: the mask begins one position too late.": (
            hiding(base, lambda s, n: s > n)
        ),
        "The mask weakens padding and does not hide it: numbers were added to the scores, "
        "or something was set to 0 after them.": hiding(base, lambda s, n: 1.0 * (s < n)),
        "Padding is set to 0, and not hidden: it still has attention weights.": filled(base, 0),
        "The contents of padding have no effect, but it still has attention weights.": (
            filled(base, 1)
        ),
        "There is one head, for every num_heads.": variant(
            base, __init__=lambda self, d, heads, d_ff: OwnModule.__init__(self, d, 1, d_ff)
        ),
        CUT_OFF: after(base, lambda context, x: context.detach()),
        **{sentence: variant(base, network=net) for sentence, net in feed_forward.WRONG.items()},
    }


def unusual(base: type) -> dict[str, type]:
    """Return other right modules."""
    return {
        "dropout": variant(base, options={"batch_first": True, "dropout": 0.5}),
        "no biases": variant(base, options={"batch_first": True, "bias": False}),
        "a mask of -inf": hiding(base, lambda s, n: torch.where(s < n, 0.0, -torch.inf)),
    }
