"""A decoder: one that is put together from PyTorch's parts."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.encoder_decoder import Decoder
from selfattn_book.exercises.checking import feed_forward, probes
from selfattn_book.exercises.checking.exercise import Exercise, checker
from selfattn_book.exercises.checking.feed_forward import FeedForward
from selfattn_book.exercises.checking.numbers import drawn, tolerance
from selfattn_book.exercises.checking.probes import (
    D_MODEL,
    HEADS,
    LENGTHS,
    Modules,
    Probe,
    close,
    dependence,
    probed,
    variant,
)
from selfattn_book.exercises.encoder import IGNORE, INVERTED
from selfattn_book.masks import causal_mask, padding_mask


class OwnDecoder(nn.Module):
    """The reference module, in parts that a misconception replaces."""

    network: type = FeedForward
    options: dict[str, Any] = {"batch_first": True}  # noqa: RUF012

    def __init__(self, d_model: int, num_heads: int, d_ff: int):
        super().__init__()
        self.looks = nn.MultiheadAttention(d_model, num_heads, **self.options)
        self.asks = nn.MultiheadAttention(d_model, num_heads, **self.options)
        self.feed_forward = self.network(d_model, d_ff)

    def future(self, size: int) -> Tensor | None:
        """Return the mask of later positions."""
        return torch.ones(size, size).triu(1).bool()

    def hidden(self, lengths: Tensor, size: int) -> Tensor:
        """Return the mask of padding."""
        return torch.arange(size) >= lengths[:, None]

    def look(self, x: Tensor) -> Tensor:
        """Apply self-attention."""
        return self.looks(x, x, x, attn_mask=self.future(x.size(1)))[0]

    def ask(self, z: Tensor, m: Tensor, hidden: Tensor) -> Tensor:
        """Apply cross-attention."""
        return self.asks(z, m, m, key_padding_mask=hidden)[0]

    def forward(self, x: Tensor, m: Tensor, lengths: Tensor) -> Tensor:
        """Return the outputs."""
        return self.feed_forward(self.ask(self.look(x), m, self.hidden(lengths, m.size(1))))


def own(**parts: Any) -> type:
    """Return the reference module with some of its parts replaced."""
    return variant(OwnDecoder, **parts)


def masked(mask: Callable[[int], Tensor | None]) -> type:
    """Return a module with another mask of later positions."""
    return own(future=lambda self, size: mask(size))


def hiding(hidden: Callable[[Tensor, int], Tensor]) -> type:
    """Return a module with another mask of padding."""
    return own(hidden=lambda self, lengths, size: hidden(lengths, size))


def asking(change: Callable[..., Any]) -> type:
    """Return a module whose cross-attention is called with the arguments that a change returns."""

    def ask(self: OwnDecoder, z: Tensor, m: Tensor, hidden: Tensor) -> Tensor:
        *inputs, masks = change(z, m, hidden)
        return self.asks(*inputs, **masks)[0]

    return own(ask=ask)


def looking(before: Callable[[Tensor], Tensor], after: Callable[..., Tensor]) -> type:
    """Return a module with a change before, and one after its self-attention."""
    return own(look=lambda self, x: after(OwnDecoder.look(self, before(x)), x))


def filled(number: float) -> type:
    """Return a module with a number for padding, and no mask."""

    def change(z: Tensor, m: Tensor, hidden: Tensor) -> Any:
        m = m.masked_fill(hidden[..., None], number)
        return z, m, m, {}

    return asking(change)


def later(z: Tensor, m: Tensor) -> Tensor:
    """Return a causal mask over the memory, as PyTorch takes it."""
    return torch.ones(z.size(1), m.size(1)).triu(1).bool()


def over_both(z: Tensor, m: Tensor, hidden: Tensor) -> Any:
    """Return target and memory as keys and values."""
    both = torch.cat([z, m], dim=1)
    return z, both, both, {}


def same(x: Tensor, *others: Tensor) -> Tensor:
    """Return the first input."""
    return x


def placed(x: Tensor, *others: Tensor) -> Tensor:
    """Add numbers of positions."""
    return x + torch.arange(x.size(1))[:, None].to(x)


def hidden_target(self: OwnDecoder, x: Tensor, m: Tensor, lengths: Tensor) -> Tensor:
    """Hide points of the target by the lengths of the sources."""
    mask, hidden = self.future(x.size(1)), self.hidden(lengths, x.size(1))
    z, _ = self.looks(x, x, x, attn_mask=mask, key_padding_mask=hidden)
    return self.feed_forward(self.ask(z, m, self.hidden(lengths, m.size(1))))


def with_state(self: OwnDecoder, x: Tensor) -> Tensor:
    """Change the sign from call to call."""
    sign = self.sign = -getattr(self, "sign", 1)  # type: ignore[assignment]
    return sign * OwnDecoder.look(self, x)


def one_attention(self: OwnDecoder, d_model: int, num_heads: int, d_ff: int) -> None:
    """Use the self-attention as cross-attention."""
    OwnDecoder.__init__(self, d_model, num_heads, d_ff)
    self.asks = self.looks


class Normed(OwnDecoder):
    """Put a norm before the self-attention."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int):
        super().__init__(d_model, num_heads, d_ff)
        self.norm = nn.LayerNorm(d_model)

    def look(self, x: Tensor) -> Tensor:
        """Apply self-attention."""
        return super().look(self.norm(x))


class OfTheBook(nn.Module):
    """Use the decoder of the book."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int):
        super().__init__()
        self.decoder = Decoder(d_model=d_model, num_heads=num_heads, d_ff=d_ff, d_input=d_model)

    def forward(self, x: Tensor, m: Tensor, lengths: Tensor) -> Tensor:
        """Return the outputs."""
        return self.decoder(x, m, causal_mask(x.size(1)), padding_mask(lengths, m.size(1)))[0]


class PointByPoint(OwnDecoder):
    """Attend to each beginning by itself."""

    def look(self, x: Tensor) -> Tensor:
        """Apply self-attention."""
        ends = range(1, x.size(1) + 1)
        each = [self.looks(x[:, t - 1 : t], x[:, :t], x[:, :t])[0] for t in ends]
        return torch.cat(each, dim=1)


class LengthFirst(OwnDecoder):
    """Exchange the axes, as PyTorch's default wants them."""

    options: dict[str, Any] = {}  # noqa: RUF012

    def look(self, x: Tensor) -> Tensor:
        """Apply self-attention."""
        x, mask = x.transpose(0, 1), self.future(x.size(1))
        return self.looks(x, x, x, attn_mask=mask)[0].transpose(0, 1)

    def ask(self, z: Tensor, m: Tensor, hidden: Tensor) -> Tensor:
        """Apply cross-attention."""
        return super().ask(z.transpose(0, 1), m.transpose(0, 1), hidden).transpose(0, 1)


WRONG: dict[str, type] = {
    "PyTorch takes the first axis for the length, unless `batch_first=True` is said.": (
        own(options={})
    ),
    probes.RANDOM: looking(lambda x: x + torch.rand(()), same),
    probes.STATEFUL: own(look=with_state),
    "There is one for each state: the queries are the target's.": asking(
        lambda z, m, hidden: (m, z, z, {})
    ),
    "The values are the target's: they are to be the memory's.": asking(
        lambda z, m, hidden: (z, m, z, {"key_padding_mask": hidden})
    ),
    f"{INVERTED} {IGNORE}": hiding(lambda n, size: torch.arange(size) < n[:, None]),
    f"The causal mask is inverted: each point sees only what comes later. {IGNORE}": (
        masked(causal_mask)
    ),
    "The mask hides a point from itself, and the first one sees nothing.": masked(
        lambda size: torch.ones(size, size).triu().bool()
    ),
    "A point attends to those at its position in other samples: the batch is taken for the length.": (
        own(look=lambda self, x: self.looks(*[x.transpose(0, 1)] * 3)[0].transpose(0, 1))
    ),
    "Every point sees every other: there is no causal mask, or it hides nothing.": (
        masked(lambda size: None)
    ),
    "The target is shifted by one more position, and it came shifted.": looking(
        lambda x: torch.cat([0 * x[:, :1], x[:, :-1]], dim=1), same
    ),
    "Each point sees one point of its future: the mask is one diagonal too wide.": masked(
        lambda size: torch.ones(size, size).triu(2).bool()
    ),
    "What comes later is seen, and what comes before is not: the mask is transposed.": masked(
        lambda size: torch.ones(size, size).tril(-1).bool()
    ),
    "Each point sees only itself: no attention goes back.": masked(
        lambda size: ~torch.eye(size).bool()
    ),
    "The length of the target matters, as where something is divided by it.": looking(
        same, lambda z, x: z / x.size(1)
    ),
    "The second attention has keys and values of the target; both are the memory's.": asking(
        lambda z, m, hidden: (z, z, z, {})
    ),
    "Target and memory are concatenated as keys and values: both are to be the memory.": (
        asking(over_both)
    ),
    "The lengths of the sources hide points of the target.": own(forward=hidden_target),
    "The causal mask of the target lies over the memory, all of which may be seen.": asking(
        lambda z, m, hidden: (z, m, m, {"key_padding_mask": hidden, "attn_mask": later(z, m)})
    ),
    "The target plays no part: its states are the queries of the second attention.": asking(
        lambda z, m, hidden: (torch.ones_like(z), m, m, {"key_padding_mask": hidden})
    ),
    "The memory plays no part.": asking(lambda z, m, hidden: (z, z, z, {"attn_mask": later(z, z)})),
    "The last state is hidden: the padding mask begins one position too early.": hiding(
        lambda n, size: torch.arange(size) >= n[:, None] - int(size > 1)
    ),
    "The lengths make no difference: with all points real, the answer is the same.": asking(
        lambda z, m, hidden: (z, m, m, {})
    ),
    INVERTED: hiding(lambda n, size: -1e9 * (torch.arange(size) < n[:, None])),
    "One padded point is seen: the mask begins one position too late.": hiding(
        lambda n, size: torch.arange(size) > n[:, None]
    ),
    "The mask weakens padding and does not hide it: numbers were added to the scores, "
    "or something was set to 0 behind them.": hiding(
        lambda n, size: 1.0 * (torch.arange(size) < n[:, None])
    ),
    "Padding is set to 0, and not hidden: it still has its share of the attention.": filled(0),
    "What padding holds is of no matter, but it counts.": filled(1),
    "A table of positions is added to the memory.": asking(
        lambda z, m, hidden: (z, placed(m), placed(m), {"key_padding_mask": hidden})
    ),
    "The target itself is in what comes back: by a residual connection, or as values.": own(
        ask=lambda self, z, m, hidden: z + OwnDecoder.ask(self, z, m, hidden)
    ),
    "Something counts the positions.": own(
        ask=lambda self, z, m, hidden: placed(OwnDecoder.ask(self, z, m, hidden))
    ),
    "A table of positions is added to the target.": looking(same, placed),
    "A residual connection carries the point past the self-attention.": looking(
        same, lambda z, x: x + z
    ),
    "The target asks the memory first, and then looks back: it is the other way round.": own(
        forward=lambda self, x, m, lengths: self.feed_forward(
            self.look(self.ask(x, m, self.hidden(lengths, m.size(1))))
        )
    ),
    "Large points do not make large queries, as if a norm stood between.": Normed,
    "Something bends the queries: a ReLU, or the feed-forward network, between the attentions.": (
        looking(same, lambda z, x: z.relu())
    ),
    "One attention serves for two.": own(__init__=one_attention),
    "There is one head, whatever num_heads is.": own(
        __init__=lambda self, d, heads, d_ff: OwnDecoder.__init__(self, d, 1, d_ff)
    ),
    "The attention is cut off from the gradients, as by `detach`.": looking(
        same, lambda z, x: z.detach()
    ),
    "An attention comes behind the feed-forward network, which comes last.": own(
        forward=lambda self, x, m, lengths: self.ask(
            self.look(x), self.feed_forward(m), self.hidden(lengths, m.size(1))
        )
    ),
} | {sentence: own(network=network) for sentence, network in feed_forward.WRONG.items()}


def target(shape: tuple[int, int] = (3, 4)) -> Tensor:
    """Return targets, shifted."""
    return 3 * drawn(*shape, D_MODEL, seed=7)


def memory(shape: tuple[int, int] = (3, 5)) -> Tensor:
    """Return the states of sources."""
    return 3 * drawn(*shape, D_MODEL, seed=9)


def outputs(
    modules: Modules, x: Tensor, m: Tensor, lengths: tuple[int, ...] = (), **build: Any
) -> Tensor:
    """Return the outputs for targets and memories, without padding unless there are lengths."""
    return modules.run(x, m, torch.tensor(lengths or [m.size(1)] * len(m)), **build)


def reading(
    modules: Modules,
    m: Tensor,
    lengths: tuple[int, ...] = (),
    samples: slice = slice(None),
    **build: int,
) -> Tensor:
    """Return the outputs of the same targets for memories."""
    return outputs(modules, target()[samples], m, lengths, **build)


def writing(
    modules: Modules, x: Tensor, lengths: tuple[int, ...] = (), *others: Any, **build: Any
) -> Tensor:
    """Return the outputs of targets for the same memories."""
    return outputs(modules, x, memory((8, 5))[: len(x)], lengths, **build)


def of_targets(length: int) -> Callable[[Modules], Tensor]:
    """Return what measures which output depends on which target point, ``(T, T)``."""

    def measure(modules: Modules) -> Tensor:
        m = memory((8, 5))
        run = lambda x: outputs(modules, x, m, (length,) * 8, seed=7)  # noqa: E731
        return dependence(run, target((8, 6))).any(0)

    return measure


def of_states(modules: Modules) -> Tensor:
    """Return which output depends on which state, ``(T, S)``."""
    run = lambda m: outputs(modules, target((8, 5)), m, seed=7)  # noqa: E731
    return dependence(run, memory((8, 5))).any(0)


def prefixes(modules: Modules) -> Tensor:
    """Return whether outputs stay when the later points are left out."""
    short, whole = (outputs(modules, target()[:, :length], memory()) for length in (2, 4))
    return close(short, whole[:, :2]).all()


def of_equal_states(modules: Modules) -> Tensor:
    """Return which outputs are equal where all states are."""
    found = reading(modules, memory()[:, :1].expand(-1, 5, -1))
    return close(found, found[:, :1])


def order_of_states(modules: Modules) -> Tensor:
    """Return which outputs stay when the states come in another order."""
    return close(reading(modules, memory()), reading(modules, memory().flip(1)))


def target_of_equal_states(modules: Modules) -> bool:
    """Return whether an output depends on the target where all states are equal."""
    m = memory((8, 1)).expand(-1, 5, -1)
    return bool(dependence(lambda x: outputs(modules, x, m), target((8, 4))).any())


def equal_targets(modules: Modules) -> Tensor:
    """Return which outputs of equal target points are equal."""
    found = outputs(modules, target()[:, :1].expand(-1, 4, -1), memory())
    return close(found, found[:, :1])


LARGE = 1e6  # target points so large make each weight 0 or 1


def chosen(position: int) -> Callable[[Modules], bool]:
    """Return what measures whether a large query of each head chooses one state."""

    def measure(modules: Modules) -> bool:
        x, m = LARGE * drawn(16, 8, D_MODEL, seed=7), drawn(16, 8, D_MODEL, seed=9)
        once, count = outputs(modules, x, m), 0.0
        for state in range(8):
            other = m.clone()
            other[:, state] *= 0.5
            gap = (outputs(modules, x, other) - once).abs().amax(-1)
            count += (gap > tolerance(once)).double().mean(0)[position].item()
        return count <= 1.5 * HEADS

    return measure


def opposites(modules: Modules) -> bool:
    """Return whether points that choose the same states have opposites that do."""
    x, m = LARGE * drawn(64, 1, D_MODEL, seed=7), drawn(1, 2, D_MODEL, seed=9).expand(64, -1, -1)
    one, other = (outputs(modules, y, m).flatten(1).double() for y in (x, -x))
    alike, also = (torch.cdist(y, y) < 1e-3 for y in (one, other))
    return bool((alike & ~also).sum() < 0.1 * alike.sum())


PADDED = lambda: (target(), memory(), torch.tensor(LENGTHS))  # noqa: E731
SAY, SHARE = probes.padding(reading, memory, "the output of position", own=False)
PAST = "the output of position {0} does not depend on target point {1}"
AHEAD = "the output of position {0} depends on target point {1}, which comes later"
TARGETS = of_targets(5)
NETWORK = feed_forward.networks(
    lambda modules, m, **build: outputs(
        modules, target()[:1, :1].expand(len(m), -1, -1), m, **build
    )[:, 0],
    lambda modules, **build: outputs(modules, target(), memory(), **build),
)
PAGE = "decoder.html"
DECODER, CHEATING = f"{PAGE}#the-decoder", f"{PAGE}#the-causal-mask-no-looking-ahead"
DEPENDS = f"{PAGE}#dependencies-which-inputs-reach-an-output"
LENGTHS_DIFFER = "decoder-deeper.html#padding-in-the-source"
EXERCISES = [
    Exercise(
        "OwnDecoder",
        """\
class OwnDecoder(torch.nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        ...

    def forward(self, shifted, memory, lengths):
        ...""",
        [
            probed(
                "it returns one output for each target point", DECODER, *probes.repeated(PADDED)
            ),
            probed(
                "each output is made of numbers",
                DECODER,
                probes.finite(PADDED, "the output of position"),
            ),
            probed(
                "each sample stands by itself",
                DECODER,
                *probes.apart(writing, target, "the output of position"),
            ),
            probed(
                "nothing looks ahead",
                CHEATING,
                Probe(TARGETS, AHEAD, view=lambda found: found.triu(1)),
                Probe(
                    prefixes,
                    "outputs change when the points behind them are left out",
                ),
                points=2,
            ),
            probed(
                "each output hears its past",
                DEPENDS,
                Probe(TARGETS, PAST, view=torch.tril),
                Probe(
                    of_targets(3), f"{PAST}, where the source has 3 points of 5", view=torch.tril
                ),
            ),
            probed(
                "each output hears every state",
                DEPENDS,
                Probe(of_states, "the output of position {0} does not depend on state {1}"),
            ),
            probed("padding has no say", LENGTHS_DIFFER, *SAY),
            probed("padding has no share", LENGTHS_DIFFER, *SHARE),
            probed(
                "what comes back is made of the memory",
                DEPENDS,
                Probe(
                    of_equal_states,
                    "the output of position {1} is not that of position 0, where all states are equal",
                ),
                Probe(order_of_states, "outputs change when the states come in another order"),
                Probe(
                    target_of_equal_states, "the target changes outputs where all states are equal"
                ),
            ),
            probed(
                "what asks is an average of the target",
                DECODER,
                Probe(
                    equal_targets,
                    "the output of position {1} is not that of position 0, "
                    "where all target points are equal",
                ),
                probes.outvoted(writing, "the output"),
                *(
                    Probe(
                        chosen(position),
                        "where target points are very large, the output of position "
                        f"{position} depends on more states than there are heads",
                    )
                    for position in (0, 7)
                ),
                Probe(
                    opposites,
                    "where a target has one point, very large, some points choose the same states, "
                    "and their opposites choose others",
                ),
            ),
            probed("it has the weights of the equation", DECODER, *probes.parameters(2, PADDED)),
            probed("a ReLU stands between two layers", DECODER, *NETWORK, points=2),
        ],
        right=OwnDecoder,
        wrong=WRONG,
        unusual={
            "the decoder of the book": OfTheBook,
            "each beginning by itself": PointByPoint,
            "the length first": LengthFirst,
            "dropout": own(options={"batch_first": True, "dropout": 0.5}),
            "masks of -inf": own(
                future=lambda self, size: torch.full((size, size), -torch.inf).triu(1),
                hidden=lambda self, n, size: torch.zeros(len(n), size).masked_fill(
                    torch.arange(size) >= n[:, None], -torch.inf
                ),
            ),
        },
        via=lambda answer: Modules(answer, "the outputs"),
        returns="the outputs",
    )
]
check = checker(EXERCISES)
