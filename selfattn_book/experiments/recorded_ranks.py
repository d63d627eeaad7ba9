"""Output of distributed training in real processes, recorded by ``python -m benchmarks.launched``.

A page of the book starts no processes itself.
"""

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "data" / "recorded_ranks.json"
RECORDED: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
