"""Write questions to ask some students in person, each about the student's own answer.

For code, a part of the answer is deleted and the rest is graded: what fails, and why?
For numbers, one of the student's is changed: which results change, and to what?
"""

import ast
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from _config.course.grading import Graded, cells_of
from _config.course.similar import answer
from _config.course.weeks import Exercise, Week
from selfattn_book.exercises.checking.exercise import Exercise as Checked
from selfattn_book.exercises.checking.variants import week_code

Grade = Callable[[Path], Graded]
TRIES = 6  # parts that are deleted and graded, until one fails a single question


def sheet(week: Week, key: str, rows: list[Any], count: int, grade: Grade) -> str:
    """Return questions and their answers for some students, drawn by the key."""
    counted = [row for row in rows if row.graded]
    counted.sort(key=lambda row: week_code(key, f"orals {row.student.id}"))
    lines = [f"# Week {week.number}: {week.title}: questions in person"]
    for row in counted[:count]:
        lines.append(f"## {row.student.id} {row.student.name}".rstrip())
        for exercise in week.exercises:
            if exercise.kind == "in code":
                lines += without_a_part(row, exercise, grade, key)
            elif exercise.kind == "by hand":
                lines += with_another_number(week, row, exercise.name, key)
    return "\n\n".join(lines) + "\n"


def without_a_part(row: Any, exercise: Exercise, grade: Grade, key: str) -> Iterator[str]:
    """Yield a question on the answer without a part, and what the grader says of the rest."""
    mine = answer(row.submission.file, exercise.name)
    passed = {one.message for one in row.results(exercise) if one.points}
    fewest: list[Any] = []
    parts = sorted(deletions(mine), key=lambda each: week_code(key, "".join(each)))
    for part, rest in parts[:TRIES]:
        found = with_cell(row.submission.file, rest, grade)
        lost = [one for one in found if one.message in passed and not one.points]
        if lost and (not fewest or len(lost) < len(fewest)):
            fewest, deleted = lost, part
        if len(lost) == 1:
            break
    if fewest:
        yield f"**Ask.** Which requirements does `{exercise.name}` miss without this part, and why?"
        yield f"```python\n{deleted}\n```\n\nThe answer:\n\n```python\n{mine}\n```"
        yield key_of(f"{one.message}: {one.reason}" for one in fewest)


def key_of(lines: Iterable[str]) -> str:
    """Return what an instructor compares a student's reply with."""
    return "\n".join(["**Key.**\n", *(f"* {line.strip()}" for line in lines)])


def deletions(code: str) -> Iterator[tuple[str, str]]:
    r"""Yield each operand and each changing statement, and the code without it.

    Example:
        >>> list(deletions("def f(a, b):\n    return a & b"))
        [('& b', 'def f(a, b):\n    return a'), ('a &', 'def f(a, b):\n    return b')]
    """
    tree = ast.parse(code)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            nodes = value if isinstance(value, list) else [value]
            for place, node in enumerate(nodes):
                for part, rest in shortened(node):
                    nodes[place] = rest
                    setattr(parent, name, nodes if nodes is value else rest)
                    yield part, ast.unparse(tree)
                nodes[place] = node
                setattr(parent, name, value)


def shortened(node: Any) -> Iterator[tuple[str, ast.AST]]:
    """Yield each part that a node can lose, and what is left of it."""
    if isinstance(node, ast.BinOp):
        sign = ast.unparse(ast.BinOp(ast.Name("a"), node.op, ast.Name("b")))[2:-2]
        yield f"{sign} {ast.unparse(node.right)}", node.left
        yield f"{ast.unparse(node.left)} {sign}", node.right
    elif isinstance(node, ast.Assign):
        used = {x.id for x in ast.walk(node.value) if isinstance(x, ast.Name)}
        if any(not isinstance(x, ast.Name) or x.id in used for x in node.targets):
            yield ast.unparse(node), ast.Pass()  # it changes what there is already
    elif isinstance(node, ast.AugAssign | ast.If | ast.Expr):
        yield ast.unparse(node), ast.Pass()


def with_cell(notebook: Path, code: str, grade: Grade) -> list[Any]:
    """Return the results of the code cells of a notebook, and of one more, which counts."""
    cells = [{"cell_type": "code", "source": each} for each in [*cells_of(notebook), code]]
    with TemporaryDirectory() as folder:
        file = Path(folder) / notebook.name
        file.write_text(json.dumps({"cells": cells}), "utf-8")
        return grade(file).results


def with_another_number(week: Week, row: Any, name: str, key: str) -> Iterator[str]:
    """Yield a question on one of the student's numbers, and which right results change with it."""
    mine = week.drawn(row.graded.code, row.student.id)
    for each in sorted(mine, key=lambda each: week_code(key, row.student.id + each)):
        if type(mine[each]) is not int:
            continue
        with suppress(ArithmeticError, LookupError, TypeError, ValueError):  # no such exercise
            changed = mine | {each: mine[each] + 1}
            before, after = (numbers_of(week.checks_with(x)[name]) for x in (mine, changed))
            if different := [x for x in after if after[x] != before[x]]:
                given = f"let `{each}` be {changed[each]} instead of {mine[each]}"
                yield f"**Ask.** In `{name}`, {given}: which results change, to what, and why?"
                yield key_of(f"`{x}`: from {before[x]} to {after[x]}" for x in different)
                return


def numbers_of(exercise: Checked) -> dict[str, Any]:
    """Return the right results of an exercise by hand, with four decimals."""
    right = exercise.right().items()
    return {k: torch.as_tensor(v, dtype=torch.float64).round(decimals=4).tolist() for k, v in right}
