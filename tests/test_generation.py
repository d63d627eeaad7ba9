"""Choosing the next token, by definition, and continuing a text, with caches and without."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from selfattn_book.generation import generate, make_sampler, next_token_distribution
from selfattn_book.language import LanguageModel, decoder_only

V, CONTEXT = 13, 9
REAL = torch.tensor([[True, True, True, False]])
rows = st.lists(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0, 40.0]), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def model(randomized):
    sizes = {"d_model": 10, "num_layers": 2, "num_heads": 5, "context_length": CONTEXT}
    return randomized(decoder_only(V, **sizes), std=1.0)


def prompt(*shape, seed=1):
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(seed))


def by_definition(logits, temperature, top_k, top_p):
    """The same with loops over lists, and a softmax at the end of each step."""
    scores = [value / temperature for value in logits]
    left = sorted(range(len(scores)), key=lambda v: (-scores[v], v))  # of ties, the lowest index
    left = left[:top_k]
    if top_p is not None:
        sums = softmax([scores[v] for v in left]).cumsum(0).tolist()
        left = [v for v, before in zip(left, [0.0, *sums], strict=False) if before < top_p]
    answer = torch.zeros(len(logits), dtype=torch.float64)
    answer[left] = softmax([scores[v] for v in left])
    return answer


def softmax(scores):
    return torch.tensor(scores, dtype=torch.float64).softmax(0)


@settings(max_examples=300, deadline=None)
@given(
    rows,
    st.sampled_from([0.1, 0.5, 1.0, 3.0]),
    st.none() | st.integers(1, 8),
    st.none() | st.sampled_from([0.05, 0.31, 0.5, 0.77, 0.999, 1.0]),
)
def test_it_is_the_definition_with_ties(logits, temperature, top_k, top_p):
    top_k = None if top_k is None else min(top_k, len(logits))
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    found = next_token_distribution(torch.tensor([logits], dtype=torch.float64), **options)[0]
    torch.testing.assert_close(found, by_definition(logits, **options), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("temperature", [1e-300, 1e-38, 1e-4, 1.0, 1e4, 1e300])
def test_any_temperature_gives_a_distribution(dtype, temperature):
    logits = torch.tensor([[3.0, -torch.inf, 2.0, 3.0], [60.0, 59.0, -60.0, 0.0]], dtype=dtype)
    for options in ({}, {"top_k": 3}, {"top_p": 0.9}):
        found = next_token_distribution(logits, temperature=temperature, **options)
        assert found.dtype == torch.promote_types(dtype, torch.float32)
        torch.testing.assert_close(found.sum(-1), torch.ones_like(found[:, 0]))
        assert found[0, 1] == 0
    if temperature <= 1e-4:
        cold = next_token_distribution(logits, temperature=temperature)
        assert cold.tolist() == [[0.5, 0, 0, 0.5], [1, 0, 0, 0]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_top_p_keeps_the_same_tokens_in_half_precision(dtype):
    for seed in range(20):
        logits = torch.randn(999, generator=torch.Generator().manual_seed(seed)).to(dtype)
        found, precise = (next_token_distribution(x, top_p=0.9) for x in (logits, logits.double()))
        assert torch.equal(found > 0, precise > 0)


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_logits_that_give_no_distribution_are_refused(wrong):
    logits = torch.zeros(2, 4)
    for row, found in ((torch.tensor([0, 0, wrong, 0]), wrong), (-torch.inf, -torch.inf)):
        logits[1] = row
        message = f"logits must be finite, or -inf .* got a row with maximum {found}"
        with pytest.raises(ValueError, match=message):
            next_token_distribution(logits, top_k=2)


def test_rows_do_not_see_each_other():
    logits = torch.randn(15, V, generator=torch.Generator().manual_seed(0))
    options = {"temperature": 0.7, "top_k": 5, "top_p": 0.8}
    together = next_token_distribution(logits.view(3, 5, V), **options)
    alone = torch.stack([next_token_distribution(row, **options) for row in logits])
    torch.testing.assert_close(together, alone.view(3, 5, V))


def test_samples_follow_the_distribution():
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log().expand(20_000, 4)
    sample = make_sampler(torch.Generator().manual_seed(0), top_k=3)
    frequencies = sample(logits).bincount(minlength=4) / 20_000
    expected = torch.tensor([0.5, 0.3, 0.15, 0.0]) / 0.95
    torch.testing.assert_close(frequencies, expected, rtol=0, atol=0.02)
    assert frequencies[3] == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"temperature": 0}, ValueError, "temperature must be above 0, and finite; got 0"),
        ({"top_k": 0}, ValueError, "top_k must be at least 1; got 0"),
        ({"top_k": V + 1}, ValueError, "at most the vocabulary, 13; got 14"),
        ({"top_p": 0}, ValueError, "top_p must be above 0 and at most 1; got 0"),
        ({"top_p": 1.1}, ValueError, "top_p must be above 0 and at most 1; got 1.1"),
        ({"top_p": True}, TypeError, "top_p must be a number"),
        ({"logits": torch.zeros(V).long()}, TypeError, "logits must be a floating-point tensor"),
    ],
)
def test_options_out_of_range_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        next_token_distribution(**{"logits": torch.zeros(V)} | options)


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("length", [4, 2 * CONTEXT])
def test_each_token_is_the_choice_from_the_last_context_of_tokens(model, length, cached):
    tokens = generate(model, prompt(2, length), 14, cached=cached)
    assert tokens.shape == (2, length + 14)
    assert torch.equal(tokens[:, :length], generate(model, prompt(2, length), 0))
    for t in range(length, length + 14):
        seen = tokens[:, max(0, t - CONTEXT) : t]
        assert torch.equal(tokens[:, t], model(seen)[:, -1].argmax(-1))


def test_without_a_limit_the_caches_go_on(model):
    bare = LanguageModel(model.embedding, model.blocks, model.norm)
    ways = [generate(bare, prompt(2, 4), 2 * CONTEXT, cached=cached) for cached in (True, False)]
    assert torch.equal(*ways)


@pytest.mark.parametrize("limit", [None, CONTEXT])
def test_caches_are_used_while_the_tokens_fit(model, limit):
    if limit is None:
        model = LanguageModel(model.embedding, model.blocks[:1], model.norm)
    seen = []
    with model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].size(1))):
        for options in ({}, {"cached": False}):
            generate(model, prompt(2, 4), 7, **options)
    assert seen == [4, 1, 1, 1, 1, 1, 1 if limit is None else 9, *range(4, 10), limit or 10]


@pytest.mark.parametrize("eos_tokens", [[0], [1, 7], [5, 2], [12]])
def test_it_stops_when_each_row_has_added_an_end(model, eos_tokens):
    def sampled(**options):
        select = make_sampler(torch.Generator().manual_seed(0), temperature=5.0)
        return generate(model, prompt(3, 4), 20, select=select, **options)

    whole = sampled()
    rows = [[token in eos_tokens for token in row] for row in whole[:, 4:].tolist()]
    ends = [row.index(True) if any(row) else 19 for row in rows]
    for row, end in zip(whole, ends, strict=True):
        row[4 + end + 1 :] = row[4 + end]  # an ended text repeats its last token
    assert torch.equal(sampled(eos_tokens=eos_tokens), whole[:, : 4 + max(ends) + 1])


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("length", [3, 12])
def test_rows_padded_on_the_left_are_rows_alone(model, cached, length):
    tokens = prompt(3, 6)
    real = torch.ones(3, 6, dtype=torch.bool)
    real[1, :5] = real[2, :1] = False
    together = generate(model, tokens, length, padding_mask=real, cached=cached)
    again = generate(model, tokens, length, padding_mask=real[:, None, None], cached=cached)
    assert torch.equal(again, together)
    if 6 + length <= CONTEXT:
        for row in range(3):
            alone = generate(model, tokens[row][real[row]][None], length)
            assert torch.equal(together[row, -length:], alone[0, -length:])
    assert together.shape == (3, 6 + length)


@pytest.mark.parametrize(
    ("tokens", "length", "options", "error", "message"),
    [
        (prompt(2, 0), 3, {}, ValueError, r"at least one token; got \(2, 0\)"),
        (prompt(2, 3) + V, 0, {}, ValueError, "tokens must hold tokens from 0 to 12"),
        (prompt(2, 3).double(), 0, {}, TypeError, "tokens must be an integer tensor"),
        (prompt(2, 3), -1, {}, ValueError, "max_new_tokens must be at least 0; got -1"),
        (prompt(1, 3), 3, {"padding_mask": REAL[:, 1:]}, ValueError, "last .*; got False in row 0"),
        (prompt(1, 3), 3, {"padding_mask": REAL[:, :2]}, ValueError, r"got shape \(1, 2\)"),
        (prompt(1, 4), 3, {"padding_mask": REAL.int()}, TypeError, "padding_mask must be a bool"),
    ],
)
def test_prompts_are_refused(model, tokens, length, options, error, message):
    with pytest.raises(error, match=message):
        generate(model, tokens, length, **options)


def test_a_model_can_be_trained_on_generated_tokens(model):
    tokens = generate(model, prompt(1, 2), 5)
    model(tokens).sum().backward()
    assert model.embedding.weight.grad.isfinite().all()
