"""A file of weights in the format of safetensors, read with nothing but ``json`` and PyTorch.

Eight bytes say how long the header is, the header says in JSON where each tensor lies, and the rest
is numbers. Nothing in such a file is ever run.
"""

import json
import mmap
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

DTYPES = {
    **{"F64": torch.float64, "F32": torch.float32, "F16": torch.float16},
    **{"BF16": torch.bfloat16, "BOOL": torch.bool, "U8": torch.uint8},
    **{
        "I8": torch.int8,
        "I16": torch.int16,
        "I32": torch.int32,
        "I64": torch.int64,
    },
}
LARGEST_HEADER = 100_000_000  # bytes, as in the format's own library
LARGEST = 16 * 2**30  # bytes; more than memory, most often
MOST_AXES = 8
_ENTRY = {"dtype", "shape", "data_offsets"}


def read_weights(file: str | Path, *, largest: int = LARGEST) -> dict[str, Tensor]:
    """Return the tensors of a file of weights, by name.

    The file is mapped into memory and not copied: it has to stay as it is while they are used.
    Writing into a tensor changes neither the file nor what another call returns.

    Args:
        file: in the format of safetensors.
        largest: how many bytes it may have.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is larger, has been cut, or is not a file of this format: the header is no
            JSON, a tensor has an unknown dtype or reaches out of the file, or two overlap.

    Source:
        The format of `safetensors <https://github.com/huggingface/safetensors#format>`_.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> folder = TemporaryDirectory()
        >>> file = Path(folder.name, "a.safetensors")
        >>> header = b'{"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}'
        >>> numbers = bytes(torch.tensor([0.5, -1.0]).numpy())
        >>> _ = file.write_bytes(len(header).to_bytes(8, "little") + header + numbers)
        >>> read_weights(file)
        {'x': tensor([ 0.5000, -1.0000])}
        >>> _ = file.write_bytes(file.read_bytes()[:-1])
        >>> read_weights(file)
        Traceback (most recent call last):
        ValueError: a.safetensors must hold 8 bytes of numbers, as its header says; got 7
        >>> folder.cleanup()
    """
    file = Path(file)
    data = _bytes_of(file, largest)
    start = _start_of_numbers(file.name, data)
    entries = _header(file.name, data[8:start])
    size = len(data) - start
    if size != (needed := _size_needed(file.name, entries)):
        rule = (
            f"{file.name} must hold {needed} bytes of numbers, as its header says"
        )
        raise ValueError(f"{rule}; got {size}")
    return {name: _tensor(data, start, entry) for name, entry in entries.items()}


def _bytes_of(file: Path, largest: int) -> mmap.mmap:
    if not file.is_file():
        raise FileNotFoundError(f"weights must be a file; there is no {file}")
    size = file.stat().st_size
    if size > largest:
        rule = f"{file.name} must have at most {largest} bytes"
        raise ValueError(f"{rule}; got {size}")
    if size < 8:
        rule = f"{file.name} must begin with 8 bytes, the length of its header"
        raise ValueError(f"{rule}; got {size} bytes")
    with file.open("rb") as opened:
        return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)


def _start_of_numbers(name: str, data: mmap.mmap) -> int:
    """Return where the numbers begin, behind the header."""
    length = int.from_bytes(data[:8], "little")
    if length > LARGEST_HEADER or data[8:9] != b"{":
        rule = f"{name} must be a file of safetensors"
        told = f"its header would have {length} bytes and begin with {data[8:9]!r}"
        raise ValueError(f"{rule}; {told}")
    if 8 + length > len(data):
        rule = f"{name} must hold its header of {length} bytes"
        raise ValueError(f"{rule}; got {len(data) - 8}: the file has been cut")
    return 8 + length


def _header(name: str, text: bytes) -> dict[str, dict[str, Any]]:
    """Return what the header says of each tensor, once it has been looked at."""
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_once_each)
    except (ValueError, RecursionError) as error:
        rule = f"the header of {name} must be JSON, each name once"
        raise ValueError(f"{rule}; {error}") from None
    header.pop("__metadata__", None)  # words of those who wrote it
    for tensor, entry in header.items():
        if not _is_entry(entry):
            rule = f"tensor {tensor!r} of {name} must have a known dtype, a shape, and its bytes"
            raise ValueError(f"{rule}; got {str(entry)[:200]}")
    return header


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name comes twice")
    return found


def _is_entry(entry: object) -> bool:
    """Tell whether an entry of a header describes a tensor."""
    if not isinstance(entry, dict) or entry.keys() != _ENTRY:
        return False
    dtype, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not (isinstance(dtype, str) and dtype in DTYPES):
        return False
    if not (_are_counts(shape) and _are_counts(place) and len(place) == 2):
        return False
    if len(shape) > MOST_AXES or prod(max(size, 1) for size in shape) >= 2**60:
        return False  # PyTorch could not hold it, even where it is empty
    return bool(place[1] - place[0] == prod(shape) * DTYPES[dtype].itemsize)


def _are_counts(numbers: object) -> bool:
    return isinstance(numbers, list) and all(
        type(number) is int and 0 <= number < 2**63 for number in numbers
    )


def _size_needed(name: str, entries: dict[str, dict[str, Any]]) -> int:
    """Return how many bytes the tensors take, which lie one behind the other."""
    end = 0
    for begin, stop in sorted(entry["data_offsets"] for entry in entries.values()):
        if begin != end:
            rule = f"the tensors of {name} must lie one behind the other"
            raise ValueError(f"{rule}; one begins at {begin}, and not at {end}")
        end = stop
    return end


def _tensor(data: mmap.mmap, start: int, entry: dict[str, Any]) -> Tensor:
    dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
    count = prod(shape)
    if not count:
        return torch.empty(shape, dtype=dtype)
    place = start + entry["data_offsets"][0]
    return torch.frombuffer(data, dtype=dtype, count=count, offset=place).view(
        shape
    )
