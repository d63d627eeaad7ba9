"""Pretrained GPT-2 and Llama models, loaded into this book's own code."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from selfattn_book.language import LanguageModel
from selfattn_book.pretrained.files import read_json
from selfattn_book.pretrained.gpt2 import gpt2, gpt2_weights
from selfattn_book.pretrained.llama import llama, llama_weights
from selfattn_book.pretrained.options import Options, Weights
from selfattn_book.pretrained.weights import read_weights

Build = Callable[[Options], LanguageModel]
Rename = Callable[[Options, Weights], dict[str, Tensor]]
FAMILIES: dict[str, tuple[Build, Rename]] = {
    "gpt2": (gpt2, gpt2_weights),
    "llama": (llama, llama_weights),
}
WEIGHTS = "model.safetensors"


def load(path: str | Path, *, dtype: torch.dtype = torch.float32) -> LanguageModel:
    """Load a pretrained GPT-2 or Llama, as saved by ``transformers``, in evaluation mode.

    An option that this book's code does not implement is refused by name. No code in the files is run.

    Args:
        path: folder with ``config.json`` and ``model.safetensors``, or path of a weights file with
            a ``config.json`` beside it.
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
    folder, file = _files(Path(path))
    options = Options(read_json(folder / "config.json"))
    build, rename = _family(options)
    weights = Weights(read_weights(file), dtype)
    state = rename(options, weights)
    _tie(state, weights)
    weights.nothing_left()
    with torch.device("meta"):  # shapes without numbers: nothing is initialized
        model = build(options)
    # A tensor that occurs twice in the state becomes one parameter.
    parameters = {id(tensor): nn.Parameter(tensor) for tensor in state.values()}
    named = {name: parameters[id(tensor)] for name, tensor in state.items()}
    model.load_state_dict(named, assign=True)
    return model.eval()


def _files(path: Path) -> tuple[Path, Path]:
    """Return the folder and the weights file."""
    if path.is_file():
        return path.parent, path
    if not path.is_dir():
        raise FileNotFoundError(f"a model must be a folder or a weights file; there is no {path}")
    others = sorted(file.name for file in path.glob("*.safetensors*"))
    if others and WEIGHTS not in others:
        raise ValueError(f"the weights must be one file, {WEIGHTS}; got {', '.join(others[:3])}")
    return path, path / WEIGHTS


def _family(options: Options) -> tuple[Build, Rename]:
    family = options.values.get("model_type")
    if not isinstance(family, str) or family not in FAMILIES:
        raise ValueError(f"model_type must be one of {', '.join(FAMILIES)}; got {family!r}")
    options.only("quantization_config", None)
    return FAMILIES[family]


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
