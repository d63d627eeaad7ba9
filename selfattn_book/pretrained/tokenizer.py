"""GPT-2's tokens: text becomes bytes, and pairs of bytes that occur together become one token."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from selfattn_book.pretrained.texts import read_json, read_text

END = "<|endoftext|>"
# What Unicode calls white space.
SPACES = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_CONTRACTION = re.compile("'(?:s|t|re|ve|m|ll|d)")
# On a text whose letters are written L, numbers N, all else O, spaces and other blanks.
_PIECE = re.compile(r" ?L+| ?N+| ?O+|\s+(?!\S)|\s+")


class GPT2Tokenizer:
    """Turn text into GPT-2's tokens and back.

    Every text has tokens, for there is one for each byte. The end of a text is a token of its own,
    which decoding writes as ``<|endoftext|>``; in a text to encode, those are letters like others.

    Args:
        vocabulary: the number of each token, whose bytes are written as printable letters.
        merges: pairs of tokens that become one, the first first.

    Raises:
        ValueError: the numbers are not 0, 1, 2, ..., or a byte or a merged token is missing.

    Source:
        :cite:t:`radford2019language`, section 2.2; pairs, :cite:t:`sennrich2016neural`.

    Example:
        >>> bytes_ = {letter: number for number, letter in enumerate(letters())}
        >>> tokenizer = GPT2Tokenizer(bytes_ | {"th": 256, "the": 257}, [("t", "h"), ("th", "e")])
        >>> tokenizer.encode("the sloth")
        [257, 32, 115, 108, 111, 256]
        >>> tokenizer.decode([257, 32, 115, 108, 111, 256])
        'the sloth'
        >>> tokenizer.decode(tokenizer.encode("na\u00efve \U0001f9a5"))
        'naïve 🦥'
    """

    def __init__(
        self, vocabulary: dict[str, int], merges: Sequence[tuple[str, str]]
    ) -> None:
        _check(vocabulary, merges)
        self.vocabulary = dict(vocabulary)
        self.rank = {pair: rank for rank, pair in enumerate(merges)}
        self._texts = {number: text for text, number in vocabulary.items()}
        self._letter = letters()
        self._byte = {letter: byte for byte, letter in enumerate(self._letter)}

    @property
    def end(self) -> int | None:
        """The token that ends a text, if there is one."""
        return self.vocabulary.get(END)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text.

        Raises:
            UnicodeEncodeError: the text holds half a letter, as a broken file name may.
        """
        found: list[int] = []
        for piece in pieces(text):
            written = [self._letter[byte] for byte in piece.encode("utf-8")]
            found += [self.vocabulary[token] for token in self._merged(written)]
        return found

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens; bytes that are no letter become �.

        Raises:
            ValueError: there is no such token.
        """
        unknown = [token for token in tokens if token not in self._texts]
        if unknown:
            rule = f"tokens must be 0 to {len(self._texts) - 1}"
            raise ValueError(f"{rule}; got {unknown[0]}")
        written = "".join(self._texts[token] for token in tokens)
        parts = written.split(END)
        return END.join(self._text(part) for part in parts)

    def _text(self, written: str) -> str:
        return bytes(self._byte[letter] for letter in written).decode(
            "utf-8", errors="replace"
        )

    def _merged(self, parts: list[str]) -> list[str]:
        """Merge the pair that comes first in the list of merges, until none is in it."""
        while len(parts) > 1:
            pairs = list(pairwise(parts))
            best = min(pairs, key=lambda pair: self.rank.get(pair, len(self.rank)))
            if best not in self.rank:
                break
            parts = list(_joined(parts, best))
        return parts


def pieces(text: str) -> Iterator[str]:
    r"""Cut a text into words, numbers and signs, each with the space before it.

    No pair is merged across a cut. This is GPT-2's pattern
    ``'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+``.

    Example:
        >>> list(pieces("It's 2019,  isn't it?"))
        ['It', "'s", ' 2019', ',', ' ', ' isn', "'t", ' it', '?']
    """
    kinds = "".join(map(_kind, text))
    place = 0
    while place < len(text):
        found = _CONTRACTION.match(text, place) or _PIECE.match(kinds, place)
        assert found  # each kind is in the pattern
        yield text[place : found.end()]
        place = found.end()


def letters() -> list[str]:
    """Return of each byte the letter that stands for it: itself, if it can be printed.

    Example:
        >>> letters()[ord("a")], letters()[ord(" ")], letters()[10]
        ('a', 'Ġ', 'Ċ')
    """
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(b) if b in printed else chr(next(others)) for b in range(256)]


def read_tokenizer(folder: str | Path) -> GPT2Tokenizer:
    """Return the tokenizer whose ``vocab.json`` and ``merges.txt`` lie in a folder.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is not what it should be.
    """
    folder = Path(folder)
    lines = read_text(folder / "merges.txt").split("\n")
    merges = [line for line in lines[lines[0].startswith("#version") :] if line]
    pairs = [tuple(line.split(" ")) for line in merges]
    wrong = [
        line for line, pair in zip(merges, pairs, strict=True) if len(pair) != 2
    ]
    if wrong:
        rule = (
            "each line of merges.txt must be two tokens with a space between them"
        )
        raise ValueError(f"{rule}; got {wrong[0][:80]!r}")
    return GPT2Tokenizer(
        read_json(folder / "vocab.json"), [(one, two) for one, two in pairs]
    )


def _kind(letter: str) -> str:
    if letter in SPACES:
        return " " if letter == " " else "\n"
    category = unicodedata.category(letter)[0]
    return category if category in "LN" else "O"


def _joined(parts: list[str], pair: tuple[str, str]) -> Iterator[str]:
    """Give the parts, wherever the pair occurs joined."""
    place = 0
    while place < len(parts):
        is_pair = tuple(parts[place : place + 2]) == pair
        yield "".join(pair) if is_pair else parts[place]
        place += 2 if is_pair else 1


def _check(vocabulary: dict[str, int], merges: Sequence[tuple[str, str]]) -> None:
    """Raise unless every byte and every merged pair has a number, and each number is there once.

    >>> _check({"a": 1}, [])
    Traceback (most recent call last):
    ValueError: the tokens must be numbered from 0, each number once; got [1]
    >>> _check({"a": 0}, [])
    Traceback (most recent call last):
    ValueError: each byte must have a token; there is none for 'Ā'
    >>> _check({letter: n for n, letter in enumerate(letters())}, [("a", "b")])
    Traceback (most recent call last):
    ValueError: both of a pair, and what they become, must be tokens; 'ab' is none
    """
    numbers = list(vocabulary.values())
    if {type(n) for n in numbers} != {int} or sorted(numbers) != list(
        range(len(numbers))
    ):
        rule = "the tokens must be numbered from 0, each number once"
        raise ValueError(f"{rule}; got {str(numbers[:3])[:40]}")
    for letter in letters():
        if letter not in vocabulary:
            rule = "each byte must have a token"
            raise ValueError(f"{rule}; there is none for {letter!r}")
    known = set(letters())
    for token in vocabulary:
        if token != END and not known.issuperset(token):
            rule = "a token must be written in the letters that stand for bytes"
            raise ValueError(f"{rule}; got {token[:40]!r}")
    for one, two in merges:
        for token in (one, two, one + two):
            if token not in vocabulary:
                rule = "both of a pair, and what they become, must be tokens"
                raise ValueError(f"{rule}; {token[:40]!r} is none")
