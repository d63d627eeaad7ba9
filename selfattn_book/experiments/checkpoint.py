"""Write and read training checkpoints, each written completely or not at all."""

import io
import os
from itertools import zip_longest
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import torch
from torch import nn

WAY_OUT = "Move it away, or name another file."


def save(file: str | Path, content: dict[str, Any]) -> None:
    """Write a checkpoint atomically: an interruption leaves the previous one intact.

    Raises:
        OSError: the file cannot be written, for example because the disk is full.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     save(f"{folder}/model.pt", {"weight": torch.ones(2)})
        ...     load(f"{folder}/model.pt")
        {'weight': tensor([1., 1.])}
    """
    data = io.BytesIO()
    torch.save(content, data)
    write_whole(file, data.getbuffer())


def write_whole(file: str | Path, data: bytes | memoryview) -> None:
    """Write a file atomically, by way of a temporary file of this process, ``FILE.PID.part``."""
    whole = Path(file)
    part = whole.with_name(f"{whole.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())  # on disk before it replaces the old file
        part.replace(whole)
    except OSError as error:
        rule = f"{file} must be a writable file; got '{error.strerror}'"
        way_out = "The previous file is unchanged: free disk space, or name another file."
        raise OSError(f"{rule}. {way_out}") from error
    finally:
        part.unlink(missing_ok=True)


def load(file: str | Path) -> dict[str, Any]:
    """Read a checkpoint to the CPU, without running code in it.

    Raises:
        OSError: the file does not exist, or cannot be opened.
        ValueError: the file is not a checkpoint, or is damaged.
    """
    rule, data = f"{file} must be a checkpoint", Path(file).read_bytes()
    try:
        damaged = ZipFile(io.BytesIO(data)).testzip()  # PyTorch itself does not verify checksums
        content = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can raise any exception
        raise ValueError(f"{rule}; it cannot be read as one. {WAY_OUT}") from error
    if damaged:
        raise ValueError(f"{rule}; it is damaged, in {damaged}. {WAY_OUT}")
    if not isinstance(content, dict):
        raise ValueError(f"{rule}; got one {type(content).__name__}. {WAY_OUT}")
    return content


def save_training(
    file: str | Path,
    recipe: list[str],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    **progress: Any,
) -> None:
    """Write the recipe and progress of a training, and the states of its model and optimizer."""
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    save(file, {"recipe": recipe, **progress, **states})


def resume_training(
    file: str | Path | None,
    recipe: list[str],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> dict[str, Any]:
    """Load the states of a training with the same recipe, if a file is given and exists.

    Returns:
        The content of the checkpoint, or an empty dictionary.

    Raises:
        FileNotFoundError: the folder of the file does not exist.
        ValueError: the file is not a checkpoint of a training, or a line of its recipe differs;
            then model and optimizer are unchanged.
    """
    if file is None:
        return {}
    if not Path(file).parent.is_dir():
        rule = f"{file} must be in an existing folder"
        raise FileNotFoundError(f"{rule}; got no {Path(file).parent}")
    if not Path(file).exists():
        return {}
    content = load(file)
    if not isinstance(content.get("recipe"), list):
        rule = f"{file} must be a checkpoint of this training"
        raise ValueError(f"{rule}; got one of something else. {WAY_OUT}")
    check_recipe(file, recipe, content["recipe"])
    model.load_state_dict(content["model"])
    optimizer.load_state_dict(content["optimizer"])
    return content


def check_recipe(file: str | Path, ours: list[str], theirs: list[str]) -> None:
    """Raise ``ValueError`` if a line of a checkpoint's recipe differs from that of a training."""
    for own, other in zip_longest(ours, theirs, fillvalue="nothing"):
        if own != other:
            rule = f"{file} must be of a training with '{own}'"
            raise ValueError(f"{rule}; got one with '{other}'. {WAY_OUT}")


def shapes(model: nn.Module) -> list[str]:
    """Describe the parameters of a model, a line each."""
    return [f"{name}: {tuple(p.shape)}, {p.dtype}" for name, p in model.named_parameters()]
