"""Find answers in code that are alike in their structure, whatever the names and numbers in them."""

import ast
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

from _config.course.grading import cells_of
from _config.course.weeks import Week

THRESHOLD = 0.85  # independent right answers reach 0.75, disguised copies 0.94
SMALLEST = 20  # subtrees; less code leaves no choice
UNREADABLE = SyntaxError, ValueError, RecursionError, MemoryError
Shape = Counter[str]


def table(week: Week, rows: Iterable[Any]) -> list[list[Any]]:
    """Return the groups of answers that are alike: exercise, least likeness, students."""
    made = [["exercise", "at least alike", "students"]]
    files = {row.student.id: row.submission.file for row in rows if row.graded}
    for exercise in (one for one in week.exercises if one.kind == "in code"):
        codes = {student: answer(file, exercise.name) for student, file in files.items()}
        codes["(the published solution)"] = exercise.cells["solution"]
        stub = shape(exercise.cells["stub"])
        for least, names in groups({name: shape(code) - stub for name, code in codes.items()}):
            made.append([exercise.name, f"{least:.2f}", ", ".join(names)])
    return made


def answer(notebook: Path, name: str) -> str:
    """Return the last definition of a name in a notebook, and the helpers that it uses."""
    defined, wanted, found = {}, [name], []
    with suppress(ValueError):  # it is not a notebook
        for code in cells_of(notebook):
            with suppress(*UNREADABLE):  # as magics are
                body = ast.parse(code).body
                defined |= {each.name: each for each in body if hasattr(each, "name")}
    for each in wanted:
        if each in defined:
            with suppress(*UNREADABLE):
                found.append(ast.unparse(defined[each]))
            used = {x.id for x in ast.walk(defined[each]) if isinstance(x, ast.Name)}
            wanted += sorted(used & defined.keys() - {*wanted})
    return "\n".join(found)


def shape(code: str) -> Shape:
    """Return how often each subtree occurs; only what is not defined in the code keeps its name."""
    tree = ast.parse(code)
    nodes = list(ast.walk(tree))
    own = {x.arg for x in nodes if isinstance(x, ast.arg)}
    own |= {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    own |= {x.name for x in nodes if isinstance(x, ast.FunctionDef | ast.ClassDef)}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.name, node.returns = "", None
            node.body = node.body[ast.get_docstring(node) is not None :]
        elif isinstance(node, ast.arg):
            node.arg, node.annotation = "", None
        elif isinstance(node, ast.Constant):
            node.value = type(node.value).__name__
        elif isinstance(node, ast.Name) and node.id in own:
            node.id = ""
    large = (x for x in ast.walk(tree) if isinstance(x, ast.expr | ast.stmt))
    return Counter(ast.dump(x) for x in large if not isinstance(x, ast.Name | ast.Constant))


def likeness(one: Shape, other: Shape) -> float:
    """Return the part of subtrees that two answers have in common, from 0 to 1."""
    return 2 * (one & other).total() / max((one + other).total(), 1)


def groups(shapes: dict[str, Shape]) -> list[tuple[float, list[str]]]:
    """Return the groups of names that pairs above the threshold connect, with the least likeness."""
    large = sorted(name for name, each in shapes.items() if each.total() >= SMALLEST)
    pairs = {(a, b): likeness(shapes[a], shapes[b]) for a, b in combinations(large, 2)}
    alike = {pair: value for pair, value in pairs.items() if value >= THRESHOLD}
    group: dict[str, list[str]] = {}
    for a, b in alike:
        both = sorted({*group.get(a, [a]), *group.get(b, [b])})
        group |= dict.fromkeys(both, both)
    found = {tuple(names): names for names in group.values()}.values()
    return [(min(v for (a, _), v in alike.items() if a in names), names) for names in found]
