"""Write thirty answers to the assignment on masks into a folder, three of them hostile.

`python -m tests.course.thirty FOLDER KEY`; then they can be graded, as an instructor does it.
"""

import json
import sys
from pathlib import Path

from _config.course.weeks import week_of
from selfattn_book.course.variants import week_code
from tests.course.hostile import HOSTILE

WEEK = week_of("masks")
NAMES = """ada alan barbara.l claude-s donald edsger émile frances grace-42 hedy
ivan-7 jürgen katherine leslie margaret niklaus ole o'brien_p peter quentin
radia sophie tim ursula vint wei zoë 1234567 eve mallory""".split()
# What is changed in the solution; nobody of those after the last is changed.
CHANGES = [
    ("tril()", "triu()"),
    ("past & (same", "(same"),
    (" & real[:, :, None] & real[:, None, :]", ""),
    (" & real[:, :, None]", ""),
    ("(same | prompt)", "same"),
    ("< numbers", "<= numbers"),
    ("return mask[:, None]", "return mask"),
    ("return mask[:, None]", "return mask[:, None].float()"),
    ("return mask[:, None]", "return ~mask[:, None]"),
    ("return mask[:, None]", "mask[:, None]"),
    ("def packed_mask", "def pack_mask"),
    ("(a + b + c + d)", "1"),
    ("(b * v + c * w) / (b + c)", "(b * v + c * w) / (a + b + c)"),
    ('(numbers["width"] - 1) + 1', 'numbers["width"]'),
    ("import torch", "import numpy as torch"),
    ("def masked_row():", "def masked_row(:"),
]
HARM = dict(
    zip(
        ("ole", "mallory", "eve"),
        ("an endless loop", "a result of its own", "the checks"),
        strict=True,
    )
)


def text(number: int, name: str, key: str) -> str:
    """Return the answer of a student."""
    if name in HARM:
        return HOSTILE[HARM[name]][0]
    numbers = WEEK.drawn(week_code(key, WEEK.chapter), name)
    solutions = "\n\n".join(
        exercise.cells["solution"] for exercise in WEEK.exercises
    )
    right = f"import torch\nnumbers = {numbers}\n\n{solutions}\n"
    return right.replace(*CHANGES[number]) if number < len(CHANGES) else right


def main(folder: Path, key: str) -> None:
    """Write all answers, every third as a notebook."""
    folder.mkdir(parents=True)
    for number, name in enumerate(NAMES):
        source = text(number, name, key)
        if number % 3:
            (folder / f"{name}.py").write_text(source, "utf-8")
            continue
        notebook = {"cells": [{"cell_type": "code", "source": source}]}
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook), "utf-8")
    print(f"{len(NAMES)} answers are in {folder}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
