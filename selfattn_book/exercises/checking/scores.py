"""Misconceptions about scores and weights that exercises on attention have in common."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

# They divide before they multiply, so that they fail in 16 bits only where answers do.
SCORES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "The scores are not divided by the root of the dimension.": lambda q, k: q @ k.mT,
    "The scores are divided by the dimension, not by its root.": lambda q, k: q / q.size(-1) @ k.mT,
    "The scores are multiplied by the root, not divided.": (
        lambda q, k: q * q.size(-1) ** 0.5 @ k.mT
    ),
    "The root was taken twice.": lambda q, k: q / q.size(-1) ** 0.25 @ k.mT,
    "The sign is wrong: the larger a dot product, the smaller is the weight.": (
        lambda q, k: -q @ k.mT / q.size(-1) ** 0.5
    ),
    "The scores are cosines: queries and keys lost their lengths.": (
        lambda q, k: F.normalize(q) @ F.normalize(k).mT
    ),
    "The scores are distances, where dot products are meant.": lambda q, k: -torch.cdist(q, k),
    "The scores are squared distances, where dot products are meant.": (
        lambda q, k: -torch.cdist(q, k).square()
    ),
    "The dot products were squared.": lambda q, k: (q @ k.mT).square(),
    "The dot products lost their signs.": lambda q, k: (q @ k.mT).abs() / q.size(-1) ** 0.5,
}
WEIGHTS: dict[str, Callable[[Tensor], Tensor]] = {
    "The exponentials are not divided by their sum.": torch.exp,
    "These are scores: the softmax is missing.": lambda scores: scores,
    "These are logarithms of weights.": lambda scores: scores.log_softmax(-1),
    "The scores themselves were divided by their sum: exponentials come first.": (
        lambda scores: scores / scores.sum(-1, keepdim=True)
    ),
    "Each query attends to one key alone: a softmax is no argmax.": (
        lambda scores: F.one_hot(scores.argmax(-1), scores.size(-1)).to(scores)
    ),
}
OF_SEVERAL_QUERIES: dict[str, Callable[[Tensor], Tensor]] = {
    "The softmax runs along the queries: each row must sum to one.": lambda s: s.softmax(0),
    "The softmax runs over the whole table: each row must sum to one.": (
        lambda scores: scores.flatten().softmax(0).view_as(scores)
    ),
    "A causal mask was applied, but the task has no mask.": (
        lambda s: s.masked_fill(torch.ones_like(s).triu(1) > 0, -torch.inf).softmax(-1)
    ),
}


def misconceptions(attention: Callable[..., Any], several: bool = True) -> dict[str, Any]:
    """Return attention with each wrong ``scores``, and with each wrong ``weigh``, by its sentence."""
    weights = WEIGHTS | (OF_SEVERAL_QUERIES if several else {})
    return {sentence: attention(scores=wrong) for sentence, wrong in SCORES.items()} | {
        sentence: attention(weigh=wrong) for sentence, wrong in weights.items()
    }
