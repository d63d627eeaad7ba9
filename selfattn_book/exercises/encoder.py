"""An encoder from attention: one that is put together from PyTorch's parts."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.exercises.checking import feed_forward, probes
from selfattn_book.exercises.checking.exercise import Exercise, checker
from selfattn_book.exercises.checking.feed_forward import FeedForward
from selfattn_book.exercises.checking.numbers import drawn, tolerance
from selfattn_book.exercises.checking.probes import (
    D_MODEL,
    LENGTHS,
    Modules,
    Probe,
    close,
    dependence,
    probed,
    variant,
)
from selfattn_book.masks import padding_mask
from selfattn_book.multi_head import MultiHeadAttention


class OwnEncoder(nn.Module):
    """The reference module, in parts that a misconception replaces."""

    network: type = FeedForward
    options: dict[str, Any] = {"batch_first": True}  # noqa: RUF012

    def __init__(self, d_model: int, num_heads: int, d_ff: int):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, **self.options)
        self.feed_forward = self.network(d_model, d_ff)

    def hidden(self, lengths: Tensor, size: int) -> Tensor:
        """Return the mask of padding."""
        return torch.arange(size) >= lengths[:, None]

    def attend(self, x: Tensor, hidden: Tensor | None) -> Tensor:
        """Return the contexts."""
        return self.attention(x, x, x, key_padding_mask=hidden)[0]

    def forward(self, source: Tensor, lengths: Tensor) -> Tensor:
        """Return the states."""
        return self.feed_forward(self.attend(source, self.hidden(lengths, source.size(1))))


def own(**parts: Any) -> type:
    """Return the reference module with some of its parts replaced."""
    return variant(OwnEncoder, **parts)


def attending(change: Callable[..., Any]) -> type:
    """Return a module whose attention is called with the arguments that a change returns."""

    def attend(self: OwnEncoder, x: Tensor, hidden: Tensor) -> Tensor:
        inputs, masks = change(x, hidden)
        return self.attention(*inputs, **masks)[0]

    return own(attend=attend)


def masked(mask: Callable[[int], Tensor]) -> type:
    """Return a module with one more mask, ``(S, S)``, where ``True`` means ignore."""
    return attending(
        lambda x, hidden: (
            (x, x, x),
            {"attn_mask": mask(x.size(1)).bool(), "key_padding_mask": hidden},
        )
    )


def filled(number: float) -> type:
    """Return a module with a number for padding, and no mask."""
    return attending(lambda x, hidden: ([x.masked_fill(hidden[..., None], number)] * 3, {}))


def hiding(hidden: Callable[[Tensor, int], Tensor]) -> type:
    """Return a module with another mask of padding."""
    return own(hidden=lambda self, lengths, size: hidden(lengths, size))


def over_queries(x: Tensor, hidden: Tensor) -> tuple[Any, dict[str, Tensor]]:
    """Return the arguments that hide queries."""
    mask = hidden[:, :, None].expand(-1, -1, x.size(1)).repeat_interleave(2, 0)
    return (x, x, x), {"attn_mask": mask}


def with_state(self: OwnEncoder, x: Tensor, hidden: Tensor) -> Tensor:
    """Change the sign from call to call."""
    sign = self.sign = -getattr(self, "sign", 1)  # type: ignore[assignment]
    return sign * OwnEncoder.attend(self, x, hidden)


def with_positions(x: Tensor, hidden: Tensor) -> tuple[Any, dict[str, Tensor]]:
    """Return the arguments with numbers of positions added."""
    return [x + torch.arange(x.size(1))[:, None].to(x)] * 3, {"key_padding_mask": hidden}


class ByHand(nn.Module):
    """Compute the heads by einsum."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int):
        super().__init__()
        self.heads = num_heads
        self.maps = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.network = FeedForward(d_model, d_ff)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return the states."""
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in self.maps[:3])
        scores = torch.einsum("bthd,bshd->bhts", q, k) / q.size(-1) ** 0.5
        hidden = torch.arange(x.size(1)) >= lengths[:, None]
        weights = scores.masked_fill(hidden[:, None, None], -1e9).softmax(-1)
        context = torch.einsum("bhts,bshd->bthd", weights, v).flatten(2)
        return self.network(self.maps[3](context))


class OfTheBook(OwnEncoder):
    """Use the attention of the book."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int):
        super().__init__(d_model, num_heads, d_ff)
        self.attention: Any = MultiHeadAttention(d_model, num_heads)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return the states."""
        return self.feed_forward(self.attention(x, x, x, padding_mask(lengths, x.size(1)))[0])


class OneByOne(OwnEncoder):
    """Encode each source by itself, and fill up the states with zeros."""

    def forward(self, source: Tensor, lengths: Tensor) -> Tensor:
        """Return the states."""
        states = torch.zeros_like(source)
        for b, n in enumerate(lengths.tolist()):
            states[b, :n] = self.feed_forward(self.attend(source[b : b + 1, :n], None))[0]
        return states


IGNORE = "For nn.MultiheadAttention `True` means ignore."
INVERTED = "The mask is inverted: padding is seen, and the rest is hidden."
WRONG: dict[str, type] = {
    "PyTorch takes the first axis for the length, unless `batch_first=True` is said.": (
        own(options={})
    ),
    probes.RANDOM: attending(lambda x, hidden: ((x, x, x + torch.rand(())), {})),
    probes.STATEFUL: own(attend=with_state),
    f"{INVERTED} {IGNORE}": hiding(lambda n, size: torch.arange(size) < n[:, None]),
    "The mask is over queries, as if padding may not ask: keys are to be hidden.": (
        attending(over_queries)
    ),
    "A point attends to those at its position in other samples: the batch is taken for the length.": (
        own(
            options={},
            attend=lambda self, x, hidden: self.attention(x, x, x, key_padding_mask=hidden.mT)[0],
        )
    ),
    "A residual connection carries the point past the attention.": own(
        attend=lambda self, x, hidden: x + OwnEncoder.attend(self, x, hidden)
    ),
    "The lengths make no difference: with all points real, the answer is the same.": (
        attending(lambda x, hidden: ((x, x, x), {}))
    ),
    INVERTED: hiding(lambda n, size: -1e9 * (torch.arange(size) < n[:, None])),
    "One padded point is seen: the mask begins one position too late.": hiding(
        lambda n, size: torch.arange(size) > n[:, None]
    ),
    "The last point is hidden: the padding mask begins one position too early.": hiding(
        lambda n, size: torch.arange(size) >= n[:, None] - int(size > 1)
    ),
    "The mask weakens padding and does not hide it: numbers were added to the scores, "
    "or something was set to 0 behind them.": hiding(
        lambda n, size: 1.0 * (torch.arange(size) < n[:, None])
    ),
    "Padding is set to 0, and not hidden: it still has its share of the attention.": filled(0),
    "What padding holds is of no matter, but it counts.": filled(1),
    "A causal mask is for a decoder: here each point may see all the others.": masked(
        lambda size: torch.ones(size, size).triu(1)
    ),
    "Each point sees what comes after it: a causal mask, and transposed.": masked(
        lambda size: torch.ones(size, size).tril(-1)
    ),
    "Each point attends only to itself.": attending(
        lambda x, hidden: ((x, x, x), {"attn_mask": ~torch.eye(x.size(1)).bool()})
    ),
    "Each point gets the same mean of all points: its query has no part in the weights.": (
        attending(lambda x, hidden: ((torch.ones_like(x), x, x), {"key_padding_mask": hidden}))
    ),
    "The query is the mean of all points, with padding: each point has a query of its own.": (
        attending(lambda x, h: ((x.mean(1, True).expand_as(x), x, x), {"key_padding_mask": h}))
    ),
    "Equal points get unequal states: a table of positions is added.": attending(with_positions),
    "Equal points get equal states: the states are not those of the points at their positions.": (
        attending(lambda x, hidden: ((x.flip(1), x, x), {"key_padding_mask": hidden}))
    ),
    "There is one head, whatever num_heads is.": own(
        __init__=lambda self, d, heads, d_ff: OwnEncoder.__init__(self, d, 1, d_ff)
    ),
    "The attention is cut off from the gradients, as by `detach`.": own(
        attend=lambda self, x, hidden: OwnEncoder.attend(self, x, hidden).detach()
    ),
    "An attention comes behind the feed-forward network, which comes last.": own(
        forward=lambda self, source, lengths: self.attend(
            self.feed_forward(source), self.hidden(lengths, source.size(1))
        )
    ),
} | {sentence: own(network=network) for sentence, network in feed_forward.WRONG.items()}


def points(shape: tuple[int, int] = (3, 5)) -> Tensor:
    """Return the points of sources."""
    return 3 * drawn(*shape, D_MODEL, seed=3)


def states(
    modules: Modules, x: Tensor, lengths: tuple[int, ...] = (), rows: Any = None, **build: Any
) -> Tensor:
    """Return the states of sources, without padding unless there are lengths."""
    return modules.run(x, torch.tensor(lengths or [x.size(1)] * len(x)), **build)


def permuted(modules: Modules) -> Tensor:
    """Return which states are those of the points in another order."""
    order, x = [3, 0, 4, 1, 2], points()
    return close(states(modules, x[:, order]), states(modules, x)[:, order])


def equal_points(modules: Modules) -> Tensor:
    """Return which states of equal points are equal."""
    found = states(modules, points()[:, :1].expand(-1, 5, -1))
    return close(found, found[:, :1])


def spread(modules: Modules) -> bool:
    """Return whether different points get different states."""
    found = states(modules, 10 * points())
    return bool((found - found[:, :1]).abs().amax() > tolerance(found))


PADDED = lambda: (points(), torch.tensor(LENGTHS))  # noqa: E731
SAY, SHARE = probes.padding(states, points, "the state of position", own=True)
ALL = Probe(
    lambda modules: dependence(lambda x: states(modules, x, seed=5), points((8, 5))).any(0),
    "the state of point {0} does not depend on point {1}",
)
NETWORK = feed_forward.networks(
    lambda modules, x, **build: states(modules, x, **build)[:, 0],
    lambda modules, **build: states(modules, points((8, 5)), **build),
)
PAGE = "encoder.html"
ENCODER, BY_HAND = (
    f"{PAGE}#the-encoder-attention-then-a-feed-forward-network",
    f"{PAGE}#self-attention-with-two-inputs-by-hand",
)
LENGTHS_DIFFER, NO_ORDER = (
    f"{PAGE}#sources-of-different-lengths-the-padding-mask",
    f"{PAGE}#order-which-corner-came-first",
)
EXERCISES = [
    Exercise(
        "OwnEncoder",
        """\
class OwnEncoder(torch.nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        ...

    def forward(self, source, lengths):
        ...""",
        [
            probed("it returns one state for each point", ENCODER, *probes.repeated(PADDED)),
            probed(
                "each state is made of numbers",
                LENGTHS_DIFFER,
                probes.finite(PADDED, "the state of point"),
            ),
            probed(
                "each sample stands by itself",
                ENCODER,
                *probes.apart(states, points, "the state of point"),
            ),
            probed("padding has no say", LENGTHS_DIFFER, *SAY),
            probed("padding has no share", LENGTHS_DIFFER, *SHARE),
            probed("each point hears all points", BY_HAND, ALL, points=2),
            probed(
                "each point asks for itself",
                BY_HAND,
                Probe(spread, "the states of five different points are all the same"),
            ),
            probed(
                "one point among many alike is outvoted",
                BY_HAND,
                probes.outvoted(states, "the state"),
            ),
            probed(
                "places do not matter",
                NO_ORDER,
                Probe(permuted, "a state changes when the points come in another order"),
                Probe(equal_points, "equal points have different states"),
            ),
            probed("it has the weights of the equation", ENCODER, *probes.parameters(1, PADDED)),
            probed("a ReLU stands between two layers", ENCODER, *NETWORK, points=2),
        ],
        right=OwnEncoder,
        wrong=WRONG,
        unusual={
            "einsum": ByHand,
            "the attention of the book": OfTheBook,
            "each source by itself": OneByOne,
            "dropout": own(options={"batch_first": True, "dropout": 0.5}),
            "no biases": own(options={"batch_first": True, "bias": False}),
            "a mask of -inf": hiding(
                lambda n, size: torch.zeros(len(n), size).masked_fill(
                    torch.arange(size) >= n[:, None], -torch.inf
                )
            ),
        },
        via=lambda answer: Modules(answer, "the states"),
        returns="the states",
    )
]
check = checker(EXERCISES)
