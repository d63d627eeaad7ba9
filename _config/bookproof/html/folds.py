"""Fold solutions and hidden outputs with ``<details>``; mark code that is wrong on purpose.

No two folds of a page have the same name: what a label leaves to its place, a hidden part says.
Wrong on purpose are the lines that define a name that begins with ``broken``.
"""

import ast
from html import escape

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import solution_node

from ..words import _
from .places import around, exercises, is_cell


def open_solution(self: HTML5Translator, node: nodes.Element) -> None:
    """Begin the fold of a solution; its label replaces the title, which names the exercise."""
    printed = self.config.bookproof_edition == "instructors"
    node["classes"] = ["fold", "solution", *(["printed"] if printed else [])]
    titles = [child for child in node if isinstance(child, nodes.title)]
    whose = (
        "".join(title.astext() for title in titles)
        .removeprefix("Solution")
        .removeprefix(_("Solution"))
    )
    node.children = [child for child in node if child not in titles]
    self.body.append(self.starttag(node, "details") + summary(_("Solution"), whose))


def open_output(self: HTML5Translator, node: nodes.Element) -> None:
    label = summary(node["prompt_show"], _(" of cell {n}").format(n=node["cell"]))
    classes = " ".join(["fold", "hidden-cell", *node.get("kinds", ())])
    self.body.append(f'<details class="{classes}">{label}')


def summary(label: str, which: str) -> str:
    """Return the label of a fold, of which one reads the first part and hears all."""
    hidden = f'<span class="visually-hidden">{escape(which)}</span>' if which else ""
    return f"<summary>{escape(label)}{hidden}</summary>\n"


def close_fold(self: HTML5Translator, node: nodes.Element) -> None:
    self.body.append("</details>\n")


def drop_shared_ids(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Drop the ids that every exercise of a page shares."""
    for box in (*exercises(doctree), *doctree.findall(solution_node)):
        for section in box.findall(nodes.section):
            section["ids"] = []


def label_folds(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Say of each fold of which cell it is, and let the code of a figure follow the figure."""
    for fold in list(doctree.findall(HideCodeCellNode)):
        near = (*around(fold), *fold.findall(nodes.container))  # part of a cell, or holding one
        cell = next((node for node in near if "cell_index" in node), None)
        fold["cell"] = cell["cell_index"] + 1 if cell is not None else 0
        if cell is None:
            continue
        if "set-up" in cell["cell_metadata"].get("tags", ()):
            fold["prompt_show"], fold["kinds"] = _("Set-up"), ["set-up"]
        elif "above-input" in fold["classes"] and next(cell.findall(nodes.figure), None):
            fold["prompt_show"], fold["kinds"] = _("Code of this figure"), ["of-figure"]
            cell.remove(fold)
            cell.append(fold)


def wrong_lines(code: str) -> list[int]:
    """Return the numbers of the lines that define something broken."""
    try:
        statements = ast.parse(code).body
    except SyntaxError:  # of a cell that is no Python the other parts speak
        return []
    wrong: list[int] = []
    for statement in statements:
        if any(name.lower().lstrip("_").startswith("broken") for name in defined_by(statement)):
            decorators = [node.lineno for node in getattr(statement, "decorator_list", [])]
            first = min([statement.lineno, *decorators])
            wrong += range(first, (statement.end_lineno or first) + 1)
    return wrong


def defined_by(statement: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return [node.id for node in stored if isinstance(node.ctx, ast.Store)]


def mark_wrong_cells(app: Sphinx, doctree: nodes.document) -> None:
    for cell in list(doctree.findall(nodes.container)):
        if not is_cell(cell) or not len(cell):
            continue
        for code in list(cell[0].findall(nodes.literal_block)):
            if not (lines := wrong_lines(code.astext())):
                continue
            cell["classes"].append("wrong")
            written = [n for n, line in enumerate(code.astext().splitlines(), 1) if line.strip()]
            whole = set(written) <= set(lines)
            if not whole:
                code["highlight_args"] = {**code.get("highlight_args", {}), "hl_lines": lines}
            words = _("Wrong on purpose") if whole else _("Wrong on purpose: the marked lines")
            label = nodes.paragraph("", words, classes=["wrong-label"])
            cell[0].insert(0, label)
            cell["classes"].append("wholly" if whole else "partly")


def setup(app: Sphinx) -> None:
    app.add_node(solution_node, override=True, html=(open_solution, close_fold))
    app.add_node(HideCodeCellNode, override=True, html=(open_output, close_fold))
    app.connect("doctree-resolved", drop_shared_ids, priority=900)
    app.connect("doctree-resolved", label_folds)
    app.connect("doctree-read", mark_wrong_cells, priority=450)
