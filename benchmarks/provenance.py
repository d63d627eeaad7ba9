"""Where and with what a benchmark was taken."""

import os
import platform
from datetime import UTC, datetime
from typing import Any

import torch

import selfattn_book


def provenance(runs: int) -> dict[str, Any]:
    """Return where and with what the times were taken."""
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
