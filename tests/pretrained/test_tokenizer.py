"""GPT-2's tokenizer: round trips, merges, the end-of-text token, and files that are refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import ByteLevel

from selfattn_book.experiments.tiny_models import tiny_model
from selfattn_book.pretrained.tokenizer import END, read_tokenizer

BYTES = {byte: number for number, byte in enumerate(sorted(ByteLevel.alphabet()))}
TINY = read_tokenizer(tiny_model("tiny-gpt2"))


@given(st.text())
def test_every_text_is_recovered_from_its_tokens(text):
    assert TINY.decode(TINY.encode(text).ids, skip_special_tokens=False) == text


def files(folder, vocabulary, merges):
    for name, text in (("vocab.json", vocabulary), ("merges.txt", merges)):
        if text is not None:
            text = text if isinstance(text, str) else json.dumps(text)
            (folder / name).write_text(text, "utf-8")
    return folder


def test_the_first_merge_of_the_list_comes_first(tmp_path):
    tokens = dict.fromkeys(("ab", "bc", "abc", "aa", "aaa", "##", "###"))
    vocabulary = BYTES | {token: 256 + i for i, token in enumerate(tokens)}
    merges = "#version: 0.2\nb c\na b\na bc\na a\naa a\n# #\n## #\n"
    tokenizer = read_tokenizer(files(tmp_path, vocabulary, merges))
    cases = {"abc": ["abc"], "abb": ["ab", "b"], "aaaaa": ["aa", "aaa"], "###": ["###"]}
    assert {text: tokenizer.encode(text).tokens for text in cases} == cases
    assert tokenizer.token_to_id(END) is None


def test_the_end_of_text_is_one_token_within_a_text():
    end = TINY.token_to_id(END)
    tokens = TINY.encode(f"a{END}b").ids
    assert (len(tokens), tokens[1]) == (3, end)
    assert TINY.decode(tokens) == "ab"


@pytest.mark.parametrize(
    ("vocabulary", "merges", "error", "message"),
    [
        (None, "", FileNotFoundError, "vocab.json must be a file in"),
        (BYTES, None, FileNotFoundError, "merges.txt must be a file in"),
        ("{", "", ValueError, "must be a BPE tokenizer; .*EOF"),
        ([1], "", ValueError, "must be a BPE tokenizer"),
        ('{"a":' * 30000, "", ValueError, "must be a BPE tokenizer"),
        (BYTES, "a b c", ValueError, "must be a BPE tokenizer; .*line 1"),
        (BYTES, "a b", ValueError, "must be a BPE tokenizer; .*ab"),
        (BYTES | {"ab": 300}, "", ValueError, "token ids must be 0 to 256, each once"),
        ({"a": 0}, "", ValueError, "each byte must have a token; got none for"),
    ],
)
def test_files_that_are_not_a_tokenizer_are_refused(tmp_path, vocabulary, merges, error, message):
    with pytest.raises(error, match=message):
        read_tokenizer(files(tmp_path, vocabulary, merges))
