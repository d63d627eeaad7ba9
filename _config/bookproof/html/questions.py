"""Write exercises and the questions of a quiz as headings, and a question's options as a list.

A reader who listens goes from heading to heading. In the text a question is a term whose
definition are its options, ``(a)``, ``(b)`` and so on; the fold that follows is its answer.
"""

import re
from collections.abc import Iterator
from string import ascii_lowercase

from docutils import nodes
from sphinx.application import Sphinx

from ..words import _
from .addresses import link_to, named
from .formulas import prose
from .places import around, exercises


def head_exercises(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Make the titles of exercises headings of the level below their section's."""
    for exercise in exercises(doctree):
        for title in [child for child in exercise if isinstance(child, nodes.title)]:
            words = [*title.children, link_to(exercise["ids"][0], _("Link to this exercise"))]
            exercise.replace(title, heading(exercise, words, "admonition-title"))


def heading(place: nodes.Element, words: list[nodes.Node], name: str) -> nodes.rubric:
    level = 1 + sum(isinstance(holder, nodes.section) for holder in around(place.parent))
    return nodes.rubric("", "", *words, classes=[name], **{"heading-level": min(level, 6)})


def head_questions(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Make each question of a quiz a heading, its options a list, and name its answer."""
    quizzes = [found for found in doctree.findall(nodes.definition_list) if is_quiz(found)]
    for number, quiz in enumerate(quizzes, 1):
        if title := answer_after(quiz):
            title += nodes.inline(
                "", _(" to question {n}").format(n=number), classes=["visually-hidden"]
            )
        parts = [part for item in quiz for part in question(item)]
        if quiz["ids"]:  # the name that was given to it
            parts[0]["ids"] = [quiz["ids"][0]]
        for rubric in parts[::2]:
            rubric += link_to(rubric["ids"][0], _("Link to this question"))
        quiz.parent[quiz.parent.index(quiz) : quiz.parent.index(quiz) + 1] = parts


def is_quiz(found: nodes.definition_list) -> bool:
    """Tell whether all definitions of a list are options."""
    return all(item[-1].astext().startswith("(a) ") for item in found)


def question(item: nodes.Element) -> list[nodes.Element]:
    term, definition = item[0], item[-1]
    rubric = heading(item, term.children, "quiz-question")
    rubric["ids"] = [named("quiz", prose(term))]
    return [rubric, listed(definition[0].children)]


def listed(words: list[nodes.Node]) -> nodes.enumerated_list:
    """Make a list of a line of options."""
    options: list[nodes.paragraph] = []
    for part in pieces(words):
        letter = f"({ascii_lowercase[len(options)]}) "
        if isinstance(part, nodes.Text) and part.startswith(letter):
            options.append(nodes.paragraph())
        options[-1] += part
    items = [nodes.list_item("", option) for option in options]
    return nodes.enumerated_list("", *items, classes=["options", "simple"])


def pieces(words: list[nodes.Node]) -> Iterator[nodes.Node]:
    """Yield the parts of a line, with its text cut before everything that may be an option."""
    for word in words:
        if isinstance(word, nodes.Text):
            yield from map(nodes.Text, re.split(r"(?<=\s)(?=\([a-z]\) )", word))
        else:
            yield word


def answer_after(quiz: nodes.Element) -> nodes.Element | None:
    after = quiz.next_node(descend=False, siblings=True)
    if after is None or "sd-dropdown" not in after.get("classes", []):
        return None
    return next(iter(after.findall(lambda node: type(node).__name__ == "dropdown_title")), None)


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", head_exercises, priority=900)
    app.connect("doctree-resolved", head_questions, priority=900)
