"""Random states of the live language model, and what the package computes of random texts."""

import random
from functools import cache

import torch

from selfattn_book.experiments.model_file import load_bundled_model
from selfattn_book.experiments.portable_sampling import continue_text
from selfattn_book.experiments.text import load_text
from selfattn_book.figures.generated_text import generated_text

SYMBOLS = [*map(chr, (*range(32, 127), 10)), *"éß世界🙂—\ufeff"]
PLAIN = {"text": "And", "written": 0, "seed": 1, "temperature": 1, "k": 0, "p": 0}
PLAIN |= {"block": 0, "head": 0, "back": 0}


@cache
def model_and_tokenizer():
    model, tokenizer, _ = load_bundled_model()
    return model.double(), tokenizer


def below(limit, chance):
    return int(torch.randint(limit, (), generator=chance))


def random_text(chance, most=160):
    """Return a piece of the stories, or random characters of several scripts."""
    length = 1 + below(most, chance)
    if below(3, chance):
        stories = load_text("stories")
        start = below(len(stories) - length, chance)
        return stories[start : start + length]
    return "".join(SYMBOLS[below(len(SYMBOLS), chance)] for _ in range(length))


def random_settings(chance):
    top_k = (None, 1, 5, 40)[below(4, chance)]
    top_p = (None, 0.1, 0.5, 0.95)[below(4, chance)]
    return {"temperature": (1 + below(20, chance)) / 10, "top_k": top_k, "top_p": top_p}


def a_text_that_is_written(chance):
    model, tokenizer = model_and_tokenizer()
    text, settings = random_text(chance) if below(9, chance) else "", random_settings(chance)
    count, seed = below(12, chance), 1 + below(9999, chance)
    written = continue_text(model, tokenizer, text, count, seed=seed, **settings)
    tokens = len(tokenizer.encode(text or "\n")) + count
    back = below(min(tokens, model.context_length), chance)
    head = below(2, chance), below(4, chance)
    look = {"settings": settings, "seed": seed, "head": head, "back": back}
    return generated_text(model, tokenizer, text, written, **look)


def written_texts(chance):
    model, tokenizer = model_and_tokenizer()
    text, block, head = random_text(chance, 60), below(2, chance), below(4, chance)
    tokens = tokenizer.encode(text)[-model.context_length :]
    with torch.inference_mode():
        states, weights = model.hidden_states(tokens[None])
        probabilities = model.unembedding(states[0, -1]).softmax(-1)
    first = max(0, len(tokenizer.encode(text)) - model.context_length)
    own = torch.cat([torch.zeros(first), weights[block][0, head, -1]])
    rest = 1 - probabilities.topk(8).values.sum()
    state = PLAIN | {"text": text, "block": block, "head": head}
    return state, {"words": {"weights": own}, "next": {"rest": rest}}


def random_strings(count):
    """Return texts, of which half are pieces of the stories."""
    chance = torch.Generator().manual_seed(0)
    return [random_text(chance, 120) for _ in range(count)]


def random_tokens(count, vocabulary, most):
    chance = random.Random(0)
    return [chance.choices(range(vocabulary), k=chance.randint(1, most)) for _ in range(count)]
