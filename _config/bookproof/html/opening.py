"""Read what a page says of itself in its opening, an admonition of the class `opening`."""

import re
from dataclasses import dataclass

from docutils import nodes
from sphinx.addnodes import pending_xref

from ..words import N_, _
from .formulas import prose

LABELS = (N_("You will"), N_("You will be able to"), N_("Prerequisites"), N_("Time"))
LONGEST = 200  # characters; who shows a link cuts what is longer


@dataclass
class Opening:
    """What the beginning of a chapter says of it; minutes are those of reading.

    The pages that it needs are known as long as links are not resolved.
    """

    promise: str
    objectives: str = ""
    minutes: int = 0
    needs: tuple[str, ...] = ()


def opening(doctree: nodes.document) -> Opening | None:
    """Return what a chapter says of itself, or nothing where a page is no chapter."""
    boxes = [box for box in doctree.findall(nodes.admonition) if "opening" in box["classes"]]
    if not boxes:
        return None
    parts = by_label(boxes[0])
    said = {label: prose(part) for label, part in parts.items()}
    time = re.search(r"\d+", said.get("Time", ""))
    links = parts.get("Prerequisites", nodes.inline()).findall(pending_xref)
    return Opening(
        first_sentences(_("You will") + " " + said.get("You will", "")),
        said.get("You will be able to", ""),
        int(time[0]) if time else 0,
        tuple(link["reftarget"] for link in links if link["refdomain"] == "doc"),
    )


def by_label(box: nodes.Element) -> dict[str, nodes.inline]:
    """Return what is said in an opening, by the bold words that begin it."""
    said: dict[str, nodes.inline] = {}
    label, labels = "", {_(label): label for label in LABELS}
    for line in box.findall(nodes.paragraph):
        for part in line:
            if isinstance(part, nodes.strong) and part.astext() in labels:
                label = labels[part.astext()]
            else:
                said.setdefault(label, nodes.inline()).append(part.deepcopy())
    return said


def description(doctree: nodes.document) -> str:
    """Return the promise of a chapter, or the first sentences of another page."""
    begun = opening(doctree)
    if begun:
        return begun.promise
    first = doctree.next_node(nodes.paragraph)
    # The title of another page, which is the text of a link without one, is not known yet.
    return first_sentences(prose(first).replace(" ()", "")) if first else ""


def first_sentences(text: str) -> str:
    """Return as many whole sentences as fit, but at least one."""
    said, *more = re.split(r"(?<=[.?!]) (?=[A-Z])", text)
    for sentence in more:
        if len(said) + len(sentence) > LONGEST:
            break
        said += f" {sentence}"
    return said
