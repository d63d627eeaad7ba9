"""Language models: training and generation, beside the same model of ``transformers``."""

from collections.abc import Callable
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from selfattn_book.generation import generate
from selfattn_book.language import LanguageModel
from selfattn_book.pretrained.models import load

VOCABULARY = 1000
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "n_positions": 512,
    "n_embd": 256,
    "n_layer": 4,
    "n_head": 8,
}
SIZES |= {"activation_function": "gelu_pytorch_tanh"}
BATCH, LENGTH = 8, 128
PROMPT, WRITTEN = 16, 256
Contenders = dict[str, Callable[[], object]]


def training_contenders() -> Contenders:
    """Return a training step of both models; the yardstick comes first."""
    ours, theirs = _both()
    tokens = _tokens(BATCH, LENGTH + 1)
    read, wanted = tokens[:, :-1], tokens[:, 1:]
    ways: dict[str, tuple[nn.Module, Callable[[], Tensor]]] = {
        "transformers' GPT-2": (theirs, lambda: theirs(read, use_cache=False).logits),
        "the book": (ours, lambda: ours(read)),
    }

    def step(forward: Callable[[], Tensor], optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        F.cross_entropy(forward().flatten(0, 1), wanted.flatten()).backward()
        optimizer.step()

    expected, *others = [forward().detach() for _, forward in ways.values()]
    for logits in others:
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)
    contenders: Contenders = {}
    for name, (module, forward) in ways.items():
        adam = torch.optim.AdamW(module.parameters(), lr=1e-4, fused=True)
        contenders[name] = partial(step, forward, adam)
    return contenders


def writing_contenders() -> Contenders:
    """Return both models writing with their caches; the yardstick comes first."""
    ours, theirs = _both()
    tokens = _tokens(1, PROMPT)
    greedy: dict[str, Any] = {"do_sample": False, "pad_token_id": 0}

    def library(length: int) -> Tensor:
        seen = torch.ones_like(tokens)
        return theirs.generate(tokens, attention_mask=seen, max_new_tokens=length, **greedy)

    with torch.no_grad():  # sharper than at initialization, so that no tie decides
        ours.embedding.weight.mul_(20)
        theirs.transformer.wte.weight.mul_(20)
    assert generate(ours, tokens, 40).equal(library(40))
    return {
        "transformers' generate": lambda: library(WRITTEN),
        "the book": lambda: generate(ours, tokens, WRITTEN),
    }


def _both() -> tuple[LanguageModel, Any]:
    """Return GPT-2 of ``transformers``, without dropout, and the book's with the same weights."""
    # Imported here: the other comparisons do not need it.
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(23)
    rates = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    config = GPT2Config(**SIZES, **rates, bos_token_id=None, eos_token_id=None)
    theirs: Any = GPT2LMHeadModel(config).eval()
    with TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        return load(folder), theirs


def _tokens(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(23)
    return torch.randint(VOCABULARY, shape, generator=generator)
