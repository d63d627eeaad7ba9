"""Language models: training and writing, beside the same model of ``transformers``."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from selfattn_book.generation import generate
from selfattn_book.language import LanguageModel, decoder_only

SIZES = {"d_model": 256, "num_layers": 4, "num_heads": 8, "context_length": 512}
VOCABULARY, BATCH, LENGTH = 1000, 8, 128
PROMPT, WRITTEN = 16, 256
Contenders = dict[str, Callable[[], object]]


def training_contenders() -> Contenders:
    """Return a training step of both models; the yardstick comes first."""
    ours, theirs = _both()
    tokens = _tokens(BATCH, LENGTH + 1)
    read, wanted = tokens[:, :-1], tokens[:, 1:]
    ways: dict[str, tuple[nn.Module, Callable[[], Tensor]]] = {
        "transformers' GPT-2": (
            theirs,
            lambda: theirs(read, use_cache=False).logits,
        ),
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

    with torch.no_grad():  # sharper than as drawn, so that no tie decides
        ours.embedding.weight.mul_(20)
        theirs.transformer.wte.weight.mul_(20)
    assert generate(ours, tokens, 40).equal(library(40))
    return {
        "transformers' generate": lambda: library(WRITTEN),
        "the book": lambda: generate(ours, tokens, WRITTEN),
    }


def _both() -> tuple[LanguageModel, Any]:
    torch.manual_seed(23)
    ours = decoder_only(VOCABULARY, **SIZES).eval()
    return ours, as_gpt2(ours)


def _tokens(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(23)
    return torch.randint(VOCABULARY, shape, generator=generator)


def as_gpt2(model: LanguageModel) -> Any:
    """Return the model of ``transformers`` with the same weights, which drops nothing either."""
    # Here and not above: whoever runs the other comparisons need not have it.
    from transformers import GPT2Config, GPT2LMHeadModel

    vocabulary, d_model = model.embedding.weight.shape
    first: Any = model.blocks[0]
    assert model.positions is not None
    config = GPT2Config(
        vocab_size=vocabulary,
        n_positions=len(model.positions.weight),
        n_embd=d_model,
        n_layer=len(model.blocks),
        n_head=first.attention.num_heads,
        n_inner=first.feed_forward.expand.out_features,
        activation_function="relu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
    )
    theirs: Any = GPT2LMHeadModel(config)
    theirs.eval()
    theirs.load_state_dict(_named_as_theirs(model), strict=False)
    return theirs


def _named_as_theirs(model: LanguageModel) -> dict[str, Tensor]:
    """Name the weights as GPT-2 does; its linear layers are transposed."""
    assert model.positions is not None
    named = {
        "transformer.wte.weight": model.embedding.weight,
        "transformer.wpe.weight": model.positions.weight,
        "lm_head.weight": model.embedding.weight,
        **_pair("transformer.ln_f", model.norm),
    }
    for i, block in enumerate(model.blocks):
        part: Any = block
        attention, place = part.attention, f"transformer.h.{i}"
        maps = (
            attention.project_query,
            attention.project_key,
            attention.project_value,
        )
        named[f"{place}.attn.c_attn.weight"] = torch.cat([m.weight for m in maps]).T
        named[f"{place}.attn.c_attn.bias"] = torch.cat([m.bias for m in maps])
        for name, linear in (
            ("attn.c_proj", attention.project_output),
            ("mlp.c_fc", part.feed_forward.expand),
            ("mlp.c_proj", part.feed_forward.contract),
        ):
            named[f"{place}.{name}.weight"] = linear.weight.T
            named[f"{place}.{name}.bias"] = linear.bias
        named |= _pair(f"{place}.ln_1", part.attention_norm)
        named |= _pair(f"{place}.ln_2", part.feed_forward_norm)
    return {name: weight.detach().clone() for name, weight in named.items()}


def _pair(name: str, norm: Any) -> dict[str, Tensor]:
    return {f"{name}.weight": norm.weight, f"{name}.bias": norm.bias}
