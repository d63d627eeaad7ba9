"""A training on disk, written whole or not at all."""

import io
import os
from itertools import zip_longest
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import torch
from torch import Tensor

WAY_OUT = "Move it away, or name another file."


def save(file: str | Path, content: dict[str, Any]) -> None:
    """Write a checkpoint; an interruption leaves the one before, and never half of one.

    What is being written has a name of its own for each process, ``FILE.NUMBER.part``, so that
    two trainings never write into each other's. Only one that is killed leaves it behind.

    Args:
        file: in a folder that is there.
        content: tensors, numbers, texts, and dictionaries and lists of these.

    Raises:
        OSError: the file cannot be written, such as on a disk that is full.

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
        >>> save("no such folder/model.pt", {})
        Traceback (most recent call last):
        OSError: no such folder/model.pt must be a file that can be written; got 'No such file or
        directory'. What was there is as it was: make room, or name another file.
    """
    data = io.BytesIO()
    torch.save(content, data)
    write_whole(file, data.getbuffer())


def write_whole(file: str | Path, data: bytes | memoryview) -> None:
    """Write bytes into a file; what interrupts it leaves what was there before.

    Args:
        file: in a folder that is there.
        data: all that it will hold.

    Raises:
        OSError: the file cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     write_whole(f"{folder}/a", b"all of it")
        ...     Path(folder, "a").read_bytes(), os.listdir(folder)
        (b'all of it', ['a'])
    """
    whole = Path(file)
    part = whole.with_name(f"{whole.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            stream.write(data)
            stream.flush()
            # On the disk before it takes the old one's place.
            os.fsync(stream.fileno())
        part.replace(whole)
    except OSError as error:
        rule = f"{file} must be a file that can be written; got '{error.strerror}'"
        way_out = "What was there is as it was: make room, or name another file."
        raise OSError(f"{rule}. {way_out}") from error
    finally:
        part.unlink(missing_ok=True)


def load(file: str | Path) -> dict[str, Any]:
    """Read a checkpoint; its tensors come to the CPU, wherever they were.

    Args:
        file: what :func:`save` has written.

    Raises:
        OSError: the file is not there, or cannot be opened.
        ValueError: the file is no checkpoint, or a damaged one.

    Example:
        >>> load("README.md")
        Traceback (most recent call last):
        ValueError: README.md must be a checkpoint; it cannot be read as one. Move it away, or ...
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:   # a function could run anything when read
        ...     save(f"{folder}/model.pt", {"weight": print})
        ...     load(f"{folder}/model.pt")
        Traceback (most recent call last):
        ValueError: ...model.pt must be a checkpoint; it cannot be read as one. Move it away, or ...
        >>> with TemporaryDirectory() as folder:
        ...     torch.save([1], f"{folder}/list.pt")
        ...     load(f"{folder}/list.pt")
        Traceback (most recent call last):
        ValueError: ...list.pt must be a checkpoint; got one list. Move it away, or name another file.
        >>> load("no such file")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'no such file'
    """
    rule, data = f"{file} must be a checkpoint", Path(file).read_bytes()
    try:
        # PyTorch writes checksums, and does not look at them again.
        damaged = ZipFile(io.BytesIO(data)).testzip()
        content = torch.load(
            io.BytesIO(data), map_location="cpu", weights_only=True
        )
    except Exception as error:  # bytes that mean nothing can raise anything
        raise ValueError(f"{rule}; it cannot be read as one. {WAY_OUT}") from error
    if damaged:
        raise ValueError(f"{rule}; it is damaged, in {damaged}. {WAY_OUT}")
    if not isinstance(content, dict):
        raise ValueError(f"{rule}; got one {type(content).__name__}. {WAY_OUT}")
    return content


def outline(name: str, content: Any) -> list[str]:
    """Say what a state is made of, one line a value: its names, shapes and dtypes.

    Example:
        >>> outline("model", {"weight": torch.ones(2, 3), "more": {0: None}})
        ['model.weight: (2, 3), torch.float32', 'model.more.0: NoneType']
    """
    if isinstance(content, dict):
        parts = [outline(f"{name}.{key}", part) for key, part in content.items()]
        return [line for lines in parts for line in lines]
    if isinstance(content, Tensor):
        return [f"{name}: {tuple(content.shape)}, {content.dtype}"]
    return [f"{name}: {type(content).__name__}"]


def check_same(file: str | Path, wanted: list[str], got: list[str]) -> None:
    """Raise unless what a checkpoint says of itself, line by line, is what is wanted.

    Example:
        >>> check_same("model.pt", ["seed: 2", "lr: 0.1"], ["seed: 2", "lr: 0.2"])
        Traceback (most recent call last):
        ValueError: model.pt must be of a training with 'lr: 0.1'; got one with 'lr: 0.2'. Move ...
    """
    for ours, theirs in zip_longest(wanted, got, fillvalue="nothing"):
        if ours != theirs:
            rule = f"{file} must be of a training with '{ours}'"
            raise ValueError(f"{rule}; got one with '{theirs}'. {WAY_OUT}")
