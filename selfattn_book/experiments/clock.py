"""A small translation task: from the time on a digital clock to its spoken phrase.

Shape letters: ``N`` phrases, ``S`` characters of a time, ``T`` words of a phrase and its end,
``V`` words.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from selfattn_book.masks import padding_mask
from selfattn_book.transformer import Transformer

Time = tuple[int, int]  # hours from 1 to 12, and minutes
View = Callable[[Time], str]  # the part of a time that a model sees

# Special tokens; a source has only the first.
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
# Characters of the longest time; words of the longest phrase, and its end.
LENGTHS = 5, 5


class TrainingSet(NamedTuple):
    """Times and their target phrases as tokens, each time once with each of its two phrases.

    Attributes:
        source: ``(N, 5)``, the characters of the times, padded.
        decoder_input: ``(N, 5)``, the phrases shifted by one: the start, then all words; padded.
        source_mask: ``(N, 1, 1, 5)``, ``True`` at characters, ``False`` at padding.
        target: ``(N, 5)``, all words, then the end; padded.
    """

    source: Tensor
    decoder_input: Tensor
    source_mask: Tensor
    target: Tensor


def all_times() -> list[Time]:
    """Return all 720 times of a twelve-hour clock."""
    return [(hour, minute) for hour in range(1, 13) for minute in range(60)]


def shown(time: Time) -> str:
    """Return a time as a digital clock shows it.

    Example:
        >>> shown((7, 5)), shown((12, 50))
        ('7:05', '12:50')
    """
    hour, minute = time
    return f"{hour}:{minute:02d}"


def phrases(time: Time) -> tuple[str, str]:
    """Return the two phrases for a time: by the hands of a clock, and by its digits.

    On the hour they are equal.

    Example:
        >>> phrases((7, 50)), phrases((12, 45))
        (('ten to eight', 'seven fifty'), ('quarter to one', 'twelve forty five'))
        >>> phrases((9, 0))
        ("nine o'clock", "nine o'clock")
    """
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


def training_set(times: Sequence[Time]) -> TrainingSet:
    """Return times and phrases as tokens: the arguments of a model, in order, and its target.

    Example:
        >>> source, decoder_input, mask, target = training_set([(7, 50)])
        >>> source[0], mask.shape
        (tensor([ 8, 11,  6,  1,  0]), torch.Size([2, 1, 1, 5]))
        >>> decoder_input, target
        (tensor([[ 1, 12, 29, 10,  0],
                [ 1,  9, 25,  0,  0]]), tensor([[12, 29, 10,  2,  0],
                [ 9, 25,  2,  0,  0]]))
    """
    sources, inputs, targets = [], [], []
    for time in times:
        for phrase in phrases(time):
            words = [WORDS.index(word) for word in phrase.split()]
            sources.append([CHARACTERS.index(letter) for letter in shown(time)])
            inputs.append([START, *words])
            targets.append([*words, END])
    mask = padding_mask([len(source) for source in sources], LENGTHS[0])
    return TrainingSet(_padded(sources, 0), _padded(inputs, 1), mask, _padded(targets, 1))


def decode_phrases(tokens: Tensor) -> list[str]:
    """Decode rows of tokens ``(N, T)``, each up to its end."""
    rows = [row[: row.index(END)] if END in row else row for row in tokens.tolist()]
    return [" ".join(WORDS[token] for token in row) for row in rows]


def predicted_phrases(model: Transformer, times: Sequence[Time]) -> list[str]:
    """Return the phrases that a model generates for times, by greedy decoding."""
    source, _, mask, _ = (rows[::2] for rows in training_set(times))  # each time once
    tokens = model.generate(
        source, LENGTHS[1] + 1, bos_token=START, eos_token=END, source_mask=mask
    )
    return decode_phrases(tokens)


def count_right(model: Transformer, times: Sequence[Time]) -> int:
    """Count the times for which a model generates one of the two phrases."""
    pairs = zip(predicted_phrases(model, times), times, strict=True)
    return sum(phrase in phrases(time) for phrase, time in pairs)


def without_positions(model: Transformer) -> Transformer:
    """Zero the encoder's positional encoding, so that the source is a bag, and return the model."""
    model.source_positions.table.zero_()
    return model


def phrase_losses(logits: Tensor, target: Tensor) -> Tensor:
    r"""Return the surprisal ``(N, T)`` of each word of each phrase, in nats, and 0 for padding.

    .. math:: \ell_{nt} = -\log \operatorname{softmax}(\text{logits}_{nt})_{\text{target}_{nt}}
    """
    log_probabilities = logits.log_softmax(-1).gather(-1, target[..., None])[..., 0]
    return -log_probabilities * (target != PAD)


def phrase_loss(logits: Tensor, target: Tensor) -> Tensor:
    """Return the mean loss of a whole phrase, in nats, from logits ``(N, T, V)``, target ``(N, T)``.

    Example:
        >>> phrase_loss(torch.zeros(1, 3, len(WORDS)), torch.tensor([[5, END, PAD]]))   # 2 ln 32
        tensor(6.9315)
    """
    return phrase_losses(logits, target).sum(-1).mean()


def loss_floor(times: Sequence[Time], seen: View = shown) -> float:
    r"""Return the loss floor: the smallest mean loss of any model that sees only a view of each time.

    .. math::
       \begin{aligned}
       &\min_q \;\frac1N \sum_{n} -\log q(y_n \mid \text{seen}(x_n)) \\
       &= \frac1N \sum_{n} -\log \frac{\#\{m : \text{seen}(x_m) = \text{seen}(x_n),\, y_m = y_n\}}
       {\#\{m : \text{seen}(x_m) = \text{seen}(x_n)\}}
       \end{aligned}

    Args:
        times: times of the mean, each with both of its phrases.
        seen: view of a time, such as :func:`bag`.

    Example:
        >>> loss_floor([(1, 23), (2, 13)], bag), math.log(4)   # the same characters
        (1.3863, 1.3863)
    """
    pairs = [(seen(time), phrase) for time in times for phrase in phrases(time)]
    joint, views = Counter(pairs), Counter(view for view, _ in pairs)
    probabilities = (joint[pair] / views[pair[0]] for pair in pairs)
    return -sum(map(math.log, probabilities)) / len(pairs)


def bag(time: Time) -> str:
    """Return the characters of a time without their order.

    Example:
        >>> bag((12, 50)), bag((10, 25))
        ('0125:', '0125:')
    """
    return "".join(sorted(shown(time)))


def _count(number: int) -> str:
    """Return a number from 1 to 59 in words."""
    if number < 20:
        return COUNTED[number - 1]
    tens, ones = divmod(number, 10)
    return f"{TENS[tens - 2]} {COUNTED[ones - 1]}" if ones else TENS[tens - 2]


def _padded(rows: list[list[int]], side: int) -> Tensor:
    return torch.tensor([row + [PAD] * (LENGTHS[side] - len(row)) for row in rows])
