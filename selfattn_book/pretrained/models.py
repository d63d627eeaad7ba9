"""Pretrained models of five families, loaded into this book's own code."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from selfattn_book.language import LanguageModel
from selfattn_book.pretrained.architecture import Architecture, build
from selfattn_book.pretrained.files import read_json
from selfattn_book.pretrained.gpt2 import gpt2, gpt2_names
from selfattn_book.pretrained.llama import llama, llama_names
from selfattn_book.pretrained.options import Options, Weights
from selfattn_book.pretrained.weights import read_all_weights


class Family(NamedTuple):
    """How a family of models is read: its class, options, and the names of its weights."""

    kind: str
    read: Callable[[Options], Architecture]
    names: Callable[[], dict[str, str]]


FAMILIES = {
    "gpt2": Family("GPT2LMHeadModel", gpt2, gpt2_names),
    "llama": Family("LlamaForCausalLM", partial(llama, family="llama"), llama_names),
    "mistral": Family("MistralForCausalLM", partial(llama, family="mistral"), llama_names),
    "qwen2": Family("Qwen2ForCausalLM", partial(llama, family="qwen2"), llama_names),
    "qwen3": Family("Qwen3ForCausalLM", partial(llama, family="qwen3"), llama_names),
}
# Older files store the causal mask among the weights, or the frequencies of RoPE.
NO_WEIGHTS = r"(transformer\.)?h\.\d+\.attn\.(masked_)?bias|.*\.self_attn\.rotary_emb\.inv_freq"
MERGED = ["attention.project_query", "attention.project_key", "attention.project_value"]


def load(path: str | Path, *, dtype: torch.dtype = torch.float32) -> LanguageModel:
    """Load a pretrained model, as saved by ``transformers``, in evaluation mode.

    The families are GPT-2, Llama 2 and 3, Mistral, Qwen 2 and Qwen 3. An option that this book's
    code does not implement, or does not know, is refused by name. No code in the files is run.

    Args:
        path: folder with ``config.json`` and ``model.safetensors``, or several files of weights and
            ``model.safetensors.index.json``; or path of a weights file beside a ``config.json``.
        dtype: dtype of the model's parameters.

    Raises:
        FileNotFoundError: a file does not exist.
        TypeError: an option has the wrong type.
        ValueError: a file is not valid, the family or an option is not supported, or a tensor is
            missing, unexpected, not finite, or of the wrong shape.

    Example:
        >>> from selfattn_book.experiments.tiny_models import tiny_model
        >>> model = load(tiny_model("tiny-gpt2"))
        >>> len(model.blocks), model.training
        (2, False)
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"a model must be a folder or a weights file; there is no {path}")
    options = Options(read_json((path if path.is_dir() else path.parent) / "config.json"))
    family, architecture = read_architecture(options)
    weights = Weights(read_all_weights(path), dtype)
    state = _state(family, architecture, weights)
    model = build(architecture)
    # A tensor that occurs twice in the state becomes one parameter.
    parameters = {id(tensor): nn.Parameter(tensor) for tensor in state.values()}
    named = {name: parameters[id(tensor)] for name, tensor in state.items()}
    model.load_state_dict(named, assign=True)
    return model.eval()


def read_architecture(options: Options) -> tuple[Family, Architecture]:
    """Return the family and the architecture that options describe, or raise.

    Example:
        >>> sizes = {"n_embd": 6, "n_head": 2, "n_layer": 1, "n_positions": 5, "vocab_size": 7}
        >>> family, architecture = read_architecture(Options(sizes | {"model_type": "gpt2"}))
        >>> family.kind, architecture.tie_weights
        ('GPT2LMHeadModel', True)
    """
    name = options.value("model_type")
    if not isinstance(name, str) or name not in FAMILIES:
        raise ValueError(f"model_type must be one of {', '.join(FAMILIES)}; got {name!r}")
    family = FAMILIES[name]
    options.only("architectures", [family.kind], None)
    options.only("is_encoder_decoder", False, None)
    architecture = family.read(options)
    options.nothing_left()
    return family, architecture


def _state(family: Family, architecture: Architecture, weights: Weights) -> dict[str, Tensor]:
    """Take all weights, renamed for this book's modules."""
    names = family.names()
    weights.ignore(NO_WEIGHTS)

    def take(ours: str, like: Tensor, prefix: str = "") -> Tensor:
        module, kind = ours.rsplit(".", 1)
        theirs = names[module]
        part = MERGED.index(module) if theirs.endswith("c_attn") else 0
        parts, transposed = (3 if theirs.endswith("c_attn") else 1), ".c_" in theirs
        shape, name = like.shape, f"{prefix}{theirs}.{kind}"
        # Saved files of GPT-2 have a prefix; the published one has not.
        name = f"transformer.{name}" if f"transformer.{name}" in weights.left else name
        return weights.take(name, *shape, part=part, parts=parts, transposed=transposed)

    try:
        template = build(replace(architecture, num_layers=1)).state_dict()
    except RuntimeError as error:  # too large a number
        raise ValueError(f"config.json must give the sizes of a model; {error}") from None
    if architecture.tie_weights:
        template.pop("unembedding.weight")
    block = {n: template.pop(n) for n in list(template) if n.startswith("blocks.")}
    state = {name: take(name, like) for name, like in template.items()}
    for i in range(architecture.num_layers):
        for name, like in block.items():
            ours = name.removeprefix("blocks.0.")
            state[f"blocks.{i}.{ours}"] = take(ours, like, f"{names['blocks']}.{i}.")
    _tie(state, weights)
    weights.nothing_left()
    return state


def _tie(state: dict[str, Tensor], weights: Weights) -> None:
    """Use the embedding as unembedding unless there are two; a file may hold a copy of it."""
    if "unembedding.weight" in state:
        return
    embedding = state["embedding.weight"]
    if "lm_head.weight" in weights.left:
        copy = weights.take("lm_head.weight", *embedding.shape)
        if not torch.equal(copy, embedding):
            rule = "lm_head.weight must equal the embedding, as config.json ties them"
            raise ValueError(f"{rule}; it is a different tensor")
    state["unembedding.weight"] = embedding
