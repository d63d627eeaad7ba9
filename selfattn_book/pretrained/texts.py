"""Files of text that lie beside the weights of a model."""

import json
from pathlib import Path
from typing import Any

LARGEST_TEXT = 50_000_000  # bytes


def read_text(file: Path) -> str:
    """Return the text in a file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is too large, or no text in UTF-8.

    Example:
        >>> read_text(Path("nowhere", "merges.txt"))
        Traceback (most recent call last):
        FileNotFoundError: merges.txt must lie in nowhere; it does not
    """
    if not file.is_file():
        raise FileNotFoundError(
            f"{file.name} must lie in {file.parent}; it does not"
        )
    if file.stat().st_size > LARGEST_TEXT:
        rule = f"{file.name} must have at most {LARGEST_TEXT} bytes"
        raise ValueError(f"{rule}; got {file.stat().st_size}")
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file.name} must be text in UTF-8; {error}") from None


def read_json(file: Path) -> dict[str, Any]:
    """Return what a file of JSON says, which must be names and values.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is too large, no JSON, or no object.
    """
    text = read_text(file)
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file.name} must be JSON; {error}") from None
    if not isinstance(said, dict):
        rule = f"{file.name} must hold names and values"
        raise ValueError(f"{rule}; got {type(said).__name__}")
    return said
