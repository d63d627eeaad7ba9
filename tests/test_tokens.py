"""Texts come back from their tokens, and merges are those of the definition of BPE."""

import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from selfattn_book.experiments.text import load_text
from selfattn_book.tokens import WORD, BPETokenizer, CharacterTokenizer, merge_pair, train_bpe

SMALL = load_text("jonah")


@pytest.fixture(scope="module")
def pairs():
    return BPETokenizer(train_bpe(SMALL, 150))


def recounted(text, count):
    """The algorithm by its definition: count all pairs, merge one, and count all again."""
    words = [list(word) for word in WORD.findall(text.encode())]
    merges = []
    for _ in range(count):
        found = Counter(pair for word in words for pair in pairwise(word))
        most = max(found.values())
        best = min(pair for pair, times in found.items() if times == most)
        merges.append(best)
        words = [merge_pair(word, best, 255 + len(merges)) for word in words]
    return merges


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab c", min_size=6, max_size=40).map(lambda text: text * 2))
@example(SMALL)
def test_the_pairs_of_any_text_are_those_of_counting_again(text):
    count = 150 if text == SMALL else 6
    try:
        merges = train_bpe(text, count)
    except ValueError:  # no pair occurs twice
        return
    assert merges == recounted(text, count)


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_every_text_comes_back(pairs, text):
    assert pairs.decode(pairs.encode(text)) == text
    if text:
        letters = CharacterTokenizer(text)
        assert letters.decode(letters.encode(text)) == text


def test_a_text_is_split_as_if_its_pairs_were_joined_one_after_the_other(pairs):
    for word in set(WORD.findall(SMALL.encode())):
        numbers = list(word)
        for i, pair in enumerate(pairs.merges):
            numbers = merge_pair(numbers, pair, 256 + i)
        assert pairs.encode(word.decode()).tolist() == numbers


def test_no_token_reaches_across_words(pairs):
    assert all(map(WORD.fullmatch, pairs.symbols[256:]))


def test_tokens_are_integers_of_64_bits(pairs):
    for tokens in (pairs, CharacterTokenizer(SMALL)):
        assert tokens.encode(SMALL).dtype == torch.int64
        assert tokens.encode("").shape == (0,)
        assert tokens.encode(SMALL).max() < len(tokens)
        assert tokens.decode(tokens.encode(SMALL).tolist()) == SMALL


def test_half_a_character_is_replaced(pairs):
    assert pairs.decode([195]) == "�"  # the first of two bytes of é


@pytest.mark.parametrize("seed", ["0", "1"])
def test_the_order_of_sets_does_not_matter(seed):
    """Sets of bytes have another order in each process."""
    code = (
        "from selfattn_book.tokens import *; from selfattn_book.experiments.text import *;"
        "print(train_bpe(load_text('jonah'), 150))"
    )
    environment = os.environ | {"PYTHONHASHSEED": seed}
    found = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert found.strip() == str(train_bpe(SMALL, 150))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: CharacterTokenizer(b"ab"), TypeError, "text must be a string; got bytes"),
        (lambda: CharacterTokenizer("ab").encode(3), TypeError, "must be a string; got int"),
        (lambda: CharacterTokenizer("ab").encode("abcad"), ValueError, "got 'c', 'd'$"),
        (lambda: CharacterTokenizer("ab").decode([-1]), ValueError, "from 0 to 1; got -1"),
        (lambda: CharacterTokenizer("ab").decode([1.0]), ValueError, "from 0 to 1; got 1.0"),
        (lambda: BPETokenizer([]).encode(None), TypeError, "got NoneType"),
        (lambda: CharacterTokenizer("a\ud800"), ValueError, r"lone surrogate; got '\\ud800' at po"),
        (lambda: CharacterTokenizer("ab").encode("\udfff"), ValueError, "surrogate.* position 0"),
        (lambda: BPETokenizer([]).encode("ab\ud800c"), ValueError, "surrogate.* position 2"),
        (lambda: train_bpe("\ud800" * 4, 1), ValueError, "lone surrogate.* position 0"),
        (lambda: BPETokenizer([]).decode([True]), ValueError, "from 0 to 255; got True"),
        (lambda: BPETokenizer([(0, 1), (257, 0)]), ValueError, "pair 1.*0 to 256"),
        (lambda: train_bpe(None, 1), TypeError, "must be a string; got NoneType"),
        (lambda: train_bpe("abab", -1), ValueError, "at least 0; got -1"),
        (lambda: train_bpe("abab", 1.0), TypeError, "must be an integer"),
        (lambda: train_bpe("abc", 1), ValueError, "at most 0, since.*; got 1"),
        (lambda: train_bpe("abab", 2), ValueError, "at most 1, since.*; got 2"),
        (lambda: CharacterTokenizer(""), ValueError, "text must not be empty; got ''"),
    ],
)
def test_other_texts_and_tokens_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
