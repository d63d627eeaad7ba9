"""GPT-2's tokens: what comes back, what is cut where, and files that are none."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_book.experiments.tiny_models import tiny_model
from selfattn_book.pretrained.tokenizer import (
    END,
    GPT2Tokenizer,
    letters,
    pieces,
    read_tokenizer,
)

BYTES = {letter: number for number, letter in enumerate(letters())}
TINY = read_tokenizer(tiny_model("tiny-gpt2"))


def kind(letter):
    if letter.isspace() and not "\x1c" <= letter <= "\x1f":
        return "space"
    return {"L": "letter", "N": "number"}.get(
        unicodedata.category(letter)[0], "sign"
    )


@given(st.text())
def test_every_text_comes_back(text):
    assert TINY.decode(TINY.encode(text)) == text
    assert "".join(pieces(text)) == text


@given(st.text(alphabet=" \n\tabé'st1٣½漢.!_\x1c\xa0\u2003", max_size=30))
def test_a_piece_is_of_one_kind_with_at_most_one_space_before_it(text):
    for piece in pieces(text):
        if piece in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d"):
            continue
        body = piece[1:] if piece[0] == " " and len(piece) > 1 else piece
        assert len({kind(letter) for letter in body}) == 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("don't we'll I'VE", ["don", "'t", " we", "'ll", " I", "'", "VE"]),
        ("a  b", ["a", " ", " b"]),
        ("a   ", ["a", "   "]),
        ("a \n b", ["a", " \n", " b"]),
        ("a\nb", ["a", "\n", "b"]),
        (" \t1²Ⅷ٣", [" ", "\t", "1²Ⅷ٣"]),
        ("été漢字ß", ["été漢字ß"]),
        ("x_y", ["x", "_", "y"]),
        ("'s's'sx", ["'s", "'s", "'s", "x"]),
        (" '", [" '"]),
        ("", []),
    ],
)
def test_a_text_is_cut_as_the_pattern_says(text, wanted):
    assert list(pieces(text)) == wanted


def test_the_first_pair_of_the_list_is_merged_first():
    vocabulary = dict(BYTES)
    for token in ("ab", "bc", "abc", "aa", "aaa"):
        vocabulary[token] = len(vocabulary)
    merges = [("b", "c"), ("a", "b"), ("a", "bc"), ("a", "a"), ("aa", "a")]
    tokenizer = GPT2Tokenizer(vocabulary, merges)

    def cut(text):
        return [tokenizer.decode([token]) for token in tokenizer.encode(text)]

    assert cut("abc") == ["abc"]
    assert cut("abb") == ["ab", "b"]
    assert cut("aaaa") == ["aa", "aa"]
    assert cut("aaaaa") == ["aa", "aaa"]


def test_bytes_that_are_no_letter_are_shown_as_such():
    first, *_ = TINY.encode("é")
    assert TINY.decode([first]) == "\N{REPLACEMENT CHARACTER}"


def test_the_end_of_a_text_is_a_token_and_its_letters_are_letters():
    assert TINY.decode([TINY.end]) == END
    assert TINY.end not in TINY.encode(f"a{END}b")
    assert TINY.decode(TINY.encode(f"a{END}b")) == f"a{END}b"
    assert GPT2Tokenizer(BYTES, []).end is None


def test_a_token_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"tokens must be 0 to 255; got 256"):
        GPT2Tokenizer(BYTES, []).decode([3, 256])
    with pytest.raises(UnicodeEncodeError):
        TINY.encode("\ud800")


@pytest.mark.parametrize(
    ("vocabulary", "merges", "told"),
    [
        (BYTES | {"ab": 300}, [], "numbered from 0, each number once"),
        (BYTES | {"ab": 3}, [], "numbered from 0, each number once"),
        (BYTES | {"ab": "x"}, [], "numbered from 0"),
        (BYTES | {"ab": 256.0}, [], "numbered from 0"),
        ({}, [], "numbered from 0"),
        ({"a": 0}, [], "each byte must have a token"),
        (BYTES | {"a b": 256}, [], "written in the letters that stand for bytes"),
        (
            BYTES,
            [("a", "b")],
            "both of a pair, and what they become.* 'ab' is none",
        ),
    ],
)
def test_a_vocabulary_that_is_none_is_refused(vocabulary, merges, told):
    with pytest.raises(ValueError, match=told):
        GPT2Tokenizer(vocabulary, merges)


@pytest.mark.parametrize(
    ("vocabulary", "merges", "error", "told"),
    [
        (None, "", FileNotFoundError, "vocab.json must lie in"),
        (json.dumps(BYTES), None, FileNotFoundError, "merges.txt must lie in"),
        ("{", "", ValueError, "vocab.json must be JSON"),
        ("[1]", "", ValueError, "must hold names and values; got list"),
        (json.dumps(BYTES), "a b c", ValueError, "two tokens .* got 'a b c'"),
        (json.dumps(BYTES), "ab", ValueError, "two tokens .* got 'ab'"),
    ],
)
def test_files_that_are_none_are_refused(tmp_path, vocabulary, merges, error, told):
    for name, text in (("vocab.json", vocabulary), ("merges.txt", merges)):
        if text is not None:
            (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(error, match=told):
        read_tokenizer(tmp_path)


def test_only_a_first_line_is_a_remark(tmp_path):
    vocabulary = BYTES | {"##": 256, "###": 257}
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\n# #\n## #\n", "utf-8")
    assert read_tokenizer(tmp_path).encode("###") == [257]
