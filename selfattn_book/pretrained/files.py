"""Files that come with a pretrained model, checked before they are read."""

import json
from pathlib import Path
from typing import Any

LARGEST_TEXT = 50_000_000  # bytes


def check_file(file: Path, largest: int) -> None:
    """Raise ``FileNotFoundError`` or ``ValueError`` if a file does not exist, or is too large."""
    if not file.is_file():
        raise FileNotFoundError(f"{file.name} must be a file in {file.parent}; it does not exist")
    size = file.stat().st_size
    if size > largest:
        raise ValueError(f"{file.name} must have at most {largest} bytes; got {size}")


def read_json(file: Path) -> dict[str, Any]:
    """Read a JSON object, or raise ``ValueError``."""
    check_file(file, LARGEST_TEXT)
    try:
        values = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file.name} must be JSON in UTF-8; {error}") from None
    if not isinstance(values, dict):
        raise ValueError(f"{file.name} must be an object; got {type(values).__name__}")
    return values
