"""Language models: training and generation, beside the same model of ``transformers``."""

from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from benchmarks.contenders import Contenders, training_steps
from selfattn_book.experiments.text import next_token_loss
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
    "activation_function": "gelu_pytorch_tanh",
}
BATCH, LENGTH = 8, 128
PROMPT, WRITTEN = 16, 256


def training_contenders() -> Contenders:
    """Return a training step of both models; the library's comes first."""
    ours, theirs = _both()
    tokens = _tokens(BATCH, LENGTH + 1)
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    ways = {
        "transformers' GPT-2": (theirs, lambda: theirs(inputs, use_cache=False).logits),
        "the book": (ours, lambda: ours(inputs)),
    }
    loss = partial(next_token_loss, following=targets)
    return training_steps(ways, loss, torch.optim.AdamW)


def writing_contenders() -> Contenders:
    """Return both models generating with their caches; the library's comes first."""
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
