"""The texts that ship, the windows that are drawn from them, and how surprise is measured."""

import hashlib
import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from selfattn_book.experiments import text as texts
from selfattn_book.experiments.ngrams import NGrams
from selfattn_book.experiments.text import (
    DATA,
    DIGESTS,
    Windows,
    next_token_loss,
    nine_tenths,
    surprisal,
    text_of,
)
from selfattn_book.language import decoder_only


@pytest.mark.parametrize("name", DIGESTS)
def test_a_text_has_its_digest_and_its_provenance(name):
    content = (DATA / f"{name}.txt").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    message = (DATA / "README.md").read_text("utf-8")
    assert digest == DIGESTS[name]
    assert f"| `{name}.txt` |" in message
    assert digest in message
    assert f"{len(content):,}" in message
    assert len(content) <= 400_000


def test_the_legend_of_the_source_is_kept():
    message = (DATA / "README.md").read_text("utf-8")
    assert "This file is provided for unrestricted use provided that this\n> legend" in message


def test_a_text_that_has_been_changed_is_refused(tmp_path, monkeypatch):
    (tmp_path / "jonah.txt").write_text(text_of("jonah").replace("LORD", "lord"))
    monkeypatch.setattr(texts, "DATA", tmp_path)
    with pytest.raises(ValueError, match=r"jonah.txt must have the digest e64a.*; got"):
        text_of("jonah")


def test_what_is_held_out_is_the_end():
    learned, held = nine_tenths(text_of("stories"))
    assert learned + held == text_of("stories")
    assert round(len(held) / len(learned + held), 3) == 0.1


def test_windows_are_pieces_of_the_text_each_as_likely():
    windows = Windows(torch.arange(9), length=4, batch_size=500, steps=2)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        batches = list(windows)
    assert len(batches) == len(windows) == 2
    for tokens, following in batches:
        assert torch.equal(tokens + 1, following)
        assert torch.equal(tokens.diff(), torch.ones(500, 3, dtype=torch.int64))
        counted = tokens[:, 0].bincount()
        assert len(counted) == 5  # 0 to 4 can begin a window, and its end is the text's
        assert counted.min() > 60
    assert following.max() == 8


def test_the_loss_is_a_mean_of_negative_logarithms():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 5, 7, generator=generator).double()
    following = torch.randint(7, (3, 5), generator=generator)
    total = 0.0
    for b in range(3):
        for t in range(5):
            row = logits[b, t].exp()
            total -= math.log(row[following[b, t]] / row.sum())
    loss = next_token_loss(logits, following)
    assert math.isclose(loss.item(), total / 15, rel_tol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.integers(0, 6), st.integers(1, 30))
def test_each_token_is_predicted_once_from_half_a_window_or_more(length, more, count):
    torch.manual_seed(0)
    model = decoder_only(11, d_model=6, num_layers=1, num_heads=2, context_length=9).double()
    first = length + more
    tokens = torch.randint(11, (first + count,))
    found = surprisal(model, tokens, first, length=length)
    assert found.shape == (count,)
    step = length - length // 2
    for i in range(count):
        # As many tokens stand before it in its window.
        before = length // 2 + 1 + i % step
        seen = tokens[first + i - before : first + i]
        with torch.no_grad():
            row = model(seen[None])[0, -1].log_softmax(-1)
        assert math.isclose(found[i], -row[tokens[first + i]], rel_tol=1e-9)


def test_a_model_is_left_in_its_mode():
    model = decoder_only(11, d_model=6, num_layers=1, num_heads=2, context_length=9, dropout=0.5)
    tokens = torch.arange(30) % 11
    assert torch.equal(surprisal(model, tokens, 9, length=9), surprisal(model, tokens, 9, length=9))
    assert model.training


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: Windows(torch.arange(9), length=0, batch_size=1, steps=1),
            "length",
        ),
        (
            lambda: Windows(torch.arange(9), length=1, batch_size=0, steps=1),
            "batch_size",
        ),
        (
            lambda: Windows(torch.arange(9), length=1, batch_size=1, steps=0),
            "steps",
        ),
        (
            lambda: surprisal(None, torch.arange(9), 9, length=4),
            "to the last token, 8; got 9",
        ),
    ],
)
def test_sizes_are_asked_for(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def counted_by_definition(tokens, history, v, vocabulary):
    """Witten and Bell's way, from the equation and by search."""
    if history is None:
        return 1 / vocabulary
    n = len(history)
    followers = Counter(
        tokens[i + n] for i in range(len(tokens) - n) if tokens[i : i + n] == history
    )
    shorter = counted_by_definition(tokens, history[1:] if history else None, v, vocabulary)
    if not followers:
        return shorter
    kinds, total = len(followers), sum(followers.values())
    return (followers[v] + kinds * shorter) / (total + kinds)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=20),
    st.lists(st.integers(0, 3), min_size=0, max_size=5),
    st.integers(1, 4),
)
def test_counts_are_those_of_the_equation(tokens, history, order):
    counts = NGrams(tokens, vocabulary=4, order=4)
    last = history[-(order - 1) :] if order > 1 else []
    expected = [counted_by_definition(tokens, last, v, 4) for v in range(4)]
    found = counts.distribution(history, order=order)
    torch.testing.assert_close(found, torch.tensor(expected), rtol=1e-5, atol=1e-7)
    assert math.isclose(found.sum(), 1, rel_tol=1e-6)
    for v in range(4):
        nats = counts.surprisal([*history, v], len(history), order=order)
        assert math.isclose(nats.item(), -math.log(expected[v]), rel_tol=1e-5)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: NGrams([0], vocabulary=0, order=1),
            "vocabulary must be at least 1",
        ),
        (lambda: NGrams([0], vocabulary=1, order=0), "order must be at least 1"),
        (lambda: NGrams([-1], vocabulary=1, order=1), "from 0 to 0; got -1"),
        (
            lambda: NGrams([0], vocabulary=1, order=1).distribution([1]),
            "0 to 0; got 1",
        ),
        (
            lambda: NGrams([0], vocabulary=1, order=1).surprisal([0], order=2),
            "order must be at most 1; got 2",
        ),
        (
            lambda: NGrams([0], vocabulary=1, order=1).surprisal([0], first=-1),
            "first must be at least 0",
        ),
    ],
)
def test_counts_ask_for_what_they_need(call, said):
    with pytest.raises(ValueError, match=said):
        call()
