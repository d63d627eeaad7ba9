"""Where and with what a benchmark was taken, and the JSON file that records it."""

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import torch

import selfattn_book


def provenance(runs: int) -> dict[str, Any]:
    """Return the date, versions and machine of a benchmark."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "selfattn_book": selfattn_book.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
        "platform": platform.platform(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "cpu_count": os.cpu_count(),
        "runs": runs,
    }


def with_digest(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Add a digest of all entries, which reveals a later edit by hand.

    >>> with_digest({"seconds": [1.0]}) == with_digest(with_digest({"seconds": [1.0]}))
    True
    """
    entries = {name: entry for name, entry in recorded.items() if name != "digest"}
    text = json.dumps(entries, sort_keys=True)
    return {**entries, "digest": hashlib.sha256(text.encode()).hexdigest()}


def as_json(recorded: Mapping[str, Any]) -> str:
    """Return indented JSON in which a list fills one line."""
    text = json.dumps(recorded, indent=1)
    return re.sub(r"\[[^\[\]]*\]", lambda runs: " ".join(runs[0].split()), text) + "\n"
