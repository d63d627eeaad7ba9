"""The decoder: a module built from PyTorch's parts."""

from functools import partial
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import nn

from selfattn_book.encoder_decoder import Decoder
from selfattn_book.exercises.checking import feed_forward, modules, probes
from selfattn_book.exercises.checking.exercise import Exercise
from selfattn_book.exercises.checking.modules import CUT_OFF, IGNORE, OwnModule, with_positions
from selfattn_book.exercises.checking.numbers import drawn, tolerance
from selfattn_book.exercises.checking.probes import D_MODEL, Modules, Probe, close, probed
from selfattn_book.masks import causal_mask, padding_mask


class OwnDecoder(OwnModule):
    attentions = "self_attention", "attention"
    self_attention: Any

    def future(self, size):
        return torch.ones(size, size).triu(1).bool()

    def look(self, x):
        return self.self_attention(x, x, x, attn_mask=self.future(x.size(1)))[0]

    def forward(self, x, m, lengths):
        return self.feed_forward(self.read(self.look(x), m, lengths))


own, calling = partial(probes.variant, OwnDecoder), partial(modules.calling, OwnDecoder)


def masked(mask):
    return own(future=lambda self, size: mask(size))


def looking(after=lambda z, x: z, before=lambda x: x):
    return own(look=lambda self, x: after(OwnDecoder.look(self, before(x)), x))


def later(z, m):
    return torch.ones(z.size(1), m.size(1)).triu(1).bool()


def hidden_target(self, x, m, lengths):
    """Hide points of the target by the lengths of the sources."""
    hidden = self.hidden(lengths, x.size(1))
    z, _ = self.self_attention(x, x, x, hidden, attn_mask=self.future(x.size(1)))
    return self.feed_forward(self.read(z, m, lengths))


def one_attention(self, d_model, num_heads, d_ff):
    OwnDecoder.__init__(self, d_model, num_heads, d_ff)
    self.attention = self.self_attention


class OfTheBook(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        sizes = {"d_model": d_model, "d_ff": d_ff, "d_input": d_model}
        self.decoder = Decoder(num_heads=num_heads, **sizes)

    def forward(self, x, m, lengths):
        masks = causal_mask(x.size(1)), padding_mask(lengths, m.size(1))
        return self.decoder(x, m, *masks)[0]


class LengthFirst(OwnDecoder):
    options: ClassVar = {}

    def look(self, x):
        x, mask = x.transpose(0, 1), self.future(x.size(1))
        return self.self_attention(x, x, x, attn_mask=mask)[0].transpose(0, 1)

    def attend(self, x, m, hidden):
        return super().attend(x.transpose(0, 1), m.transpose(0, 1), hidden).transpose(0, 1)


WRONG = modules.wrong(OwnDecoder) | {
    "The points of the target are added up, one after the other, and not averaged.": (
        looking(lambda z, x: z.cumsum(1)),
        own(look=lambda self, x: x.cumsum(1)),
    ),
    "The states of the memory are added up, one after the other.": (
        calling(lambda z, m: (z, m, m.cumsum(1))),
        calling(lambda z, m: (z, m.cumsum(1), m.cumsum(1))),
    ),
    CUT_OFF: (
        modules.after(OwnDecoder, lambda context, z: context.detach()),
        looking(lambda z, x: z.detach()),
    ),
    "There is one output for each state: queries must come from the target.": calling(
        lambda z, m: (m, z, z), padded=False
    ),
    "The values come from the target: they must come from the memory.": (
        calling(lambda z, m: (z, m, z))
    ),
    f"The causal mask is inverted: each point attends only to later points. {IGNORE}": (
        masked(causal_mask)
    ),
    "The mask hides a point from itself, and the first one attends to nothing.": masked(
        lambda size: torch.ones(size, size).triu().bool()
    ),
    "A point attends to those at its position in other samples: the batch is taken for the length.": (
        own(look=lambda self, x: self.self_attention(*[x.transpose(0, 1)] * 3)[0].transpose(0, 1))
    ),
    "Every point attends to every other: there is no causal mask, or it hides nothing.": (
        masked(lambda size: None)
    ),
    "The target is shifted by one more position, but it is shifted already.": looking(
        before=lambda x: torch.cat([0 * x[:, :1], x[:, :-1]], dim=1)
    ),
    "Each point attends to one point of its future: the mask is one diagonal too wide.": masked(
        lambda size: torch.ones(size, size).triu(2).bool()
    ),
    "Later points are attended to, and earlier ones are not: the mask is transposed.": masked(
        lambda size: torch.ones(size, size).tril(-1).bool()
    ),
    "Each point attends only to itself: no attention goes back.": masked(
        lambda size: ~torch.eye(size).bool()
    ),
    "The length of the target has an effect, as where something is divided by it.": looking(
        lambda z, x: z / x.size(1)
    ),
    "The second attention has keys and values of the target; both are the memory's.": calling(
        lambda z, m: (z, z, z), padded=False
    ),
    "Target and memory are concatenated as keys and values: both must come from the memory.": (
        calling(lambda z, m: (z, *[torch.cat([z, m], dim=1)] * 2), padded=False)
    ),
    "The lengths of the sources hide points of the target.": own(forward=hidden_target),
    "The causal mask of the target is over the memory, all of which may be attended to.": (
        calling(mask=later),
        calling(mask=later, padded=False),
    ),
    "The output does not depend on the target: its states are the queries of the second attention.": (
        calling(lambda z, m: (torch.ones_like(z), m, m))
    ),
    "The output does not depend on the memory.": calling(
        lambda z, m: (z, z, z), lambda z, m: later(z, z), padded=False
    ),
    "A table of positions is added to the memory.": calling(
        lambda z, m: (z, with_positions(m), with_positions(m))
    ),
    "The target itself is in the output: by a residual connection, or as values.": (
        modules.after(OwnDecoder, torch.add)
    ),
    "Positions are added to the output.": modules.after(OwnDecoder, with_positions),
    "A table of positions is added to the target.": looking(with_positions),
    "There is a residual connection around the self-attention.": looking(torch.add),
    "Cross-attention comes before self-attention: it must come after.": (
        own(forward=lambda self, x, m, n: self.feed_forward(self.look(self.read(x, m, n))))
    ),
    "Large points do not make large queries, as if a norm were between.": (
        looking(before=lambda x: F.layer_norm(x, x.shape[-1:]))
    ),
    "The queries pass through a nonlinearity: a ReLU, or the feed-forward network, between the "
    "attentions.": looking(lambda z, x: z.relu()),
    "One attention is used for both.": own(__init__=one_attention),
    "An attention comes after the feed-forward network, which comes last.": (
        own(forward=lambda self, x, m, n: self.read(self.look(x), self.feed_forward(m), n))
    ),
}


def target(shape=(3, 4)):
    return 3 * drawn(*shape, D_MODEL, seed=7)


def memory(shape=(3, 5)):
    return 3 * drawn(*shape, D_MODEL, seed=9)


def outputs(modules, x, m, lengths=(), **build):
    return modules.run(x, m, torch.tensor(lengths or [m.size(1)] * len(m)), **build)


def reading(modules, m, lengths=(), samples=slice(None), **build):
    return outputs(modules, target()[samples], m, lengths, **build)


def writing(modules, x, lengths=(), *others, **build):
    return outputs(modules, x, memory((8, 5))[: len(x)], lengths, **build)


def of_targets(modules, length=5):
    """Return which output depends on which target point, ``(T, T)``."""
    m = memory((8, 5))
    return probes.dependence(
        lambda x: outputs(modules, x, m, (length,) * 8, seed=7), target((8, 6))
    ).any(0)


def of_states(modules):
    """Return which output depends on which state, ``(T, S)``."""
    return probes.dependence(
        lambda m: outputs(modules, target((8, 5)), m, seed=7), memory((8, 5))
    ).any(0)


def prefixes(modules):
    short, whole = (outputs(modules, target()[:, :length], memory()) for length in (2, 4))
    return close(short, whole[:, :2]).all()


def target_of_equal_states(modules):
    m = memory((8, 1)).expand(-1, 5, -1)
    return bool(probes.dependence(lambda x: outputs(modules, x, m), target((8, 4))).any())


LARGE = 1e6  # target points so large make each weight 0 or 1


def chosen(modules, position):
    """Return whether a large query of each head chooses one state."""
    x, m = LARGE * drawn(16, 8, D_MODEL, seed=7), drawn(16, 8, D_MODEL, seed=9)
    once, count = outputs(modules, x, m), 0.0
    for state in range(8):
        other = m.clone()
        other[:, state] *= 0.5
        gap = (outputs(modules, x, other) - once).abs().amax(-1)
        count += (gap > tolerance(once)).double().mean(0)[position].item()
    return count <= 1.5 * probes.HEADS


def opposites(modules):
    """Return whether points that choose the same states have opposites that do."""
    x, m = LARGE * drawn(64, 1, D_MODEL, seed=7), drawn(1, 2, D_MODEL, seed=9).expand(64, -1, -1)
    one, other = (outputs(modules, y, m).flatten(1).double() for y in (x, -x))
    alike, also = (torch.cdist(y, y) < 1e-3 for y in (one, other))
    return bool((alike & ~also).sum() < 0.1 * alike.sum())


def padded():
    return target(), memory(), torch.tensor(probes.LENGTHS)


OUTPUT = "the output of position"
CONTENTS, WEIGHTS = probes.padding(reading, memory, OUTPUT, own=False)
PAST = "the output of position {0} does not depend on target point {1}"
AHEAD = "the output of position {0} depends on target point {1}, which comes later"
NETWORK = feed_forward.networks(
    lambda modules, m, **build: outputs(
        modules, target()[:1, :1].expand(len(m), -1, -1), m, **build
    )[:, 0],
    lambda modules, **build: outputs(modules, target(), memory(), **build),
)
DECODER = "decoder.html#the-decoder"
CAUSAL = "decoder.html#the-causal-mask-no-looking-ahead"
DEPENDENCIES = "decoder.html#encoder-and-decoder-together"
PADDING = "decoder-deeper.html#padding-in-the-source"
QUESTIONS = [
    probed("it returns one output for each target point", DECODER, *probes.repeated(padded)),
    probed("each output is finite", DECODER, probes.finite(padded, OUTPUT)),
    probed("the samples are independent", DECODER, *probes.apart(writing, target, OUTPUT)),
    probed(
        "no output depends on later points",
        CAUSAL,
        Probe(of_targets, AHEAD, view=lambda found: found.triu(1)),
        Probe(prefixes, "outputs change when the points after them are left out"),
        points=2,
    ),
    probed(
        "each output depends on its past",
        DEPENDENCIES,
        Probe(of_targets, PAST, view=torch.tril),
        Probe(
            partial(of_targets, length=3),
            f"{PAST}, where the source has 3 points of 5",
            view=torch.tril,
        ),
    ),
    probed(
        "each output depends on every state",
        DEPENDENCIES,
        Probe(of_states, "the output of position {0} does not depend on state {1}"),
    ),
    probed("the contents of padding have no effect", PADDING, *CONTENTS),
    probed("padding has no attention weights", PADDING, *WEIGHTS),
    probed(
        "each output is made of an average over the memory",
        DEPENDENCIES,
        *probes.of_equal(reading, memory, "states"),
        Probe(
            lambda modules: close(reading(modules, memory()), reading(modules, memory().flip(1))),
            "outputs change when the states are permuted",
        ),
        Probe(target_of_equal_states, "the target changes outputs where all states are equal"),
    ),
    probed(
        "each query is an average over the target",
        DECODER,
        *probes.of_equal(writing, target, "target points"),
        probes.outvoted(writing, "the output"),
        *(
            Probe(
                partial(chosen, position=position),
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
    probed("it has the weights of the equation", DECODER, *probes.parameters(2, padded)),
    probed("a ReLU is between the two linear layers", DECODER, *NETWORK, points=2),
]
EXERCISE = Exercise(
    modules.stub("OwnDecoder", "shifted, memory, lengths"),
    QUESTIONS,
    right=OwnDecoder,
    wrong=WRONG,
    unusual={
        "the book's decoder": OfTheBook,
        "the length first": LengthFirst,
        **modules.unusual(OwnDecoder),
    },
    via=lambda answer: Modules(answer, "the outputs"),
    gate=3,
    returns="the outputs",
)
check = EXERCISE.check
