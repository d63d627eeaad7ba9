"""Fold solutions and hidden outputs with the browser's own ``<details>``.

It opens without scripts, by mouse and by keyboard, and its label is the text that one sees.
"""

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import (
    exercise_enumerable_node,
    exercise_node,
    solution_node,
)


def open_solution(self: HTML5Translator, node: nodes.Element) -> None:
    """Begin the fold of a solution; its label replaces the title."""
    node["classes"] = ["fold", "solution"]
    node.children = [child for child in node if not isinstance(child, nodes.title)]
    self.body.append(self.starttag(node, "details") + "<summary>Solution</summary>\n")


def open_output(self: HTML5Translator, node: nodes.Element) -> None:
    """Begin the fold of a cell's code or output."""
    label = node["prompt_show"]
    self.body.append(f'<details class="fold hidden-cell"><summary>{label}</summary>\n')


def close_fold(self: HTML5Translator, node: nodes.Element) -> None:
    """End a fold."""
    self.body.append("</details>\n")


def tidy(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Drop the ids that every exercise of a page shares."""
    for kind in (exercise_node, exercise_enumerable_node, solution_node):
        for exercise in doctree.findall(kind):
            for section in exercise.findall(nodes.section):
                section["ids"] = []


def setup(app: Sphinx) -> dict[str, bool]:
    """Replace how the two libraries write their folds."""
    app.add_node(solution_node, override=True, html=(open_solution, close_fold))
    app.add_node(HideCodeCellNode, override=True, html=(open_output, close_fold))
    app.connect("doctree-resolved", tidy, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
