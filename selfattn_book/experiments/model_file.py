"""Write a trained language model to one safetensors file, and read it back.

A matrix is quantized to 8 bits, with one scale for each row. Reading a file never runs code in it.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from selfattn_book.experiments.checkpoint import write_whole
from selfattn_book.language import LanguageModel, decoder_only
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.tokens import BPETokenizer

WRITER = Path(__file__).parents[1] / "data" / "writer.safetensors"
DIGEST = "39c9dadd1305c8f7fa620bc9d9002abdfb115ab160c924a8fd3ed4774cf4ae43"
LARGEST = 100_000_000  # bytes
Record = dict[str, Any]


def load_bundled_model() -> tuple[LanguageModel, BPETokenizer, Record]:
    """Return the trained model that ships with the book, its tokenizer, and its training record.

    Raises:
        ValueError: the file has been changed.

    Example:
        >>> model, tokens, record = load_bundled_model()
        >>> len(tokens), model.context_length, model.training
        (1024, 64, False)
    """
    got = hashlib.sha256(WRITER.read_bytes()).hexdigest()
    if got != DIGEST:
        rule = f"{WRITER.name} must have the digest {DIGEST}"
        raise ValueError(f"{rule}; got {got}")
    return read(WRITER)


def write(file: str | Path, model: LanguageModel, tokens: BPETokenizer, record: Record) -> None:
    """Write a model of :func:`.decoder_only`, its tokenizer and a record of its training.

    Raises:
        OSError: the file cannot be written.
    """
    tensors = {"merges": torch.tensor(tokens.merges, dtype=torch.int32).view(-1, 2)}
    for name, value in model.state_dict().items():
        if name == "unembedding.weight":  # tied to the embedding
            continue
        value = value.detach().float()
        if value.ndim == 2:
            scale = value.abs().amax(1).clamp(min=1e-12) / 127
            tensors[f"{name}.scale"] = scale
            value = (value / scale[:, None]).round().to(torch.int8)
        tensors[name] = value.contiguous()
    heads = cast(MultiHeadAttention, model.blocks[0].attention).num_heads
    metadata = {"num_heads": str(heads), "record": json.dumps(record)}
    write_whole(file, save(tensors, metadata))


def read(file: str | Path) -> tuple[LanguageModel, BPETokenizer, Record]:
    """Read a model that :func:`write` has written, its tokenizer and its record.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a model of this book, or is damaged.
    """
    rule = f"{file} must be a model that this book has kept"
    if Path(file).stat().st_size > LARGEST:
        raise ValueError(f"{rule}; it has more than {LARGEST} bytes")
    try:
        with safe_open(file, "pt") as opened:
            metadata = opened.metadata()
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        merges = tensors.pop("merges").tolist()
        state = _dequantized(tensors)
        model = _with_sizes_of(state, int(metadata["num_heads"]))
        model.load_state_dict(state)
        return model.eval(), BPETokenizer(merges), json.loads(metadata["record"])
    except Exception as error:  # a damaged file can raise any exception
        raise ValueError(f"{rule}; it cannot be read as one") from error


def _dequantized(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the model's state in floating point."""
    state = {}
    for name, value in tensors.items():
        if not name.endswith(".scale"):
            scale = tensors.get(f"{name}.scale")
            state[name] = value if scale is None else value * scale[:, None]
    return state | {"unembedding.weight": state["embedding.weight"]}


def _with_sizes_of(state: dict[str, Tensor], num_heads: int) -> LanguageModel:
    """Return an untrained model with the sizes of a state."""
    vocab_size, d_model = state["embedding.weight"].shape
    layers = [int(name.split(".")[1]) for name in state if name.startswith("blocks.")]
    with torch.random.fork_rng(devices=[]):
        return decoder_only(
            vocab_size,
            d_model=d_model,
            num_layers=1 + max(layers),
            num_heads=num_heads,
            context_length=len(state["positions.weight"]),
            d_ff=len(state["blocks.0.feed_forward.expand.weight"]),
        )
