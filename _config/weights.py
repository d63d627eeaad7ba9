"""Write the weights of the book's language model as a script for the live figure that runs it.

A page that is opened from a folder may load scripts, and nothing else. The script is made by each build.
"""

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
WRITER = ROOT / "selfattn_book" / "data" / "writer.safetensors"
SCRIPT = ROOT / "_build" / "static" / "writer-weights.js"


def script(file: Path) -> str:
    """Return a script that hands a file to the live figures, with its digest."""
    content = file.read_bytes()
    packed = {"digest": sha256(content).hexdigest(), "base64": b64encode(content).decode()}
    return f"liveFigures.take({json.dumps(packed)});\n"


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the script beside the other files that a build makes."""
    SCRIPT.parent.mkdir(parents=True, exist_ok=True)
    SCRIPT.write_text(script(WRITER), "utf-8")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
