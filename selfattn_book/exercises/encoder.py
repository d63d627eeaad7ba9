"""The encoder: a module built from PyTorch's parts."""

from functools import partial

import torch
from torch import nn

from selfattn_book.exercises.checking import feed_forward, modules, probes
from selfattn_book.exercises.checking.exercise import Exercise
from selfattn_book.exercises.checking.modules import OwnModule, with_positions
from selfattn_book.exercises.checking.numbers import drawn, tolerance
from selfattn_book.exercises.checking.probes import D_MODEL, Modules, Probe, close, probed


class OwnEncoder(OwnModule):
    def forward(self, source, lengths):
        return self.feed_forward(self.read(source, source, lengths))


own, calling = partial(probes.variant, OwnEncoder), partial(modules.calling, OwnEncoder)


def masked(mask):
    return calling(mask=lambda x, m: mask(torch.ones(x.size(1), x.size(1))).bool())


def hidden_queries(self, x, m, hidden):
    mask = hidden[:, :, None].expand(-1, -1, x.size(1)).repeat_interleave(probes.HEADS, 0)
    return self.attention(x, x, x, attn_mask=mask)[0]


def queries(change):
    return calling(lambda x, m: (change(x), x, x))


class ByHand(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.heads = num_heads
        self.maps = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.network = feed_forward.FeedForward(d_model, d_ff)

    def forward(self, x, lengths):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in self.maps[:3])
        scores = torch.einsum("bthd,bshd->bhts", q, k) / q.size(-1) ** 0.5
        hidden = torch.arange(x.size(1)) >= lengths[:, None]
        weights = scores.masked_fill(hidden[:, None, None], -1e9).softmax(-1)
        context = torch.einsum("bhts,bshd->bthd", weights, v).flatten(2)
        return self.network(self.maps[3](context))


class OneByOne(OwnEncoder):
    def forward(self, source, lengths):
        states = torch.zeros_like(source)
        for b, n in enumerate(lengths.tolist()):
            x = source[b : b + 1, :n]
            states[b, :n] = self.feed_forward(self.attend(x, x, None))[0]
        return states


def by_one_deviation(self, source, lengths):
    states = self.feed_forward(self.read(source, source, lengths))
    return states / states.std()


OF_ALL = {
    "Something is divided by one number of the whole batch, as its standard deviation: samples must "
    "be separate.": (
        own(forward=by_one_deviation),
        calling(lambda x, m: [x / x.std()] * 3),
        modules.after(OwnEncoder, lambda context, x: context / x.std()),
    ),
}
WRONG = {
    **OF_ALL,
    **modules.wrong(OwnEncoder),
    "The attention is applied twice: to the points, and to what it made of them.": (
        own(forward=lambda self, x, n: self.feed_forward(self.read(*[self.read(x, x, n)] * 2, n)))
    ),
    "The mask is over queries, as if padding had no queries: keys are to be hidden.": (
        own(attend=hidden_queries)
    ),
    "A point attends to those at its position in other samples: the batch is taken for the length.": (
        own(options={}, attend=lambda self, x, m, hidden: self.attention(x, x, x, hidden.mT)[0])
    ),
    "There is a residual connection around the attention.": modules.after(OwnEncoder, torch.add),
    "A causal mask is for a decoder: here each point may attend to all the others.": (
        masked(lambda ones: ones.triu(1))
    ),
    "Each point attends to what comes after it: a causal mask, and transposed.": (
        masked(lambda ones: ones.tril(-1))
    ),
    "Each point attends only to itself.": masked(lambda ones: ones - torch.eye(len(ones))),
    "Each point gets the same mean of all points: the weights do not depend on its query.": (
        queries(torch.ones_like)
    ),
    "The query is the mean of all points, with padding: each point has its own query.": (
        queries(lambda x: x.mean(1, True).expand_as(x))
    ),
    "Equal points get unequal states: a table of positions is added.": (
        calling(lambda x, m: [with_positions(x)] * 3)
    ),
    "Equal points get equal states: the states are not those of the points at their positions.": (
        queries(lambda x: x.flip(1))
    ),
    "An attention comes after the feed-forward network, which comes last.": (
        own(forward=lambda self, x, lengths: self.read(*[self.feed_forward(x)] * 2, lengths))
    ),
}


def points(shape=(3, 5)):
    return 3 * drawn(*shape, D_MODEL, seed=3)


def states(modules, x, lengths=(), rows=None, **build):
    return modules.run(x, torch.tensor(lengths or [x.size(1)] * len(x)), **build)


def permuted(modules):
    order, x = [3, 0, 4, 1, 2], points()
    return close(states(modules, x[:, order]), states(modules, x)[:, order])


def spread(modules):
    found = states(modules, 10 * points())
    return bool((found - found[:, :1]).abs().amax() > tolerance(found))


LARGE = 1e4  # points so large make each weight 0 or 1


def chosen(modules):
    """Return whether each state depends on as many large points as there are heads, or fewer."""
    x = LARGE * drawn(16, 8, D_MODEL, seed=7)
    once, count = states(modules, x), torch.zeros(16, 8)
    for point in range(8):
        other = x.clone()
        other[:, point] *= 0.5
        gap = (states(modules, other) - once).abs().amax(-1)
        count += gap > tolerance(once) * once.abs().max()
    return (count > probes.HEADS).double().mean() < 0.05


def padded():
    return points(), torch.tensor(probes.LENGTHS)


STATE = "the state of point"
CONTENTS, WEIGHTS = probes.padding(states, points, "the state of position", own=True)
ALL = Probe(
    lambda modules: probes.dependence(lambda x: states(modules, x, seed=5), points((8, 5))).any(0),
    "the state of point {0} does not depend on point {1}",
)
NETWORK = feed_forward.networks(
    lambda modules, x, **build: states(modules, x, **build)[:, 0],
    lambda modules, **build: states(modules, points((8, 5)), **build),
)
ENCODER = "encoder.html#the-encoder-attention-then-a-feed-forward-network"
PADDING = "encoder.html#sources-of-different-lengths-the-padding-mask"
BY_HAND = "encoder.html#self-attention-with-two-inputs-by-hand"
ORDER = "encoder.html#order-which-corner-came-first"
QUESTIONS = [
    probed("it returns one state for each point", ENCODER, *probes.repeated(padded)),
    probed("each state is finite", PADDING, probes.finite(padded, STATE)),
    probed("the samples are independent", ENCODER, *probes.apart(states, points, STATE)),
    probed("the contents of padding have no effect", PADDING, *CONTENTS),
    probed("padding has no attention weights", PADDING, *WEIGHTS),
    probed("each state depends on all points", BY_HAND, ALL, points=2),
    probed(
        "each point has its own query",
        BY_HAND,
        Probe(spread, "the states of five different points are all the same"),
        Probe(chosen, "where points are very large, a state depends on more points than heads"),
    ),
    probed(
        "one point among many equal ones has little weight",
        BY_HAND,
        probes.outvoted(states, "the state"),
    ),
    probed(
        "positions have no effect",
        ORDER,
        Probe(permuted, "a state changes when the points come in another order"),
        Probe(
            lambda modules: probes.same_rows(states(modules, points()[:, :1].expand(-1, 5, -1))),
            "equal points have different states",
        ),
    ),
    probed("it has the weights of the equation", ENCODER, *probes.parameters(1, padded)),
    probed("a ReLU is between the two linear layers", ENCODER, *NETWORK, points=2),
]
EXERCISE = Exercise(
    modules.stub("OwnEncoder", "source, lengths"),
    QUESTIONS,
    right=OwnEncoder,
    wrong=WRONG,
    unusual={
        "einsum": ByHand,
        "each source separately": OneByOne,
        **modules.unusual(OwnEncoder),
    },
    via=lambda answer: Modules(answer, "the states"),
    returns="the states",
)
check = EXERCISE.check
