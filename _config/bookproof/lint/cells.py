"""Rules for code cells: short, copyable, seeded."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from .page import Block, Book, Finding, Page

IMPORT = re.compile(r"(import|from) \w")


def syntax(page: Page, book: Book) -> Iterator[Finding]:
    """Report the cells that Python cannot read; the other rules for cells need all of a page."""
    for cell in page.cells:
        try:
            ast.parse(cell.code)
        except SyntaxError as error:
            yield cell.start + (error.lineno or 1) - 1, f"a cell is Python; got {error.msg}"


def sizes(page: Page, book: Book) -> Iterator[Finding]:
    """Limit the lines of a cell, imports aside, and their columns."""
    limits, columns = book.settings["limits"], book.settings["limits"]["cell_columns"]
    for cell in page.cells:
        lines = limits["whole_lines" if "whole" in cell.tags else "cell_lines"]
        if (count := sum(not IMPORT.match(line) for line in cell.source)) > lines:
            yield cell.start, f"a cell has at most {lines} lines; got {count}"
        for number, line in cell.body:
            if len(line) > columns:
                yield number, f"a line of code has at most {columns} columns; got {len(line)}"


def definitions(page: Page, book: Book) -> Iterator[Finding]:
    """Define functions and classes in exercises only, or whole, or broken on purpose."""
    exercises = page.section("Exercises")
    elsewhere = (c for c in page.cells if c.start not in exercises and "whole" not in c.tags)
    for cell in elsewhere:
        for node in ast.walk(ast.parse(cell.code)):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            if not node.name.startswith("broken_"):
                message = "a definition is in an exercise, tagged whole, or named broken_"
                yield cell.start + node.lineno - 1, f"{message}; got {node.name}"


def neighbors(page: Page, book: Book) -> Iterator[Finding]:
    """Put a sentence between two cells that a reader sees, unless they stand side by side."""
    beside = page.between("versus")
    previous: Block | None = None
    for cell in page.cells:
        is_flagged = "remove" not in cell.tags and not any(cell.line in part for part in beside)
        if cell.is_check or "remove-cell" in cell.tags:
            continue
        if is_flagged and previous and not _text_between(page, previous, cell):
            yield cell.start, "a sentence stands between two cells"
        previous = None if "set-up" in cell.tags else cell


def _text_between(page: Page, first: Block, second: Block) -> bool:
    cells = [range(cell.line, cell.end + 1) for cell in page.cells]
    between = range(first.end + 1, second.line)
    return any(
        page.lines[n - 1].strip() for n in between if not any(n in inside for inside in cells)
    )


def hidden_output(page: Page, book: Book) -> Iterator[Finding]:
    """Hide an output only inside of a prediction, which opens it."""
    inside = page.between("predict")
    for cell in page.cells:
        if "hide-output" in cell.tags and not any(cell.line in part for part in inside):
            yield cell.start, "hide-output belongs between {predict} and {predict-end}"


def undefined(page: Page, book: Book) -> Iterator[Finding]:
    """Let visible cells, copied in their order, need nothing else; the reader has no myst_nb."""
    seen = [cell for cell in page.cells if not re.search("remove-(cell|input)", cell.tags)]
    lines = [numbered for cell in seen for numbered in cell.body]
    code = "\n".join(line for _, line in lines)
    for found in undefined_names(code) if code else []:
        yield lines[found["location"]["row"] - 1][0], found["message"]
    for number, line in lines:
        if "myst_nb" in line:
            yield number, "a visible cell does without myst_nb"


def undefined_names(code: str) -> list[dict[str, Any]]:
    """Ask ruff for the names that are used before they are defined."""
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F821"]
    command = [*ruff, "--output-format=json", "-"]
    return json.loads(subprocess.run(command, input=code, capture_output=True, text=True).stdout)


# What draws from a library's global generator, and what seeds that.
LAYERS = "Linear|Bilinear|Embedding|Multihead|Transformer|Conv|RNN|LSTM|GRU|Dropout"
RANDOM = {
    rf"(torch\.)?(rand(?!om)|normal|bernoulli|multinomial|nn\.({LAYERS}))\w*"
    r"|F\.dropout|.*\.(normal|uniform|xavier_\w+|kaiming_\w+)_"
    r"|MultiHeadAttention|\w+Classifier": {"torch.manual_seed", "set_seed"},
    r"(np|numpy)\.random\.(?!seed)\w+": {"np.random.seed"},
}


def seeded(page: Page, book: Book) -> Iterator[Finding]:
    """Seed a global generator before anything draws from it."""
    if page.name in book.settings["pages"]["unseeded"]:
        return
    lines = [numbered for cell in page.cells for numbered in cell.body]
    for call in unseeded("\n".join(line for _, line in lines)):
        yield lines[call.lineno - 1][0], f"a seed comes first; got {ast.unparse(call)}"


def unseeded(code: str) -> list[ast.Call]:
    """Return the calls that draw from a global generator before it has a seed."""
    tree = ast.parse(code)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    later = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.Lambda)]
    inside = {id(node) for function in later for node in ast.walk(function)}
    return [c for c in calls if (s := _seeds(c)) and not _is_seeded(c, s, calls, id(c) in inside)]


def _is_seeded(call: ast.Call, seeds: set[str], calls: list[ast.Call], runs_later: bool) -> bool:
    """Look for a seed before the call; anywhere, or given by ``seeds=``, where it runs later."""
    if runs_later and any(k.arg == "seeds" for c in calls for k in c.keywords):
        return True
    here = (call.lineno, call.col_offset)
    found = [c for c in calls if ast.unparse(c.func) in seeds]
    return any(runs_later or (c.lineno, c.col_offset) < here for c in found)


def _seeds(call: ast.Call) -> set[str]:
    """Return the functions that seed the global generator from which a call draws."""
    name = ast.unparse(call.func)
    own = any(keyword.arg == "generator" for keyword in call.keywords)
    own |= bool(re.search(r"\.(default_rng|RandomState)$", name) and call.args)
    found = [seeds for drawn, seeds in RANDOM.items() if re.fullmatch(drawn, name)]
    return found[0] if found and not own else set()


def movable_seeds(page: Page, book: Book) -> Iterator[Finding]:
    """Take seeds from the book's functions, so that they can be moved; a source's own are given."""
    for cell in page.cells:
        for line in fixed_seeds(cell.code):
            yield cell.start + line - 1, "a seed can be moved, or the line ends in `# given`"


def fixed_seeds(code: str) -> list[int]:
    """Return the lines with a literal seed that do not end in ``# given``."""
    lines = code.splitlines()
    seeds = (seed for node in ast.walk(ast.parse(code)) for seed in _literal_seeds(node))
    return [s.lineno for s in seeds if not lines[s.lineno - 1].endswith("# given")]


def _literal_seeds(node: ast.AST) -> list[ast.expr]:
    seeds: list[ast.expr] = []
    if isinstance(node, ast.Call):
        seeds += [k.value for k in node.keywords if k.arg in ("seed", "seeds")]
        name = ast.unparse(node.func).split(".")[-1]
        seeds += node.args[:1] * (name in ("manual_seed", "RandomState", "default_rng"))
    elif isinstance(node, ast.Dict):
        named = zip(node.keys, node.values, strict=True)
        seeds += [v for k, v in named if k and ast.unparse(k) in ("'seed'", "'seeds'")]
    return [seed for seed in seeds if not re.search(r"seed|moved\(", ast.unparse(seed))]
