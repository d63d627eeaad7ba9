"""Weights in the safetensors format, which stores only numbers: reading a file runs no code."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from selfattn_book.pretrained.files import check_file

LARGEST = 16 * 2**30  # bytes


def read_weights(file: str | Path) -> dict[str, Tensor]:
    """Read the tensors of a safetensors file, by name.

    The file is mapped into memory, not copied: it must not change while its tensors are in use.
    Writing into a tensor changes neither the file nor the result of another call.

    Args:
        file: path of a safetensors file.

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
