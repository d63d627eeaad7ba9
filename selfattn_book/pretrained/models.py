"""A model that somebody else has saved, in this book's own code."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from selfattn_book.language import LanguageModel
from selfattn_book.pretrained.asking import Options, Weights
from selfattn_book.pretrained.gpt2 import gpt2, gpt2_weights
from selfattn_book.pretrained.llama import llama, llama_weights
from selfattn_book.pretrained.texts import read_json
from selfattn_book.pretrained.weights import LARGEST, read_weights

Build = Callable[[Options], LanguageModel]
Rename = Callable[[Options, Weights], dict[str, Tensor]]
FAMILIES: dict[str, tuple[Build, Rename]] = {
    "gpt2": (gpt2, gpt2_weights),
    "llama": (llama, llama_weights),
}
WEIGHTS = "model.safetensors"


def load(
    path: str | Path, *, dtype: torch.dtype = torch.float32, largest: int = LARGEST
) -> LanguageModel:
    """Return the model that a folder describes, in evaluation mode.

    Two families are known, GPT-2 and Llama, as ``transformers`` saves them. What this book's code
    does not do is refused by name, and nothing that a file says is run.

    Args:
        path: a folder with ``config.json`` and ``model.safetensors``, or a file of weights with a
            ``config.json`` beside it.
        dtype: of the model, whatever that of the file is.
        largest: how many bytes the weights may have.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is not what it should be, the family is unknown, an option is not
            supported, or a tensor is missing, too many, or of another shape.

    Example:
        >>> load("no/such/folder")
        Traceback (most recent call last):
        FileNotFoundError: a model must be a folder or a file of weights; there is no no/such/folder
    """
    folder, file = _places(Path(path))
    options = Options(read_json(folder / "config.json"))
    build, rename = _family(options)
    weights = Weights(read_weights(file, largest=largest), dtype)
    state = rename(options, weights)
    _take_tied(state, weights)
    weights.nothing_left()
    with torch.device("meta"):  # sizes without numbers: none has to be drawn
        model = build(options)
    _put(state, model)
    return model.eval()


def _places(path: Path) -> tuple[Path, Path]:
    """Return the folder and the file of weights."""
    if path.is_file():
        return path.parent, path
    if not path.is_dir():
        rule = "a model must be a folder or a file of weights"
        raise FileNotFoundError(f"{rule}; there is no {path}")
    if not (path / WEIGHTS).is_file() and list(path.glob("*.safetensors*")):
        rule = f"the weights must be one file, {WEIGHTS}"
        some = ", ".join(sorted(f.name for f in path.glob("*.safetensors*"))[:3])
        raise ValueError(f"{rule}; got {some}")
    return path, path / WEIGHTS


def _family(options: Options) -> tuple[Build, Rename]:
    family = options.said.get("model_type")
    if not isinstance(family, str) or family not in FAMILIES:
        rule = f"model_type must be one of {', '.join(FAMILIES)}"
        raise ValueError(f"{rule}; got {family!r}")
    options.only("quantization_config", None)
    return FAMILIES[family]


def _take_tied(state: dict[str, Tensor], weights: Weights) -> None:
    """Let embedding and unembedding be one, unless there are two; a file may say the same twice."""
    if "unembedding.weight" in state:
        return
    embedding = state["embedding.weight"]
    if "lm_head.weight" in weights.left:
        copy = weights.take("lm_head.weight", *embedding.shape)
        if not torch.equal(copy, embedding):
            rule = "lm_head.weight must be the embedding, as config.json says"
            raise ValueError(f"{rule}; it is another tensor")
    state["unembedding.weight"] = embedding


def _put(state: dict[str, Tensor], model: LanguageModel) -> None:
    """Put the weights into a model without numbers; what was one tensor stays one parameter."""
    parameters = {id(tensor): nn.Parameter(tensor) for tensor in state.values()}
    named = {name: parameters[id(tensor)] for name, tensor in state.items()}
    model.load_state_dict(named, assign=True)
