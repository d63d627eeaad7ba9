"""Texts that ship with the book, random windows of them, and surprisal."""

import hashlib
import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from selfattn_book.experiments import text as texts
from selfattn_book.experiments.ngrams import KneserNey
from selfattn_book.experiments.text import (
    DATA,
    DIGESTS,
    Windows,
    load_text,
    next_token_loss,
    split_text,
    surprisal,
)
from selfattn_book.language import decoder_only


@pytest.mark.parametrize("name", ["stories", "jonah"])
def test_a_text_has_its_digest_and_its_provenance(name):
    content = (DATA / f"{name}.txt").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    readme = (DATA / "README.md").read_text("utf-8")
    assert digest == DIGESTS[name]
    assert all(fact in readme for fact in (f"| `{name}.txt` |", digest, f"{len(content):,}"))
    assert "This file is provided for unrestricted use provided that this\n> legend" in readme
    assert len(content) <= 400_000


def test_a_changed_text_is_refused(tmp_path, monkeypatch):
    (tmp_path / "jonah.txt").write_text(load_text("jonah").replace("LORD", "lord"))
    monkeypatch.setattr(texts, "DATA", tmp_path)
    with pytest.raises(ValueError, match=r"jonah.txt must have the digest e64a.*; got"):
        load_text("jonah")


def test_the_last_tenth_is_held_out():
    train, held_out = split_text(load_text("stories"))
    assert train + held_out == load_text("stories")
    assert round(len(held_out) / len(train + held_out), 3) == 0.1


def test_windows_are_uniform_pieces_of_the_text(seeded):
    windows = Windows(torch.arange(9), length=4, batch_size=500, steps=2)
    with seeded(0):
        batches = list(windows)
    assert len(batches) == len(windows) == 2
    for tokens, following in batches:
        assert torch.equal(tokens + 1, following)
        assert torch.equal(tokens.diff(), torch.ones(500, 3, dtype=torch.int64))
        counts = tokens[:, 0].bincount()
        assert len(counts) == 5  # 0 to 4 can begin a window
        assert counts.min() > 60
    assert following.max() == 8


def test_the_loss_is_a_mean_of_negative_logarithms(draw):
    logits = draw(3, 5, 7)
    following = torch.randint(7, (3, 5), generator=torch.Generator().manual_seed(0))
    expected = -logits.log_softmax(-1).gather(-1, following[..., None]).mean()
    torch.testing.assert_close(next_token_loss(logits, following), expected)


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
        before = length // 2 + 1 + i % step  # tokens before it in its window
        seen = tokens[first + i - before : first + i]
        with torch.no_grad():
            row = model(seen[None])[0, -1].log_softmax(-1)
        assert math.isclose(found[i], -row[tokens[first + i]], rel_tol=1e-9)


def test_surprisal_restores_the_training_mode_and_checks_its_range():
    model = decoder_only(11, d_model=6, num_layers=1, num_heads=2, context_length=9, dropout=0.5)
    tokens = torch.arange(30) % 11
    assert torch.equal(surprisal(model, tokens, 9, length=9), surprisal(model, tokens, 9, length=9))
    assert model.training
    for first in (8, 30):
        with pytest.raises(ValueError, match=f"from length, 9, to the last token, 29; got {first}"):
            surprisal(model, tokens, first, length=9)


def by_definition(tokens, history, v, longest):
    """Compute the Kneser-Ney estimate from the equation, by search."""
    n = len(history) + 1
    longer = n if longest else n + 1  # below the longest, count the tokens before each n-gram
    found = [tuple(tokens[i : i + longer]) for i in range(len(tokens) - longer + 1)]
    counts = Counter(found) if longest else Counter(gram[1:] for gram in set(found))
    kinds = [sum(count == i for count in counts.values()) for i in range(5)]
    y = kinds[1] / max(1, kinds[1] + 2 * kinds[2])
    discounts = [0, *(i - (i + 1) * y * kinds[i + 1] / max(1, kinds[i]) for i in (1, 2, 3))]
    discounts = [max(0, discount) for discount in discounts]
    shorter = by_definition(tokens, history[1:], v, longest=False) if history else 1 / 4
    after = {u: counts[*history, u] for u in range(4)}
    if not sum(after.values()):
        return shorter
    taken = {u: discounts[min(count, 3)] for u, count in after.items()}
    return (after[v] - taken[v] + sum(taken.values()) * shorter) / sum(after.values())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=5, max_size=30),
    st.lists(st.integers(0, 3), min_size=3, max_size=5),
    st.integers(1, 4),
)
def test_kneser_ney_follows_the_equation(tokens, history, order):
    counts = KneserNey(torch.tensor(tokens), vocab_size=4, order=order)
    last = tuple(history[len(history) - order + 1 :])
    expected = [by_definition(tokens, last, v, longest=True) for v in range(4)]
    torch.testing.assert_close(
        counts.distribution(history), torch.tensor(expected), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("order", [1, 2, 3])
def test_kneser_ney_is_a_distribution_and_agrees_with_its_surprisal(order: int) -> None:
    tokens = torch.randint(5, (200,), generator=torch.Generator().manual_seed(0))
    counts = KneserNey(tokens, vocab_size=7, order=order)
    for history in ([], [6], [0, 1], [3, 4, 2]):
        probabilities = counts.distribution(history)
        torch.testing.assert_close(probabilities.sum(), torch.tensor(1.0))
        assert probabilities.min() > 0
        nats = torch.stack([counts.surprisal([*history, v], len(history))[0] for v in range(7)])
        torch.testing.assert_close((-nats).exp(), probabilities)


def test_kneser_ney_counts_contexts_below_the_largest_order() -> None:
    """Token 1 is frequent, but only after 0; token 2 is rarer, after four different tokens."""
    tokens = [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 4, 2, 5, 2, 0]
    once, pairs = (KneserNey(tokens, vocab_size=7, order=n).distribution([6]) for n in (1, 2))
    assert once[2] < once[1]
    assert pairs[2] > pairs[1]  # after a new history
