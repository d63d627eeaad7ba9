"""Write questions to ask some students in person, each about the student's own answer.

For code, a part of the answer is deleted and the rest is graded: which requirement fails, and why?
For numbers, one of the student's is changed: which results change, and to what?
"""

import ast
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from _config.course.similar import answer, code_of
from _config.course.weeks import Exercise, Week
from selfattn_book.exercises.checking.chapters import exercises_in
from selfattn_book.exercises.checking.variants import week_code

TRIES = 6  # parts that are deleted and graded, until one fails a single question
KEPT = ast.FunctionDef | ast.ClassDef | ast.Return | ast.Import | ast.ImportFrom


def sheet(
    week: Week, key: str, rows: list[Any], count: int, grade: Callable[[Path], list[Any]]
) -> str:
    """Return questions and their answers for some students, drawn by the key."""
    order = {row.student.id: week_code(key, f"orals {row.student.id}") for row in rows if row.counts}
    drawn = sorted((row for row in rows if row.counts), key=lambda row: order[row.student.id])
    lines = [f"# Week {week.number}: {week.title}: questions in person"]
    for row in drawn[:count]:
        lines.append(f"## {row.student.id} {row.student.name}".rstrip())
        for exercise in week.exercises:
            if exercise.kind == "in code":
                lines += without_a_part(row, exercise, grade, key)
            elif exercise.kind == "by hand":
                lines += with_another_number(week, row, exercise, order[row.student.id])
    return "\n\n".join(lines) + "\n"


def without_a_part(
    row: Any, exercise: Exercise, grade: Callable[[Path], list[Any]], key: str
) -> Iterator[str]:
    """Yield the answer with a part to delete, and what the grader says of the rest."""
    mine = answer(code_of(row.submission.file), exercise)
    passed = {one.message for one in row.results(exercise) if one.points}
    best: tuple[list[Any], str] = [], ""
    parts = sorted(deletions(mine), key=lambda part: week_code(key, "".join(part)))
    for part, rest in parts[:TRIES]:
        found = with_cell(row.submission.file, rest, grade)
        lost = [one for one in found if one.message in passed and not one.points]
        if lost and (not best[0] or len(lost) < len(best[0])):
            best = lost, part
        if len(lost) == 1:
            break
    if best[0]:
        yield f"**Ask.** Which requirements does `{exercise.name}` miss without this part, and why?"
        yield f"```python\n{best[1]}\n```\n\nThe answer:\n\n```python\n{mine}\n```"
        yield "**Key.**\n\n" + "\n".join(f"* {one.message}: {one.reason}" for one in best[0])


def deletions(code: str) -> list[tuple[str, str]]:
    """Return each statement and each operand that can be deleted, and the code without it.

    Example:
        >>> deletions("def f(a, b):\\n    return a & b")
        [('& b', 'def f(a, b):\\n    return a'), ('a &', 'def f(a, b):\\n    return b')]
    """
    found = []
    for number, node in enumerate(ast.walk(ast.parse(code))):
        if isinstance(node, ast.BinOp):
            left, sign, right = (ast.unparse(x) for x in (node.left, node, node.right))
            sign = sign.removeprefix(left).removesuffix(right).strip(" ()")
            found += [(f"{sign} {right}", replaced(code, number, "left"))]
            found += [(f"{left} {sign}", replaced(code, number, "right"))]
        elif isinstance(node, ast.stmt) and not isinstance(node, KEPT):
            found += [(ast.unparse(node), replaced(code, number, ""))]
    return found


def replaced(code: str, number: int, operand: str) -> str:
    """Return code in which a node is only one of its operands, or without it."""
    tree = ast.parse(code)
    old = list(ast.walk(tree))[number]
    new = getattr(old, operand) if operand else ast.Pass()

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return new if node is old else super().visit(node)

    return ast.unparse(Replace().visit(tree))


def with_cell(notebook: Path, code: str, grade: Callable[[Path], list[Any]]) -> list[Any]:
    """Return the results of a notebook with a cell more, whose definitions count."""
    made = json.loads(notebook.read_text("utf-8"))
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    made["cells"].append(cell | {"source": code, "id": "without"})
    with TemporaryDirectory() as folder:
        file = Path(folder) / notebook.name
        file.write_text(json.dumps(made), "utf-8")
        return grade(file)


def with_another_number(week: Week, row: Any, exercise: Exercise, order: str) -> Iterator[str]:
    """Yield a question on the numbers with one of them changed, and which results change."""
    mine = week.drawn(row.graded.code, row.student.id)
    before = right(week, exercise, mine)
    for name in sorted(mine, key=lambda name: week_code(order, name)):
        if type(mine[name]) is not int:
            continue
        with suppress(ArithmeticError, LookupError, ValueError):  # no such exercise
            after = right(week, exercise, mine | {name: mine[name] + 1})
            if changed := [x for x in after if after[x] != before[x]]:
                given = f"let `{name}` be {mine[name] + 1} instead of {mine[name]}"
                ask = "Which of your results change, to what, and why?"
                yield f"**Ask.** In `{exercise.name}`, {given}. {ask}"
                yield "**Key.**\n\n" + "\n".join(
                    f"* `{x}`: from {before[x]} to {after[x]}" for x in changed
                )
                return


def right(week: Week, exercise: Exercise, numbers: dict[str, Any]) -> dict[str, str]:
    """Return the right results of an exercise by hand, to be read."""
    made = next(x for x in exercises_in(week.checks, numbers) if x.name == exercise.name)
    return {name: shown(value) for name, value in made.right().items()}


def shown(value: Any) -> str:
    """Return a number or a list of numbers with four digits."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
