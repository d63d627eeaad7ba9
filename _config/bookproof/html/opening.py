"""Read what a page says of itself: its promise, its objectives, its minutes, its first paragraph.

A chapter begins with an admonition of the class `opening`, whose paragraphs begin with bold words:
the first says what the reader will do; *Afterwards you can* and *Time* say what their names say.
"""

import re
from dataclasses import dataclass

from docutils import nodes

from .formulas import prose

LONGEST = 200  # characters; who shows a link cuts what is longer


@dataclass
class Opening:
    """What the beginning of a chapter says of it; minutes are those of reading."""

    promise: str
    objectives: str = ""
    minutes: int = 0


def opening(doctree: nodes.document) -> Opening | None:
    """Return what a chapter says of itself, or nothing where a page is no chapter."""
    boxes = [box for box in doctree.findall(nodes.admonition) if "opening" in box["classes"]]
    if not boxes:
        return None
    said = [prose(line) for line in boxes[0].findall(nodes.paragraph)]
    time = re.search(r"\d+", after("Time", said))
    minutes = int(time[0]) if time else 0
    return Opening(said[0] if said else "", after("Afterwards you can", said), minutes)


def after(words: str, lines: list[str]) -> str:
    """Return what follows these words in the line that begins with them."""
    return next((line[len(words) :].strip() for line in lines if line.startswith(words)), "")


def description(doctree: nodes.document) -> str:
    """Return the promise of a chapter, or the first sentences of another page."""
    begun = opening(doctree)
    if begun:
        return begun.promise
    first = doctree.next_node(nodes.paragraph)
    return first_sentences(prose(first)) if first else ""


def first_sentences(text: str) -> str:
    """Return as many whole sentences as fit, but at least one."""
    said, *more = re.split(r"(?<=[.?!]) (?=[A-Z])", text)
    for sentence in more:
        if len(said) + len(sentence) > LONGEST:
            break
        said += f" {sentence}"
    return said
