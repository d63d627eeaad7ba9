"""Measurements of three language models of each recipe, recorded by ``python -m benchmarks.writers``.

Losses are in bits per character. A page of the book does not train the large model.
"""

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "data" / "recorded_writers.json"
RECORDED: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
