"""An encoder from attention: one vector for each source."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from selfattn_book.encoder_decoder import Encoder
from selfattn_book.exercises.checking.answer_checks import Function, agrees, result
from selfattn_book.exercises.checking.exercise import Asked, Exercise
from selfattn_book.masks import padding_mask
from selfattn_book.properties.answer import YES, Answer

Read = Callable[[Tensor, Tensor], Tensor]
Case = tuple[Callable[..., Any], list[Tensor]]


class Counted:
    """An encoder that counts its calls and sees what it is given."""

    message = "an encoder"

    def __init__(self, encoder: Encoder):
        self.encoder, self.calls = encoder, 0

    def __call__(self, *inputs: Tensor, **named: Any) -> Any:
        """Return what the encoder returns."""
        self.calls += 1
        with torch.no_grad():
            return self.encoder(*inputs, **named)


@cache
def encoder(seed: int, positions: bool = True) -> Counted:
    """Return an encoder whose states differ from each other clearly."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = Encoder(d_model=3, num_heads=2, d_ff=16, positions=positions).double()
    for parameter in made.parameters():
        parameter.data *= 2
    return Counted(made)


def sources(seed: int, *lengths: int) -> list[Tensor]:
    """Return sources of these lengths."""
    chance = torch.Generator().manual_seed(seed)
    return [torch.randn(n, 2, generator=chance, dtype=torch.float64) for n in lengths]


def mean(states: Tensor, real: Tensor) -> Tensor:
    """Read the mean of what is real."""
    return (states * real[..., None]).sum(1) / real.sum(1, keepdim=True)


def last(states: Tensor, real: Tensor) -> Tensor:
    """Read the state of the last real point."""
    return states[torch.arange(len(states)), real.sum(1) - 1]


def ends(states: Tensor, real: Tensor) -> Tensor:
    """Read the first and the last."""
    return (states[:, 0] + last(states, real)) / 2


READ: dict[str, Read] = {"mean": mean, "last": last, "first and last": ends}


def read_out(read: Read, masked: bool = True) -> Function:
    """Return a way to read vectors from a padded batch."""

    def vectors(encoder: Counted, sources: list[Tensor]) -> Tensor:
        lengths = torch.tensor([len(source) for source in sources])
        batch = torch.nn.utils.rnn.pad_sequence(sources, batch_first=True)
        states, _ = encoder(batch, padding_mask(lengths) if masked else None)
        return read(states, torch.arange(batch.size(1)) < lengths[:, None])

    return vectors


def over_all(read: Read) -> Read:
    """Take padding for real."""
    return lambda states, real: read(states, torch.ones_like(real))


def mistakes(name: str) -> list[tuple[str, Function]]:
    """Return misconceptions, each with what follows from it."""
    read = READ[name]

    def by_batch(states: Tensor, real: Tensor) -> Tensor:
        return (states * real[..., None]).sum(1) / real.size(1)

    others = [(other, READ[other]) for other in READ if other != name]
    return [
        (
            "The mask is missing: real points hear the padding.",
            read_out(read, masked=False),
        ),
        (
            "The states of padding are read as if they were real.",
            read_out(over_all(read)),
        ),
        (
            "Padding is neither hidden nor left out.",
            read_out(over_all(read), masked=False),
        ),
        ("It is divided by the length of the batch.", read_out(by_batch)),
        (
            "This is the sum, not the mean.",
            read_out(lambda s, real: mean(s, real) * real.sum(1, keepdim=True)),
        ),
        (
            "This is the sum of the two states, not their mean.",
            read_out(lambda s, real: 2 * ends(s, real)),
        ),
        *((f"Read was {other!r}, not {name!r}.", read_out(one)) for other, one in others),
        ("The first state was read.", read_out(lambda s, real: s[:, 0])),
    ]


def called_once(vectors: Function) -> Answer:
    """Ask for one call of the encoder, in which sources are right."""
    counted = Counted(encoder(3).encoder)
    result(vectors, counted, sources(7, 4, 2, 3), shape=(3, 3))
    if counted.calls == 1:
        return YES
    message = f"for three sources the encoder was called {counted.calls} times, not once."
    return Answer("mathematics", message)


def asks(name: str) -> list[Asked]:
    """Return what is asked."""
    right, wrong = read_out(READ[name]), mistakes(name)
    page = "encoder.html#sources-of-different-lengths-the-padding-mask"
    cases: Sequence[tuple[str, list[Case], int]] = [
        ("sources of one length", [(encoder(1), sources(1, 4, 4))], 1),
        ("sources of different lengths", [(encoder(1), sources(2, 5, 2, 3))], 3),
        (
            "an encoder without positions",
            [(encoder(2, positions=False), sources(3, 2, 6))],
            1,
        ),
        (
            "a source of one point",
            [(encoder(1), sources(4, 1, 4)), (encoder(1), sources(5, 1))],
            1,
        ),
    ]
    asked = [Asked(message, agrees(right, c, *wrong), page, points) for message, c, points in cases]
    return [*asked, Asked("all of it in one call", _both(right, wrong), page)]


def _both(right: Function, wrong: list[tuple[str, Function]]) -> Function:
    """Ask for one call that gives the right vectors."""
    agree = agrees(right, [(encoder(3), sources(7, 4, 2, 3))], *wrong)
    return lambda vectors: agree(vectors) and called_once(vectors)


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    return [Exercise("vectors", "def vectors(encoder, sources): ...", asks(numbers["read"]))]
