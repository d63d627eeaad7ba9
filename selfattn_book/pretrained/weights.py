"""Weights in the safetensors format, which stores only numbers: reading a file runs no code."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from selfattn_book.pretrained.files import check_file

LARGEST = 16 * 2**30  # bytes


def read_weights(file: str | Path, *, largest: int = LARGEST) -> dict[str, Tensor]:
    r"""Read the tensors of a safetensors file, by name.

    The file is mapped into memory, not copied: it must not change while its tensors are in use.
    Writing into a tensor changes neither the file nor the result of another call.

    Args:
        file: path of a safetensors file.
        largest: largest accepted size of the file in bytes.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: the file is too large, incomplete, or not in the safetensors format.

    Source:
        The format of `safetensors <https://github.com/huggingface/safetensors#format>`_.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "a.safetensors")
        ...     header = b'{"x": {"dtype": "I16", "shape": [2], "data_offsets": [0, 4]}}'
        ...     _ = file.write_bytes(len(header).to_bytes(8, "little") + header + b"\1\0\2\0")
        ...     read_weights(file)
        {'x': tensor([1, 2], dtype=torch.int16)}
    """
    file = Path(file)
    check_file(file, largest)
    try:
        return load_file(file)
    # The library's PyTorch side raises KeyError, TypeError and others for unknown dtypes.
    except (SafetensorError, OSError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{file.name} must be a safetensors file; {reason}") from None
