"""Processor time and peak memory of attention, as recorded by ``python -m benchmarks.cost``.

Times are milliseconds of each run, peaks are MiB of a process of its own.
A page of the book takes no times itself.
"""

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "data" / "recorded_times.json"
RECORDED: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
