"""Sample a text that is the same on every machine, with the random numbers of the book's live figure.

PyTorch's random numbers differ between versions and devices; `docs/live/sampling.ts` has these too.
"""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from selfattn_book.generation import generate, next_token_distribution
from selfattn_book.language import LanguageModel
from selfattn_book.tokens import BPETokenizer

WORD = 2**32


def uniform(seed: int, step: int) -> float:
    """Return a number from 0 to 1 for a step of a seed: a hash of both, mulberry32.

    Example:
        >>> [round(uniform(1, step), 3) for step in range(4)]
        [0.546, 0.46, 0.247, 0.519]
    """
    a = (seed * 0x9E3779B1 + (step + 1) * 0x6D2B79F5) % WORD
    t = (a ^ a >> 15) * (1 | a) % WORD
    t ^= (t + (t ^ t >> 7) * (61 | t)) % WORD
    return (t ^ t >> 14) / WORD


def draw(probabilities: Tensor, u: float) -> int:
    """Return the token at which the running sum, from the most probable token on, passes ``u``.

    Example:
        >>> [draw(torch.tensor([0.2, 0.5, 0.3]), u) for u in (0.0, 0.49, 0.6, 0.9)]
        [1, 1, 2, 0]
    """
    ordered, order = probabilities.sort(descending=True, stable=True)
    passed = int((ordered.cumsum(0) <= u).sum())
    return int(order[min(passed, int(probabilities.count_nonzero()) - 1)])


def continue_text(
    model: LanguageModel,
    tokenizer: BPETokenizer,
    text: str,
    count: int,
    *,
    seed: int = 1,
    **settings: Any,
) -> list[int]:
    """Return the tokens that a model adds to a text, computed in float64.

    An empty text begins with the end of a line. Settings are the options of
    :func:`.next_token_distribution`.

    Example:
        >>> from selfattn_book.experiments.model_file import load_bundled_model
        >>> model, tokenizer, _ = load_bundled_model()
        >>> tokenizer.decode(continue_text(model, tokenizer, "And God said", 8, top_k=1))
        ' unto him, I will not do this'
    """
    start, steps = tokenizer.encode(text or "\n"), iter(range(count))

    def select(logits: Tensor) -> Tensor:
        probabilities = next_token_distribution(logits[0], **settings)
        return torch.tensor([draw(probabilities, uniform(seed, next(steps)))])

    exact = deepcopy(model).double()
    return generate(exact, start[None], count, select=select)[0, len(start) :].tolist()
