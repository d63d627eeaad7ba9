"""Long texts: a whole one read at once, and one more token beside a long KV cache."""

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.attention import with_kernel
from benchmarks.contenders import Contenders, assert_agreement
from selfattn_book.cache import KeyValueCache
from selfattn_book.draw.curves import lines
from selfattn_book.language import decoder_only
from selfattn_book.multi_head import MultiHeadAttention

D_MODEL, HEADS, GROUPS, STEPS = 1024, 16, 2, 10
KEYS = (512, 2048, 8192, 16384)


def reading_contenders(length: int) -> Contenders:
    """Return a decoder-only model that reads a text; first with nothing around PyTorch's kernel."""
    torch.manual_seed(23)
    model: Any = decoder_only(
        256, d_model=256, num_heads=4, num_layers=2, context_length=length
    ).eval()
    tokens = torch.randint(256, (1, length))

    def bare() -> Tensor:
        x = model.embedding(tokens) + model.positions.weight
        for block in model.blocks:
            x = _bare_block(block, x)
        return model.unembedding(model.norm(x))

    return _agreeing({"is_causal=True": bare, "the book": partial(model, tokens)})


def step_contenders(keys: int) -> Contenders:
    """Return one token beside a cache of grouped heads; first a preallocated one, without checks."""
    torch.manual_seed(23)
    layer = MultiHeadAttention(D_MODEL, HEADS, num_kv_heads=GROUPS).eval()
    x, new = torch.randn(1, keys, D_MODEL), torch.randn(1, 1, D_MODEL)
    cache = KeyValueCache()
    with torch.no_grad():
        layer(x, x, x, need_weights=False, is_causal=True, cache=cache)
    rows = [F.pad(stored, (0, 0, 0, 1)) for stored in (cache.keys, cache.values)]

    def preallocated(query: Tensor, *newest: Tensor) -> Tensor:
        for row, vector in zip(rows, newest, strict=True):
            row[:, :, keys:] = vector
        key, value = rows
        return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)

    def step(cache: KeyValueCache) -> Tensor:
        cache.length = keys  # the newest token of the run before is discarded
        return layer(new, new, new, need_weights=False, cache=cache)[0]

    ways: Contenders = {
        "enable_gqa, preallocated": partial(with_kernel, layer, new, preallocated),
        "the book": partial(step, cache),
        "the book, from a copy": partial(step, copy(cache)),
    }
    return {name: partial(_repeated, way) for name, way in _agreeing(ways).items()}


def draw(results: Mapping[int, Any], beside: Path) -> Path:
    """Draw the time of a step against the number of cached keys, and return the file."""
    rows = [result["contenders"] for result in results.values()]
    clock = next(iter(results.values()))["clock"]
    curves = {
        row["contender"]: [1e3 * median(one[number][clock]) / STEPS for one in rows]
        for number, row in enumerate(rows[0])
    }
    ax = lines([*results], curves, x_title="cached keys", y_title="ms a token", markers=True)
    file = beside.with_name(f"{beside.stem}-steps.svg")
    if figure := ax.get_figure(root=True):
        figure.savefig(file)
    return file


def _bare_block(block: Any, x: Tensor) -> Tensor:
    """Return what a pre-norm block computes, with causal attention."""
    causal = partial(F.scaled_dot_product_attention, is_causal=True)
    x = x + with_kernel(block.attention, block.attention_norm(x), causal)
    return x + block.feed_forward(block.feed_forward_norm(x))


def _agreeing(ways: Contenders) -> Contenders:
    """Return the ways without gradients, which compute the same."""
    ways = {name: torch.no_grad()(way) for name, way in ways.items()}
    assert_agreement(ways, atol=1e-4)
    return ways


def _repeated(way: Callable[[], object]) -> None:
    for _ in range(STEPS):
        way()
