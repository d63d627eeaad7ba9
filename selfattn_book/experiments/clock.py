"""Times of day as a digital clock shows them, and as people say them: a small language to translate.

Shape letters: ``N`` sayings, ``S`` characters of a time, ``T`` words of a saying with its end,
``V`` words.
"""

from collections import Counter
from collections.abc import Iterable
import math
from typing import NamedTuple

import torch
from torch import Tensor

from selfattn_book._arguments import check_integer
from selfattn_book.masks import padding_mask

PAD, START, END = 0, 1, 2
CHARACTERS = ["", *"0123456789:"]
SMALL = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
TENS = ["twenty", "thirty", "forty", "fifty"]
WORDS = ["", "<start>", "<end>", *SMALL, *TENS, *"o'clock oh past to quarter half".split()]

Time = tuple[int, int]


def number(n):
    if n < 20:
        return [SMALL[n - 1]]
    return [TENS[n // 10 - 2], *([SMALL[n % 10 - 1]] if n % 10 else [])]


def sayings(time: Time) -> list[list[str]]:
    hour, minute = time
    h = SMALL[hour - 1]
    if minute == 0:
        return [[h, "o'clock"]]*2
    read = [h, *(["oh"] if minute < 10 else []), *number(minute)]
    half = {15: ["quarter"], 30: ["half"]}
    if minute <= 30:
        told = [*half.get(minute, number(minute)), "past", h]
    else:
        left = 60 - minute
        told = [*half.get(left, number(left)), "to", SMALL[hour % 12]]
    return [told, read]
