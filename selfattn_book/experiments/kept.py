"""A trained language model in one file of numbers, and back; nothing in the file is ever run.

The file is one of safetensors: eight bytes of length, a header in JSON, and the numbers.
A matrix is kept in 8 bits, with one scale for each row.
"""

import hashlib
import json
from math import prod
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from selfattn_book.language import LanguageModel, decoder_only
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.tokens import BytePairs

WRITER = Path(__file__).parents[1] / "data" / "writer.safetensors"
DIGEST = "39c9dadd1305c8f7fa620bc9d9002abdfb115ab160c924a8fd3ed4774cf4ae43"
DTYPES = {"F32": torch.float32, "I8": torch.int8, "I32": torch.int32}
LARGEST = 100_000_000  # bytes
Record = dict[str, Any]


def writer() -> tuple[LanguageModel, BytePairs, Record]:
    """Return the model that comes with the book, its tokens, and the record of its training.

    Raises:
        ValueError: the file has been changed.

    Example:
        >>> model, tokens, record = writer()
        >>> len(tokens), model.context, model.training
        (1024, 64, False)
    """
    got = hashlib.sha256(WRITER.read_bytes()).hexdigest()
    if got != DIGEST:
        rule = f"{WRITER.name} must have the digest {DIGEST}"
        raise ValueError(f"{rule}; got {got}")
    return read(WRITER)


def write(
    file: str | Path, model: LanguageModel, tokens: BytePairs, record: Record
) -> None:
    """Write a model, its tokens and a record of its training.

    Args:
        file: in a folder that is there; what was in it is lost.
        model: of :func:`.decoder_only`.
        tokens: with which it was trained.
        record: of JSON's kinds.

    Raises:
        OSError: the file cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> model = decoder_only(258, d_model=4, num_layers=2, num_heads=2, context=5)
        >>> with TemporaryDirectory() as folder:
        ...     write(f"{folder}/a.safetensors", model, BytePairs([(1, 2), (2, 256)]), {"seed": 3})
        ...     again, tokens, record = read(f"{folder}/a.safetensors")
        >>> tokens.merges, record, again.context, len(again.blocks)
        ([(1, 2), (2, 256)], {'seed': 3}, 5, 2)
        >>> change = (again.embedding.weight - model.embedding.weight).abs().max()
        >>> bool(change <= model.embedding.weight.abs().max() / 254 + 1e-6)   # half a step of 8 bits
        True
        >>> read("README.md")
        Traceback (most recent call last):
        ValueError: README.md must be a model that this book has kept; it cannot be read as one
    """
    parts = {"merges": torch.tensor(tokens.merges, dtype=torch.int32).view(-1, 2)}
    for name, value in model.state_dict().items():
        if name == "unembedding.weight":  # which is the embedding
            continue
        value = value.detach().float()
        if value.ndim == 2:
            scale = value.abs().amax(1).clamp(min=1e-12) / 127
            parts[f"{name}.scale"] = scale
            value = (value / scale[:, None]).round().to(torch.int8)
        parts[name] = value.contiguous()
    heads = cast(MultiHeadAttention, model.blocks[0].attention).num_heads
    about = {"num_heads": str(heads), "record": json.dumps(record)}
    Path(file).write_bytes(_packed(parts, about))


def read(file: str | Path) -> tuple[LanguageModel, BytePairs, Record]:
    """Return a model that :func:`write` has kept, its tokens, and its record.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no such file, or a damaged one.
    """
    rule = f"{file} must be a model that this book has kept"
    if Path(file).stat().st_size > LARGEST:
        raise ValueError(f"{rule}; it has more than {LARGEST} bytes")
    try:
        parts, about = _unpacked(Path(file).read_bytes())
        merges = parts.pop("merges").tolist()
        state = _in_full(parts)
        model = _empty(state, int(about["num_heads"]))
        model.load_state_dict(state)
        return model.eval(), BytePairs(merges), json.loads(about["record"])
    # Bytes that mean nothing can raise anything.
    except Exception as error:
        raise ValueError(f"{rule}; it cannot be read as one") from error


def _packed(parts: dict[str, Tensor], about: dict[str, str]) -> bytes:
    """Return the bytes of a file of safetensors."""
    header: dict[str, Any] = {"__metadata__": about}
    names, numbers = {kind: name for name, kind in DTYPES.items()}, b""
    # The largest kind of number first, so that each begins where its kind may.
    for name, part in sorted(parts.items(), key=lambda p: -p[1].itemsize):
        raw = part.numpy().astype(part.numpy().dtype.newbyteorder("<")).tobytes()
        place = [len(numbers), len(numbers) + len(raw)]
        header[name] = {"dtype": names[part.dtype], "shape": list(part.shape)}
        header[name]["data_offsets"] = place
        numbers += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + numbers


def _unpacked(data: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors of a file of safetensors, and what it says of itself."""
    end = 8 + int.from_bytes(data[:8], "little")
    header, numbers = json.loads(data[8:end]), bytearray(data[end:])
    about, parts = header.pop("__metadata__"), {}
    for name, entry in header.items():
        (begin, stop), shape = entry["data_offsets"], entry["shape"]
        raw = torch.frombuffer(numbers[begin:stop], dtype=DTYPES[entry["dtype"]])
        if raw.numel() != prod(shape):
            raise ValueError(f"{name} must have {prod(shape)} numbers")
        parts[name] = raw.view(shape)
    return parts, about


def _in_full(parts: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a model, in floating point and under its own names."""
    state = {}
    for name, value in parts.items():
        if not name.endswith(".scale"):
            scale = parts.get(f"{name}.scale")
            state[name] = value if scale is None else value * scale[:, None]
    return state | {"unembedding.weight": state["embedding.weight"]}


def _empty(state: dict[str, Tensor], num_heads: int) -> LanguageModel:
    """Return a model of the sizes of a state, whose weights say nothing yet."""
    vocabulary, d_model = state["embedding.weight"].shape
    layers = [
        int(name.split(".")[1]) for name in state if name.startswith("blocks.")
    ]
    with torch.random.fork_rng(devices=[]):
        return decoder_only(
            vocabulary,
            d_model=d_model,
            num_layers=1 + max(layers),
            num_heads=num_heads,
            context=len(state["positions.weight"]),
            d_ff=len(state["blocks.0.feed_forward.expand.weight"]),
        )
