"""Find answers in code that are alike in their structure, whatever the names and numbers in them."""

import ast
import json
from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

from _config.course.weeks import Exercise, Week

THRESHOLD = 0.85  # independent right answers reach 0.75, disguised copies 0.94: tests/course/independent.py
SMALLEST = 20  # subtrees; less code leaves no choice
Shape = Counter[str]


def table(week: Week, rows: Iterable[Any]) -> list[list[Any]]:
    """Return the groups of answers that are alike: exercise, least likeness, students."""
    made = [["exercise", "at least alike", "students"]]
    codes = {row.student.id: code_of(row.submission.file) for row in rows if row.counts}
    for exercise in week.exercises:
        if exercise.kind == "in code":
            given = {name: answer(code, exercise) for name, code in codes.items()}
            given["(the published solution)"] = exercise.cells["solution"]
            for least, names in groups({k: shape(v, exercise) for k, v in given.items()}):
                made.append([exercise.name, f"{least:.2f}", ", ".join(names)])
    return made


def code_of(notebook: Path) -> str:
    """Return the code cells of a notebook that are Python."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return "\n".join(source for source in sources if parsed(source))


def parsed(code: str) -> ast.Module | None:
    """Return a syntax tree if there is one."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return None


def answer(code: str, exercise: Exercise) -> str:
    """Return the definitions of an answer: its last one, and the helpers that it names."""
    defined = {x.name: x for x in ast.parse(code).body if hasattr(x, "name")}
    wanted, found = [exercise.name], []
    for name in wanted:
        if name in defined:
            found.append(ast.unparse(defined[name]))
            used = {x.id for x in ast.walk(defined[name]) if isinstance(x, ast.Name)}
            wanted += sorted(used & defined.keys() - {*wanted})
    return "\n".join(found)


def shape(code: str, exercise: Exercise) -> Shape:
    """Return how often each subtree occurs, without those of the stub, names and numbers."""
    return subtrees(code) - subtrees(exercise.cells["stub"])


def subtrees(code: str) -> Shape:
    """Return how often each subtree occurs; what is called and its attributes keep their names."""
    tree = ast.parse(code)
    own = {x.arg for x in ast.walk(tree) if isinstance(x, ast.arg)}
    own |= {x.id for x in ast.walk(tree) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
            node.name, node.returns = "", None
            node.body = node.body[ast.get_docstring(node) is not None :] or [ast.Pass()]
        elif isinstance(node, ast.arg):
            node.arg, node.annotation = "", None
        elif isinstance(node, ast.Constant):
            node.value = type(node.value).__name__
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in own:
            node.id = ""
    nodes = (x for x in ast.walk(tree) if isinstance(x, ast.expr | ast.stmt))
    return Counter(ast.dump(x) for x in nodes if not isinstance(x, ast.Name | ast.Constant))


def likeness(one: Shape, other: Shape) -> float:
    """Return the part of subtrees that two answers have in common, from 0 to 1."""
    return 2 * (one & other).total() / max((one + other).total(), 1)


def groups(shapes: dict[str, Shape]) -> list[tuple[float, list[str]]]:
    """Return groups of names that pairs above the threshold connect, with the least likeness."""
    large = {name: each for name, each in shapes.items() if each.total() >= SMALLEST}
    pairs = [(likeness(large[a], large[b]), a, b) for a, b in combinations(sorted(large), 2)]
    group: dict[str, set[str]] = {}
    for _, a, b in (pair for pair in pairs if pair[0] >= THRESHOLD):
        both = group.get(a, {a}) | group.get(b, {b})
        group |= dict.fromkeys(both, both)
    found = {id(names): names for names in group.values()}.values()
    return [
        (min(p for p, a, b in pairs if p >= THRESHOLD and {a, b} <= names), sorted(names))
        for names in found
    ]
