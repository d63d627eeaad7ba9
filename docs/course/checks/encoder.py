"""The encoder: one vector for each source."""

from functools import cache

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from selfattn_book.encoder_decoder import Encoder
from selfattn_book.exercises.checking.exercise import Question, checked, factory, for_credit
from selfattn_book.exercises.checking.numbers import normal
from selfattn_book.exercises.checking.views import calls
from selfattn_book.masks import padding_mask

SECTION = "encoder.html#sources-of-different-lengths-the-padding-mask"


class Counted(nn.Module):
    """An encoder that counts its calls."""

    message = "an encoder"

    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.calls = encoder, 0

    @torch.no_grad()
    def forward(self, *inputs, **named):
        self.calls += 1
        return self.encoder(*inputs, **named)


@cache
def encoder(seed, positions=True):
    """Return an encoder whose states differ from each other clearly."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = Encoder(d_model=3, num_heads=2, d_ff=16, positions=positions).double()
    for parameter in made.parameters():
        parameter.data *= 2
    return Counted(made)


def case(model, seed, *lengths):
    return model, list(normal(seed, *((n, 2) for n in lengths)))


def mean(states, real):
    return (states * real[..., None]).sum(1) / real.sum(1, keepdim=True)


def last(states, real):
    return states[torch.arange(len(states)), real.sum(1) - 1]


def ends(states, real):
    return (states[:, 0] + last(states, real)) / 2


READ = {"mean": mean, "last": last, "first and last": ends}


@factory
def read_out(read, encoder, sources, *, masked=True):
    """Return the program that reads vectors from a padded batch."""
    lengths = torch.tensor([len(source) for source in sources])
    batch = pad_sequence(sources, batch_first=True)
    states, _ = encoder(batch, padding_mask(lengths) if masked else None)
    return read(states, torch.arange(batch.size(1)) < lengths[:, None])


def exercises(numbers):
    name = numbers["read"]

    def over_all(states, real):
        return read(states, torch.ones_like(real))

    read, right = READ[name], read_out(READ[name])
    one, bare, together = encoder(1), encoder(2, positions=False), case(encoder(3), 7, 4, 2, 3)
    questions = [
        checked("sources of one length", SECTION, 1, case(one, 1, 4, 4)),
        checked("sources of different lengths", SECTION, 3, case(one, 2, 5, 2, 3), together),
        checked("an encoder without positions", SECTION, 1, case(bare, 3, 2, 6)),
        checked("a source of one point", SECTION, 1, case(one, 4, 1, 4), case(one, 5, 1)),
        Question("all sources in one call", SECTION, via=calls, cases=[together]),
    ]
    exercise = for_credit(
        "def vectors(encoder, sources): ...",
        questions,
        right=right,
        wrong={
            "The mask is missing: states depend on the padding.": read_out(read, masked=False),
            "The states of padding are read as if they were real.": read_out(over_all),
            "Padding is neither hidden nor left out.": read_out(over_all, masked=False),
            "It is divided by the length of the batch.": (
                read_out(lambda x, real: (x * real[..., None]).sum(1) / real.size(1))
            ),
            "This is the sum, not the mean.": (
                read_out(lambda x, real: mean(x, real) * real.sum(1, keepdim=True))
            ),
            "This is the sum of the two states, not their mean.": (
                read_out(lambda x, real: 2 * ends(x, real))
            ),
            **{
                f"Read was {other!r}, not {name!r}.": read_out(READ[other])
                for other in READ
                if other != name
            },
            "The first state was read.": read_out(lambda x, real: x[:, 0]),
            "The encoder was called once for each source.": (
                lambda encoder, sources: torch.cat([right(encoder, [x]) for x in sources])
            ),
        },
        returns="the vectors",
        gate=1,
    )
    return [exercise]
