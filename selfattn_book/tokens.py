"""Text as numbers: characters, and pairs of bytes that occur together."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

import torch
from torch import Tensor

from selfattn_book._arguments import check_integer

Pair = tuple[int, int]
T = TypeVar("T")  # what a word is cut into: numbers, or texts
BYTES = 256
# A word takes the space before it along; bytes above ASCII are letters of some script.
WORD = re.compile(rb" ?[A-Za-z\x80-\xff]+|[^A-Za-z\x80-\xff]")


class Characters:
    """Give every character of a text a number, in the order of Unicode.

    Args:
        text: whose characters are the vocabulary; no other can be encoded.

    Raises:
        TypeError: ``text`` is no string.
        ValueError: it is empty.

    Example:
        >>> tokens = Characters("and there was light")
        >>> len(tokens), tokens.encode("hat")
        (13, tensor([ 5,  1, 11]))
        >>> tokens.decode(tokens.encode("the grass"))
        'the grass'
        >>> tokens.encode("dog and cat")
        Traceback (most recent call last):
        ValueError: text must consist of characters of the vocabulary; got 'o', 'c'
        >>> tokens.decode([13])
        Traceback (most recent call last):
        ValueError: tokens must be integers from 0 to 12; got 13
        >>> Characters("")
        Traceback (most recent call last):
        ValueError: text must not be empty; got ''
    """

    def __init__(self, text: str) -> None:
        _check_text(text)
        if not text:
            raise ValueError("text must not be empty; got ''")
        self.symbols = sorted(set(text))
        self._numbers = {
            symbol: number for number, symbol in enumerate(self.symbols)
        }

    def __len__(self) -> int:
        """Return how many characters there are."""
        return len(self.symbols)

    def encode(self, text: str) -> Tensor:
        """Return the numbers of a text, ``(T,)``."""
        _check_text(text)
        if unknown := [c for c in dict.fromkeys(text) if c not in self._numbers]:
            rule = "text must consist of characters of the vocabulary"
            raise ValueError(f"{rule}; got {', '.join(map(repr, unknown))}")
        return torch.tensor([self._numbers[c] for c in text], dtype=torch.int64)

    def decode(self, tokens: Tensor | Sequence[int]) -> str:
        """Return the text of numbers, ``(T,)``."""
        return "".join(self.symbols[n] for n in _numbers(tokens, len(self)))


class BytePairs:
    r"""Split a text into bytes, then join pairs of them, in the order in which they were learned.

    The first 256 tokens are the bytes, so that every text can be written with them; token
    :math:`256 + i` is the :math:`i`-th pair. No token reaches across words, and a word
    takes the space before it along.

    Args:
        merges: the pairs, as :func:`learn_merges` returns them.

    Raises:
        ValueError: a pair names a token that there is not yet.

    Source:
        :cite:t:`sennrich2016neural`; with bytes, :cite:t:`radford2019language`, section 2.2.

    Example:
        >>> tokens = BytePairs([(116, 104), (256, 101), (32, 257)])   # th, the, and " the"
        >>> len(tokens), tokens.pieces("the other, there")
        (259, ['the', ' ', 'o', 'the', 'r', ',', ' the', 'r', 'e'])
        >>> tokens.encode("the th")
        tensor([257,  32, 256])
        >>> tokens.decode(tokens.encode("naïve, 世界"))
        'naïve, 世界'
        >>> tokens.decode([259])
        Traceback (most recent call last):
        ValueError: tokens must be integers from 0 to 258; got 259
        >>> BytePairs([(116, 256)])
        Traceback (most recent call last):
        ValueError: pair 0 must be of tokens from 0 to 255; got (116, 256)
    """

    def __init__(self, merges: Iterable[Sequence[int]]) -> None:
        self.merges: list[Pair] = []
        self.symbols = [bytes([byte]) for byte in range(BYTES)]
        for first, second in merges:
            number, known = len(self.merges), range(len(self.symbols))
            if first not in known or second not in known:
                rule = f"pair {number} must be of tokens from 0 to {len(known) - 1}"
                raise ValueError(f"{rule}; got {(first, second)}")
            self.merges.append((first, second))
            self.symbols.append(self.symbols[first] + self.symbols[second])
        self._ranks = {pair: BYTES + i for i, pair in enumerate(self.merges)}
        self._kept: dict[bytes, list[int]] = {}  # words that were split before

    def __len__(self) -> int:
        """Return how many tokens there are."""
        return len(self.symbols)

    def encode(self, text: str) -> Tensor:
        """Return the numbers of a text, ``(T,)``; any text has them."""
        _check_text(text)
        words = WORD.findall(text.encode())
        return torch.tensor(
            [n for word in words for n in self._split(word)], dtype=torch.int64
        )

    def decode(self, tokens: Tensor | Sequence[int]) -> str:
        """Return the text of numbers, ``(T,)``; bytes that are no text become ``�``."""
        numbers = _numbers(tokens, len(self))
        return b"".join(self.symbols[n] for n in numbers).decode(errors="replace")

    def pieces(self, text: str) -> list[str]:
        """Return a text cut into its tokens, each as a text of its own."""
        return [self.decode([n]) for n in self.encode(text).tolist()]

    def _split(self, word: bytes) -> list[int]:
        if word not in self._kept:
            numbers = list(word)
            while pairs := set(pairwise(numbers)) & self._ranks.keys():
                first = min(pairs, key=self._ranks.__getitem__)  # learned first
                numbers = join(numbers, first, self._ranks[first])
            self._kept[word] = numbers
        return self._kept[word]


def learn_merges(text: str, count: int) -> list[Pair]:
    """Find the pairs that byte-pair encoding joins: again and again the most frequent one.

    Args:
        text: to learn from.
        count: how many pairs.

    Returns:
        The pairs, in the order in which they were found. Of equally frequent pairs the one with
        the smaller numbers comes first, so the same text always gives the same pairs.

    Raises:
        TypeError: ``text`` is no string, or ``count`` no integer.
        ValueError: ``count`` is below 0, or no pair occurs twice before there are so many.

    Source:
        :cite:t:`sennrich2016neural`, algorithm 1.

    Example:
        >>> merges = learn_merges("the other, the there, the then", 3)
        >>> BytePairs(merges).symbols[256:]
        [b'he', b'the', b' the']
        >>> learn_merges("to be or not to be", 4)
        Traceback (most recent call last):
        ValueError: count must be at most 3, since then no pair occurs twice; got 4
    """
    _check_text(text)
    count = check_integer("count", count, least=0)
    words = Counter(WORD.findall(text.encode()))
    split = {word: list(word) for word in words}
    pairs: Counter[Pair] = Counter()
    places: dict[Pair, set[bytes]] = defaultdict(
        set
    )  # words in which a pair stands
    for word, times in words.items():
        _tally(pairs, places, split[word], word, times)
    merges: list[Pair] = []
    while len(merges) < count:
        best = max(pairs, key=lambda p: (pairs[p], -p[0], -p[1]), default=None)
        if best is None or pairs[best] < 2:
            rule = f"count must be at most {len(merges)}, since then no pair occurs twice"
            raise ValueError(f"{rule}; got {count}")
        for word in places.pop(best):  # no other word changes
            _tally(pairs, places, split[word], word, -words[word])
            split[word] = join(split[word], best, BYTES + len(merges))
            _tally(pairs, places, split[word], word, words[word])
        merges.append(best)
    return merges


def _tally(
    pairs: Counter[Pair],
    places: dict[Pair, set[bytes]],
    numbers: list[int],
    word: bytes,
    times: int,
) -> None:
    """Count the pairs of a word as often as the word occurs, or take them away again."""
    for pair in pairwise(numbers):
        pairs[pair] += times
        places[pair].add(word)


def join(numbers: list[T], pair: tuple[T, T], new: T) -> list[T]:
    """Put something new wherever a pair stands, from left to right.

    Example:
        >>> join([1, 2, 1, 2, 2], (1, 2), 256), join([1, 1, 1], (1, 1), 256)
        ([256, 256, 2], [256, 1])
    """
    joined: list[T] = []
    for number in numbers:
        if joined and (joined[-1], number) == pair:
            joined[-1] = new
        else:
            joined.append(number)
    return joined


def _numbers(tokens: Tensor | Sequence[int], count: int) -> list[int]:
    """Return tokens as numbers, or raise unless each has a symbol."""
    numbers = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
    for number in numbers:
        if type(number) is not int or not 0 <= number < count:
            rule = f"tokens must be integers from 0 to {count - 1}"
            raise ValueError(f"{rule}; got {number}")
    return numbers


def _check_text(text: str) -> None:
    if not isinstance(text, str):
        raise TypeError(f"text must be a string; got {type(text).__name__}")
