"""Mark code that is wrong on purpose: the lines that define a name that begins with ``broken``."""

import ast

from docutils import nodes
from sphinx.application import Sphinx

from .places import is_cell

WHOLE, PARTLY = "Wrong on purpose", "Wrong on purpose: the marked lines"


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
            label = nodes.paragraph("", WHOLE if whole else PARTLY, classes=["wrong-label"])
            cell[0].insert(0, label)
            cell["classes"].append("wholly" if whole else "partly")


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", mark_wrong_cells, priority=450)
