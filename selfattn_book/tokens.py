"""Tokenizers: characters, and byte-pair encoding (BPE)."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

import torch
from torch import Tensor

from selfattn_book._arguments import check_integer

Pair = tuple[int, int]
T = TypeVar("T")  # tokens: numbers, or texts
BYTES = 256
# A word includes the space before it; bytes above ASCII count as letters.
WORD = re.compile(rb" ?[A-Za-z\x80-\xff]+|[^A-Za-z\x80-\xff]")


class CharacterTokenizer:
    """Map each character of a text to a number, in the order of Unicode.

    Args:
        text: text that contains the vocabulary; other characters cannot be encoded.

    Raises:
        TypeError, ValueError: ``text`` is not a string, or empty, or not valid Unicode.

    Example:
        >>> tokens = CharacterTokenizer("and there was light")
        >>> len(tokens), tokens.encode("hat")
        (13, tensor([ 5,  1, 11]))
    """

    def __init__(self, text: str) -> None:
        _utf8(text)
        if not text:
            raise ValueError("text must not be empty; got ''")
        self.symbols = sorted(set(text))
        self._numbers = {symbol: number for number, symbol in enumerate(self.symbols)}

    def __len__(self) -> int:
        """Return the size of the vocabulary."""
        return len(self.symbols)

    def encode(self, text: str) -> Tensor:
        """Return the tokens of a text, ``(T,)``."""
        _utf8(text)
        if unknown := [c for c in dict.fromkeys(text) if c not in self._numbers]:
            rule = "text must consist of characters of the vocabulary"
            raise ValueError(f"{rule}; got {', '.join(map(repr, unknown))}")
        return torch.tensor([self._numbers[c] for c in text], dtype=torch.int64)

    def decode(self, tokens: Tensor | Sequence[int]) -> str:
        """Return the text of tokens, ``(T,)``."""
        return "".join(self.symbols[n] for n in _numbers(tokens, len(self)))


class BPETokenizer:
    r"""Split a text into bytes and merge pairs of tokens, in the order in which they were learned.

    The first 256 tokens are the bytes, so that every text can be encoded; token
    :math:`256 + i` is the :math:`i`-th merge. Tokens do not cross word boundaries; a word
    includes the space before it.

    Args:
        merges: pairs of tokens, as returned by :func:`train_bpe`.

    Raises:
        ValueError: a pair contains a token that does not exist yet.

    Source:
        :cite:t:`sennrich2016neural`; with bytes, :cite:t:`radford2019language`, section 2.2.

    Example:
        >>> tokens = BPETokenizer([(116, 104), (256, 101), (32, 257)])   # th, the, and " the"
        >>> len(tokens), tokens.tokenize("the other, there")
        (259, ['the', ' ', 'o', 'the', 'r', ',', ' the', 'r', 'e'])
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
        self._kept: dict[bytes, list[int]] = {}  # words encoded earlier

    def __len__(self) -> int:
        """Return the size of the vocabulary."""
        return len(self.symbols)

    def encode(self, text: str) -> Tensor:
        """Return the tokens of a text, ``(T,)``."""
        words = WORD.findall(_utf8(text))
        return torch.tensor([n for word in words for n in self._split(word)], dtype=torch.int64)

    def decode(self, tokens: Tensor | Sequence[int]) -> str:
        """Return the text of tokens, ``(T,)``; invalid UTF-8 becomes ``�``."""
        numbers = _numbers(tokens, len(self))
        return b"".join(self.symbols[n] for n in numbers).decode(errors="replace")

    def tokenize(self, text: str) -> list[str]:
        """Return the text of each token of a text."""
        return [self.decode([n]) for n in self.encode(text).tolist()]

    def _split(self, word: bytes) -> list[int]:
        if word not in self._kept:
            numbers = list(word)
            while pairs := set(pairwise(numbers)) & self._ranks.keys():
                first = min(pairs, key=self._ranks.__getitem__)  # learned first
                numbers = merge_pair(numbers, first, self._ranks[first])
            self._kept[word] = numbers
        return self._kept[word]


def train_bpe(text: str, count: int) -> list[Pair]:
    """Learn the merges of byte-pair encoding: repeatedly merge the most frequent pair of tokens.

    Args:
        text: training text.
        count: number of merges.

    Returns:
        The pairs, in the order of merging; of equally frequent ones, the smaller numbers first.

    Raises:
        ValueError: ``count`` is negative, or larger than the number of pairs that occur twice.

    Source:
        :cite:t:`sennrich2016neural`, algorithm 1.

    Example:
        >>> merges = train_bpe("the other, the there, the then", 3)
        >>> BPETokenizer(merges).symbols[256:]
        [b'he', b'the', b' the']
    """
    words = Counter(WORD.findall(_utf8(text)))
    count = check_integer("count", count, least=0)
    split = {word: list(word) for word in words}
    pairs: Counter[Pair] = Counter()
    places: dict[Pair, set[bytes]] = defaultdict(set)  # words that contain a pair
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
            split[word] = merge_pair(split[word], best, BYTES + len(merges))
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
    """Add the pairs of a word to the counts, or remove them if ``times`` is negative."""
    for pair in pairwise(numbers):
        pairs[pair] += times
        places[pair].add(word)


def merge_pair(numbers: list[T], pair: tuple[T, T], new: T) -> list[T]:
    """Replace each occurrence of a pair by a new token, from left to right.

    Example:
        >>> merge_pair([1, 2, 1, 2, 2], (1, 2), 256), merge_pair([1, 1, 1], (1, 1), 256)
        ([256, 256, 2], [256, 1])
    """
    merged: list[T] = []
    for number in numbers:
        if merged and (merged[-1], number) == pair:
            merged[-1] = new
        else:
            merged.append(number)
    return merged


def _numbers(tokens: Tensor | Sequence[int], count: int) -> list[int]:
    """Return tokens as a list of integers, or raise unless all are in the vocabulary."""
    numbers = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
    for number in numbers:
        if type(number) is not int or not 0 <= number < count:
            rule = f"tokens must be integers from 0 to {count - 1}"
            raise ValueError(f"{rule}; got {number}")
    return numbers


def _utf8(text: str) -> bytes:
    """Return a text as UTF-8, or raise unless it is a string without lone surrogates."""
    if not isinstance(text, str):
        raise TypeError(f"text must be a string; got {type(text).__name__}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        got = f"{text[error.start]!r} at position {error.start}"
        raise ValueError(f"text must not contain a lone surrogate; got {got}") from None
