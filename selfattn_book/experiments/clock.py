"""Times as a digital clock shows them and as people say them: a small language to translate.

Shape letters: ``N`` sayings, ``S`` characters of a time, ``T`` words of a saying and its end,
``V`` words.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from selfattn_book.masks import padding_mask
from selfattn_book.sequence_to_sequence import Transformer

Time = tuple[int, int]  # hours from 1 to 12, and minutes
Sight = Callable[[Time], str]  # what is seen of a time

# Tokens that are no words; a source has only the first of them.
PAD, START, END = 0, 1, 2
CHARACTERS = ["<pad>", *"0123456789:"]
# fmt: off
COUNTED = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
    "eighteen", "nineteen",
]
# fmt: on
TENS = ["twenty", "thirty", "forty", "fifty"]
WORDS = ["<pad>", "<start>", "<end>", *COUNTED, *TENS]
WORDS += ["quarter", "half", "past", "to", "o'clock", "oh"]
# Characters of the longest time; words of the longest saying, and its end.
LENGTHS = 5, 5


class Lesson(NamedTuple):
    """Times and their sayings as tokens, each time once with each of its two sayings.

    Attributes:
        source: ``(N, 5)``, the characters of the times, padded.
        fed: ``(N, 5)``, the sayings shifted by one: the start, then all words.
        mask: ``(N, 1, 1, 5)``, ``True`` where a source is no padding.
        asked: ``(N, 5)``, all words, then the end; padded.
    """

    source: Tensor
    fed: Tensor
    mask: Tensor
    asked: Tensor


def all_times() -> list[Time]:
    """Return the times that a clock with twelve hours can show.

    Example:
        >>> times = all_times()
        >>> len(times), times[0], times[-1]
        (720, (1, 0), (12, 59))
    """
    return [(hour, minute) for hour in range(1, 13) for minute in range(60)]


def shown(time: Time) -> str:
    """Return a time as a digital clock shows it.

    Raises:
        ValueError: there is no such time.

    Example:
        >>> shown((7, 5)), shown((12, 50))
        ('7:05', '12:50')
        >>> shown((0, 60))
        Traceback (most recent call last):
        ValueError: a time must have 1 to 12 hours and 0 to 59 minutes; got (0, 60)
    """
    hour, minute = time
    if not (1 <= hour <= 12 and 0 <= minute <= 59):
        rule = "a time must have 1 to 12 hours and 0 to 59 minutes"
        raise ValueError(f"{rule}; got {time}")
    return f"{hour}:{minute:02d}"


def sayings(time: Time) -> tuple[str, str]:
    """Return the two ways to say a time: by the hands of a clock, and by its digits.

    On the hour they are the same.

    Raises:
        ValueError: there is no such time.

    Example:
        >>> sayings((7, 50)), sayings((12, 45))
        (('ten to eight', 'seven fifty'), ('quarter to one', 'twelve forty five'))
        >>> sayings((3, 30)), sayings((5, 5))
        (('half past three', 'three thirty'), ('five past five', 'five oh five'))
        >>> sayings((9, 0))
        ("nine o'clock", "nine o'clock")
    """
    shown(time)
    hour, minute = time
    this, following = COUNTED[hour - 1], COUNTED[hour % 12]
    if minute == 0:
        return f"{this} o'clock", f"{this} o'clock"
    by_digits = f"{this} {'oh ' if minute < 10 else ''}{_count(minute)}"
    named = {15: "quarter", 30: "half"}
    if minute <= 30:
        return f"{named.get(minute, _count(minute))} past {this}", by_digits
    left = 60 - minute
    return f"{named.get(left, _count(left))} to {following}", by_digits


def lesson(times: Sequence[Time]) -> Lesson:
    """Return times and sayings as tokens: what a model is given, in this order, and what it is asked.

    Raises:
        ValueError: there is no time, or no such time.

    Example:
        >>> source, fed, mask, asked = lesson([(7, 50)])
        >>> source[0], mask.shape
        (tensor([ 8, 11,  6,  1,  0]), torch.Size([2, 1, 1, 5]))
        >>> fed, asked
        (tensor([[ 1, 12, 29, 10,  0],
                [ 1,  9, 25,  0,  0]]), tensor([[12, 29, 10,  2,  0],
                [ 9, 25,  2,  0,  0]]))
        >>> lesson([])
        Traceback (most recent call last):
        ValueError: there must be at least one time; got none
    """
    if len(times) == 0:
        raise ValueError("there must be at least one time; got none")
    sources, feds, askeds = [], [], []
    for time in times:
        for saying in sayings(time):
            words = [WORDS.index(word) for word in saying.split()]
            sources.append([CHARACTERS.index(letter) for letter in shown(time)])
            feds.append([START, *words])
            askeds.append([*words, END])
    mask = padding_mask([len(source) for source in sources], LENGTHS[0])
    return Lesson(_padded(sources, 0), _padded(feds, 1), mask, _padded(askeds, 1))


def spoken(tokens: Tensor) -> list[str]:
    """Return what rows of tokens ``(N, T)`` say, each up to its end.

    Example:
        >>> spoken(lesson([(7, 50)]).asked)
        ['ten to eight', 'seven fifty']
        >>> spoken(torch.tensor([[PAD, START], [END, 9]]))
        ['<pad> <start>', '']
    """
    said = []
    for row in tokens.tolist():
        row = row[: row.index(END)] if END in row else row
        said.append(" ".join(WORDS[token] for token in row))
    return said


def said_by(model: Transformer, times: Sequence[Time]) -> list[str]:
    """Return what a model writes when it is shown times: the likeliest word each time, up to the end.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> sizes = {"d_model": 4, "num_layers": 1, "num_heads": 1}
        >>> model = Transformer(len(CHARACTERS), len(WORDS), **sizes)   # untrained
        >>> both, alone = said_by(model, [(7, 50), (12, 0)]), said_by(model, [(12, 0)])
        >>> len(both), both[1:] == alone
        (2, True)
    """
    source, _, mask, _ = (rows[::2] for rows in lesson(times))  # each time once
    written = model.predict(
        source, LENGTHS[1] + 1, start=START, end=END, source_mask=mask
    )
    return spoken(written)


def count_right(model: Transformer, times: Sequence[Time]) -> int:
    """Count the times that a model says in one of their two ways.

    Example:
        >>> sizes = {"d_model": 4, "num_layers": 1, "num_heads": 1}
        >>> count_right(Transformer(len(CHARACTERS), len(WORDS), **sizes), [(7, 50)]) in (0, 1)
        True
    """
    pairs = zip(said_by(model, times), times, strict=True)
    return sum(said in sayings(time) for said, time in pairs)


def unplaced(model: Transformer) -> Transformer:
    """Take the positions away from a model's encoder, and return the model: it reads a bag.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> sizes = {"d_model": 4, "num_layers": 1, "num_heads": 1}
        >>> model = unplaced(Transformer(len(CHARACTERS), len(WORDS), **sizes))
        >>> (source, fed, mask, _), turned = lesson([(12, 50)]), lesson([(10, 25)]).source
        >>> model(source, fed, mask).allclose(model(turned, fed, mask), atol=1e-5)
        True
        >>> model(source, fed).allclose(model(source, fed.flip(1)))   # the decoder has its own
        False
    """
    model.place_source.table.zero_()
    return model


def saying_losses(logits: Tensor, asked: Tensor) -> Tensor:
    r"""Return for each word of each saying how little it was expected, in nats.

    .. math:: \ell_{nt} = -\log \operatorname{softmax}(\text{logits}_{nt})_{\text{asked}_{nt}}

    Args:
        logits: ``(N, T, V)``.
        asked: ``(N, T)``.

    Returns:
        ``(N, T)``; 0 where there is padding.

    Example:
        >>> asked = torch.tensor([[5, END, PAD]])
        >>> saying_losses(torch.zeros(1, 3, len(WORDS)), asked)   # the log of 32
        tensor([[3.4657, 3.4657, 0.0000]])
    """
    chances = logits.log_softmax(-1).gather(-1, asked[..., None])[..., 0]
    return -chances * (asked != PAD)


def saying_loss(logits: Tensor, asked: Tensor) -> Tensor:
    """Return the mean loss of a whole saying, in nats.

    Args:
        logits: ``(N, T, V)``.
        asked: ``(N, T)``.

    Example:
        >>> saying_loss(torch.zeros(1, 3, len(WORDS)), torch.tensor([[5, END, PAD]]))
        tensor(6.9315)
    """
    return saying_losses(logits, asked).sum(-1).mean()


def least_loss(times: Sequence[Time], seen: Sight = shown) -> float:
    r"""Return the least mean loss of a saying, for all who know of a time only what is seen.

    .. math::
       \begin{aligned}
       &\min_q \;\frac1N \sum_{n} -\log q(y_n \mid \text{seen}(x_n)) \\
       &= \frac1N \sum_{n} -\log \frac{\#\{m : \text{seen}(x_m) = \text{seen}(x_n),\, y_m = y_n\}}
       {\#\{m : \text{seen}(x_m) = \text{seen}(x_n)\}}
       \end{aligned}

    Args:
        times: those over which the mean is taken, with both sayings of each.
        seen: what is known of a time.

    Raises:
        ValueError: there is no time.

    Example:
        >>> half_of_them = least_loss([(9, 0), (7, 50)])   # one has one saying, one has two
        >>> half_of_them, math.log(2) / 2
        (0.3466, 0.3466)
        >>> least_loss([(1, 23), (2, 13)], bag), math.log(4)   # the same characters
        (1.3863, 1.3863)
    """
    if len(times) == 0:
        raise ValueError("there must be at least one time; got none")
    pairs = [(seen(time), saying) for time in times for saying in sayings(time)]
    together, alone = Counter(pairs), Counter(sight for sight, _ in pairs)
    shares = (together[pair] / alone[pair[0]] for pair in pairs)
    return -sum(map(math.log, shares)) / len(pairs)


def bag(time: Time) -> str:
    """Return the characters of a time without their order.

    Example:
        >>> bag((12, 50)), bag((10, 25))
        ('0125:', '0125:')
    """
    return "".join(sorted(shown(time)))


def _count(number: int) -> str:
    """Say a number from 1 to 59.

    >>> _count(19), _count(20), _count(59)
    ('nineteen', 'twenty', 'fifty nine')
    """
    if number < 20:
        return COUNTED[number - 1]
    tens, ones = divmod(number, 10)
    return f"{TENS[tens - 2]} {COUNTED[ones - 1]}" if ones else TENS[tens - 2]


def _padded(rows: list[list[int]], side: int) -> Tensor:
    return torch.tensor([row + [PAD] * (LENGTHS[side] - len(row)) for row in rows])
