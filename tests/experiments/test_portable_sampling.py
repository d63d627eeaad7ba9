"""Samples that are the same on every machine."""

import torch

from selfattn_book.experiments.model_file import load_bundled_model
from selfattn_book.experiments.portable_sampling import continue_text, draw, uniform
from selfattn_book.generation import generate, next_token_distribution


def test_the_random_numbers_are_uniform_and_independent():
    numbers = torch.tensor([[uniform(s, t) for t in range(200)] for s in range(200)]).double()
    assert numbers.min() >= 0
    assert numbers.max() < 1
    counts = torch.histc(numbers, 20, 0, 1) / numbers.numel()
    assert (counts - 1 / 20).abs().max() < 0.005
    centered = (numbers - numbers.mean()) / numbers.std()
    for neighbor in (centered[1:] * centered[:-1], centered[:, 1:] * centered[:, :-1]):
        assert neighbor.mean().abs() < 0.02
    assert numbers.unique().numel() > 0.99 * numbers.numel()


def test_a_random_number_draws_each_token_with_its_probability():
    p = torch.tensor([0.1, 0.0, 0.4, 0.3, 0.2], dtype=torch.float64)
    us = (torch.arange(1000).double() + 0.5) / 1000
    counts = torch.tensor([draw(p, u) for u in us.tolist()]).bincount(minlength=5)
    assert counts.tolist() == [100, 0, 400, 300, 200]


def test_rounding_draws_no_token_without_probability():
    p = torch.tensor([0.0, 1 / 3, 1 / 3, 1 / 3 - 1e-9], dtype=torch.float64)
    assert draw(p, 1 - 2**-53) == 3
    assert draw(torch.tensor([0.5, 0.5]), 0.5) == 1


def test_a_text_is_sampled_from_the_distribution_of_the_model_in_float64():
    model, tokenizer, _ = load_bundled_model()
    text, settings = "And it came", {"temperature": 1.3, "top_k": 30, "top_p": 0.9}
    tokens = tokenizer.encode(text).tolist()
    exact = load_bundled_model()[0].double()
    for step in range(5):
        with torch.no_grad():
            p = next_token_distribution(exact(torch.tensor([tokens]))[0, -1], **settings)
        tokens.append(draw(p, uniform(4, step)))
    start = len(tokens) - 5
    assert continue_text(model, tokenizer, text, 5, seed=4, **settings) == tokens[start:]
    assert next(model.parameters()).dtype == torch.float32


def test_top_k_of_one_is_greedy_and_an_empty_text_begins_a_line():
    model, tokenizer, _ = load_bundled_model()
    greedy = generate(model.double(), tokenizer.encode("\n")[None], 6)[0, 1:].tolist()
    assert continue_text(model, tokenizer, "", 6, top_k=1) == greedy
