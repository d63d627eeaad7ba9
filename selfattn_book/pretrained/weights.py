"""Weights in the safetensors format, which stores only numbers: reading a file runs no code."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from selfattn_book.pretrained.files import check_file, read_json

LARGEST = 16 * 2**30  # bytes
WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"


def read_weights(file: str | Path) -> dict[str, Tensor]:
    """Read the tensors of a safetensors file, by name.

    The file is mapped into memory, not copied: it must not change while its tensors are in use.
    Writing into a tensor changes neither the file nor the result of another call.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: the file is above 16 GiB, incomplete, or not in the safetensors format.

    Source:
        The format of `safetensors <https://github.com/huggingface/safetensors#format>`_.
    """
    file = Path(file)
    check_file(file, LARGEST)
    try:
        return load_file(file)
    # The library's PyTorch side raises KeyError, TypeError and others for unknown dtypes.
    except (SafetensorError, OSError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{file.name} must be a safetensors file; {reason}") from None


def read_all_weights(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a model: a file, or a folder with one file or several and their index.

    Raises:
        FileNotFoundError: a file does not exist.
        ValueError: a file or the index is not valid, or they do not agree.
    """
    if path.is_file() or (path / WHOLE).exists() or not (path / INDEX).exists():
        return read_weights(path if path.is_file() else path / WHOLE)
    where = read_json(path / INDEX).get("weight_map")
    if not isinstance(where, dict) or not all(_is_file_name(name) for name in where.values()):
        rule = f"weight_map in {INDEX} must give the name of a file in the folder for each tensor"
        raise ValueError(f"{rule}; got {str(where)[:80]}")
    tensors: dict[str, Tensor] = {}
    for name in sorted(set(where.values())):
        shard = read_weights(path / name)
        wanted = {tensor for tensor, file in where.items() if file == name}
        if wrong := sorted(wanted ^ shard.keys()):
            rule = f"{name} must hold the tensors that {INDEX} says, and no others"
            raise ValueError(f"{rule}; {wrong[0]} is in one of them only")
        tensors |= shard
    return tensors


def _is_file_name(name: object) -> bool:
    return isinstance(name, str) and name.endswith(".safetensors") and Path(name).name == name
