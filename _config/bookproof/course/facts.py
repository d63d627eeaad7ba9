"""What a course has to know of a chapter: objectives, prerequisites, minutes, exercises.

The first line of an exercise says what it is, at which level, and how long it takes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from ..html import minutes, places
from ..html.formulas import prose
from ..html.opening import opening

KIND = re.compile(r".*?\d minutes")
COUNTED = minutes.BEFORE_FOLDS + 1  # a page is read as its minutes are counted


@dataclass(frozen=True)
class Exercise:
    """An exercise: its address on the page, its title, and what it says of itself."""

    label: str
    title: str
    kind: str


@dataclass(frozen=True)
class Facts:
    """What a chapter says: what one can do afterwards, which pages it needs, how long it takes."""

    objectives: str
    needs: tuple[str, ...]
    minutes: dict[str, int]
    exercises: tuple[Exercise, ...]


def note(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the facts of a chapter that was just read."""
    said = opening(doctree)
    if said is None:
        return
    counted = {name: count(doctree) for name, count in minutes.PARTS.items()}
    facts = Facts(said.objectives, said.needs, counted, tuple(exercises(doctree)))
    app.env.metadata[app.env.docname]["course"] = facts


def exercises(doctree: nodes.document) -> Iterator[Exercise]:
    for exercise in places.exercises(doctree):
        title = exercise.next_node(nodes.title)
        first = exercise.next_node(nodes.paragraph)
        said = KIND.match(prose(first)) if first else None
        name = prose(title).removeprefix("Exercise").strip() if title else ""
        yield Exercise(exercise["label"], name, said[0] if said else "")


def chapters(env: BuildEnvironment, part: str | None = None) -> dict[str, Facts]:
    """Return the chapters of a part of the book, or all of them, in their order."""
    trees = env.get_doctree(env.config.root_doc).findall(addnodes.toctree)
    chosen = (tree for tree in trees if part is None or tree["caption"] == part)
    docs = [doc for tree in chosen for doc in tree["includefiles"]]
    return {doc: env.metadata[doc]["course"] for doc in docs if "course" in env.metadata[doc]}


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", note, priority=COUNTED)
