"""A training on disk, written whole or not at all."""

import os
from pathlib import Path
from typing import Any

import torch


def save(file: str | Path, content: dict[str, Any]) -> None:
    """Write a checkpoint; an interruption leaves the one before, and never half of one.

    Args:
        file: in a folder that is there.
        content: tensors, numbers, texts, and dictionaries and lists of these.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     save(f"{folder}/model.pt", {"weight": torch.ones(2)})
        ...     load(f"{folder}/model.pt"), os.listdir(folder)
        ...     try:   # what cannot be written leaves the one before, and no half of itself
        ...         save(f"{folder}/model.pt", {"weight": lambda: 2})
        ...     except Exception:
        ...         load(f"{folder}/model.pt"), os.listdir(folder)
        ({'weight': tensor([1., 1.])}, ['model.pt'])
        ({'weight': tensor([1., 1.])}, ['model.pt'])
    """
    whole = Path(file)
    part = whole.with_name(f"{whole.name}.part")
    try:
        with part.open("wb") as stream:
            torch.save(content, stream)
            stream.flush()
            # On the disk before it takes the old one's place.
            os.fsync(stream.fileno())
        part.replace(whole)
    finally:
        part.unlink(missing_ok=True)


def load(file: str | Path) -> dict[str, Any]:
    """Read a checkpoint; its tensors come to the CPU, wherever they were.

    Args:
        file: what :func:`save` has written.

    Raises:
        OSError: the file is not there, or cannot be opened.
        ValueError: the file is no checkpoint.

    Example:
        >>> load("README.md")
        Traceback (most recent call last):
        ValueError: README.md must be a checkpoint; it cannot be read as one
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:   # a function could run anything when read
        ...     save(f"{folder}/model.pt", {"weight": print})
        ...     load(f"{folder}/model.pt")
        Traceback (most recent call last):
        ValueError: ...model.pt must be a checkpoint; it cannot be read as one
        >>> with TemporaryDirectory() as folder:
        ...     torch.save([1], f"{folder}/list.pt")
        ...     load(f"{folder}/list.pt")
        Traceback (most recent call last):
        ValueError: ...list.pt must be a checkpoint; got one list
        >>> load("no such file")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'no such file'
    """
    rule = f"{file} must be a checkpoint"
    try:
        content = torch.load(file, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # bytes that mean nothing can raise anything
        raise ValueError(f"{rule}; it cannot be read as one") from error
    if not isinstance(content, dict):
        raise ValueError(f"{rule}; got one {type(content).__name__}")
    return content
