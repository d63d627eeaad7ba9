"""The full Transformer: greedy decoding, up to the end token."""

import torch
from torch import nn

from selfattn_book.exercises.checking.exercise import Exercise, Question, checked, factory, form
from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.exercises.checking.views import calls
from selfattn_book.properties.answer import Answer, RefusedError

VOCABULARY, START, END = 11, 3, 7


class Model(nn.Module):
    """A decoder whose logits depend on all tokens and their order; it counts its calls.

    After ``ends`` tokens the end is most likely. Unless it is causal, the first logits depend on the
    length of the target.
    """

    def __init__(self, seed, ends=None, causal=True):
        super().__init__()
        self.table = drawn(997, VOCABULARY, seed=seed)
        self.ends, self.causal, self.calls = ends, causal, 0
        self.table[:, [START, END]] = -9.0  # only the rule below generates the end
        self.message = "a model that never ends" if ends is None else f"one that ends after {ends}"

    def forward(self, target):
        self.calls += 1
        if self.calls > 50:
            raise RefusedError(Answer("exception", "the model was called more than 50 times."))
        tokens = torch.as_tensor(target)
        if tokens.ndim != 2 or len(tokens) != 1:
            rule = "logits_of takes tokens of shape (1, t)"
            raise RefusedError(Answer("shape", f"{rule}; got {tuple(tokens.shape)}."))
        states = [0 if self.causal else tokens.size(1)]
        for token in tokens[0].tolist():
            states.append((31 * states[-1] + int(token) + 1) % len(self.table))
        logits = self.table[states[1:]]
        if self.ends is not None:
            logits[self.ends : self.ends + 1, END] = 9.0
        return logits[None]


@factory
def case(length, seed, ends=None, causal=True):
    """Return the arguments of a call."""
    return Model(seed, ends, causal), START, END, length


def greedy(row=-1, pick=torch.argmax, context=slice(None), stops=True, more=0, first=1, end=False):
    def write(logits_of, start, stop, length):
        target = [start]
        for _ in range(length + more):
            token = int(pick(logits_of(torch.tensor([target[context]]))[0, row]))
            if token == stop and stops:
                return target[first:] + end * [stop]
            target.append(token)
        return target[first:]

    return write


right = greedy()


def cut_off(logits_of, start, end, length):
    tokens = greedy(stops=False)(logits_of, start, end, length)
    return [*tokens, end][: [*tokens, end].index(end)]


def all_rows(logits_of, start, end, length):
    target = torch.tensor([[start]])
    for _ in range(length):
        tokens = logits_of(target).argmax(-1)
        if tokens[0, -1] == end:
            break
        target = torch.cat([target[:, :1], tokens], dim=1)
    return target[0, 1:]


HERE = "transformer.html#exercises"
DECODING = "transformer.html#inference-greedy-decoding-until-the-end-token"
QUESTIONS = [
    Question("it returns tokens", HERE, view=form, cases=[case(9, 1)]),
    Question(
        "it generates the most likely token at each step",
        DECODING,
        points=2,
        cases=[case(length, seed) for seed in (1, 2, 5) for length in (9, 5)],
    ),
    checked("it stops before the end token", DECODING, 1, case(9, 1, ends=4), case(9, 2, ends=1)),
    Question(
        "it calls the model no more often than needed",
        DECODING,
        via=calls,
        cases=[case(9, 1, ends=4), case(9, 1)],
    ),
    checked("where the model ends at once, nothing is generated", DECODING, 1, case(9, 1, ends=0)),
]
WRONG = {
    "The first row of the logits was read: the last one is for the next token.": greedy(row=0),
    "The least of the logits was taken, not the greatest.": greedy(pick=torch.argmin),
    "Only the newest token was passed on: without a cache, the model needs all of them.": (
        greedy(context=slice(-1, None))
    ),
    "The model never reads its own tokens: each step gets the start alone.": (
        greedy(context=slice(1))
    ),
    "The start token is in the result; it was not generated.": greedy(first=0),
    "One token too many was generated.": greedy(more=1),
    "One token too few was generated: the start does not count.": greedy(more=-1),
    "The end token is in the result; it only marks the end.": greedy(end=True),
    "It continues after the end.": greedy(stops=False),
    "The model was called after the end, and the tokens were cut off later.": cut_off,
}
EXERCISE = Exercise(
    "def write(logits_of, start, end, length):\n    ...",
    QUESTIONS,
    right=right,
    wrong=WRONG,
    cases=[case(9, 1), case(5, 2), case(9, 1, ends=4), case(9, 1, causal=False)],
    unusual={"all rows": all_rows},
    returns="the tokens",
)
check = EXERCISE.check
