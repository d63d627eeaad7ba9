"""The live figure of decoding: random drawings, and the work that the package does."""

import torch

from selfattn_book.cache import KeyValueCache
from selfattn_book.figures.decoding_work import decoding_work
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention


def a_step(chance):
    """Draw a step, with or without a cache, of random points and weights."""
    points = torch.randn(7, 2, generator=chance).double()
    weights = torch.rand(6, 6, generator=chance).double().tril()
    given, cached, share = torch.randint(99, (3,), generator=chance).tolist()
    given = 1 + given % 3
    step = 1 + share % (6 - given + 1)
    return decoding_work(points, weights, step, given=given, cached=cached % 2 == 0)


def counted_work(chance):
    """Count the keys and scores that an attention module computes up to a step."""
    given, step, cached = (torch.randint(3, (3,), generator=chance) + 1).tolist()
    counts = {"keys": [0, 0], "scores": [0, 0]}
    for i, cache in enumerate((KeyValueCache(), None)):
        module = MultiHeadAttention(4, 1)
        module.project_key.register_forward_hook(_adds(counts["keys"], i, lambda k: k.size(1)))
        module.register_forward_hook(_adds(counts["scores"], i, lambda out: out[1].numel()))
        x = torch.randn(1, given, 4, generator=chance)
        for _ in range(step):
            new = x[:, len(cache) :] if cache is not None else x
            output, _ = module(new, new, new, causal_mask(new.size(1), x.size(1)), cache=cache)
            x = torch.cat([x, output[:, -1:]], dim=1)
    points = torch.randn(7, 2).tolist()
    state = {"points": points, "outputs": points[1:], "weights": torch.eye(6).tolist()}
    state |= {"given": given, "step": step, "cached": cached > 1}
    return state, {name: [*count, state["cached"]] for name, count in counts.items()}


def _adds(counts, way, size):
    """Return a hook that adds to a count the size of an output."""

    def add(module, inputs, output):
        counts[way] += size(output)

    return add
