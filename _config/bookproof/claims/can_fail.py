"""Tell whether the cell of a check can fail; a check that cannot fail proves nothing.

Source is read, never run. What can fail is an ``assert`` whose test is not true of itself, a
``raise``, or a call of what asserts: a name that begins with ``assert``, or a function of the
page that can fail in its turn. It counts where it is passed and where nothing swallows it.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

OPTIONS = {"check", "by", "tags"}
TAGS = {"hide-output", "remove-output", "remove-stderr", "remove-stdout"}
CATCHING = {"AssertionError", "Exception", "BaseException"}
COMPARING = {"allclose", "array_equal", "equal", "isclose"}
IDLE = "it must assert something that could be false, where nothing swallows the error"
ENDS = ast.Return, ast.Raise, ast.Break, ast.Continue
FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef
LAZY = {"filter", "map"}
LITERAL = (
    *(ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.expr_context),
    *(ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.unaryop),
)
Known = dict[str, bool]  # whether a name of the page asserts; of an attribute, with a dot


def fault_of(code: str, options: Mapping[str, object], earlier: Sequence[str] = ()) -> str:
    """Say why a check cannot fail; nothing, if it can.

    Args:
        code: of the check's cell.
        options: of the cell, as they stand on its first lines.
        earlier: the code of the cells before it, which may define what it calls.

    Example:
        >>> fault_of("assert x == 2", {"check": "two"})
        ''
        >>> fault_of("assert x == 2", {"check": "two", "tags": ["raises-exception"]})
        'it must have no tag raises-exception'
        >>> fault_of("x == 2", {"check": "two"})
        'it must assert something that could be false, where nothing swallows the error'
    """
    if strange := sorted(options.keys() - OPTIONS):
        return f"it must have no option {strange[0]}"
    if strange := sorted(set(re.findall(r"[\w-]+", str(options.get("tags", "")))) - TAGS):
        return f"it must have no tag {strange[0]}"
    known: Known = {}
    for source in earlier:
        note(statements(source), known)
    body = statements(code)
    note(body, known)
    return "" if can_fail(body, known) else IDLE


@cache  # cells are asked for again by each check after them
def statements(code: str) -> Sequence[ast.stmt]:
    """Return what a cell consists of."""
    return ast.parse(code).body


def can_fail(body: Sequence[ast.stmt], known: Known) -> bool:
    """Tell whether a block can fail, in a statement that comes before its end."""
    for statement in body:
        if statement_can_fail(statement, known):
            return True
        if isinstance(statement, ENDS):
            return False
    return False


def statement_can_fail(node: ast.stmt, known: Known) -> bool:
    """Tell whether a statement can fail, or one within it."""
    if isinstance(node, ast.Assert):
        return not true_of_itself(node.test)
    if isinstance(node, FUNCTIONS):
        return False
    return (
        isinstance(node, ast.Raise)
        or any(calls(part, known) for part in expressions(node))
        or any(can_fail(block, known) for block in blocks(node, known))
    )


def expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """Give the expressions that a statement evaluates itself."""
    for part in ast.iter_child_nodes(node):
        child = getattr(part, "context_expr", part)  # of a with statement
        lazy = isinstance(child, ast.Call) and last_name(child.func) in LAZY
        if isinstance(child, ast.expr) and not lazy and not isinstance(child, ast.GeneratorExp):
            yield child


def blocks(node: ast.stmt, known: Known) -> Iterator[Sequence[ast.stmt]]:
    """Give the blocks of a statement that may run, and whose errors get out."""
    test = getattr(node, "test", getattr(node, "iter", None))
    fixed = literal(test) if test else None
    if fixed is not False and not swallowed(node, known):
        yield getattr(node, "body", [])
    if not (isinstance(node, ast.If) and fixed):
        yield getattr(node, "orelse", [])
    yield getattr(node, "finalbody", [])
    for part in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
        yield part.body


def swallowed(node: ast.stmt, known: Known) -> bool:
    """Tell whether a failed assertion in the body of a statement does not get out of it."""
    if isinstance(node, (ast.With, ast.AsyncWith)):
        calls = (item.context_expr for item in node.items)
        found = (c for c in calls if isinstance(c, ast.Call) and last_name(c.func) == "suppress")
        return any(last_name(name) in CATCHING for call in found for name in call.args)
    for handler in getattr(node, "handlers", []):
        names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(name is None or last_name(name) in CATCHING for name in names):
            return not can_fail(handler.body, known)
    return False


def calls(node: ast.AST, known: Known) -> bool:
    """Tell whether an expression calls what asserts, or hands it to what will call it."""
    if isinstance(node, ast.Lambda):
        return False
    if isinstance(node, ast.Call):
        parts = [] if last_name(node.func) == "partial" else [node.func, *node.args]
        if any(is_asserting(part, known) for part in parts):
            return not same_twice(node.args)
    return any(calls(child, known) for child in ast.iter_child_nodes(node))


def is_asserting(node: ast.expr, known: Known) -> bool:
    """Tell whether an expression names something that asserts."""
    dot = "." if isinstance(node, ast.Attribute) else ""
    name = last_name(node)
    return known.get(dot + name, name.startswith("assert"))


def last_name(node: ast.expr | None) -> str:
    """Return the name, or the last one after dots; nothing of what has none."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def true_of_itself(test: ast.expr) -> bool:
    """Tell whether a test can be seen to be true without running it."""
    if (truth := literal(test)) is not None:
        return truth
    if isinstance(test, ast.BoolOp):
        parts = map(true_of_itself, test.values)
        return any(parts) if isinstance(test.op, ast.Or) else all(parts)
    if isinstance(test, ast.Compare) and isinstance(
        test.ops[0], (ast.Eq, ast.GtE, ast.LtE, ast.Is)
    ):
        return len(test.ops) == 1 and same_twice([test.left, *test.comparators])
    if isinstance(test, ast.Call) and last_name(test.func) in COMPARING:
        return same_twice(test.args)
    # Each of these is true, whatever it holds.
    return isinstance(test, (ast.Tuple, ast.List, ast.Lambda, ast.GeneratorExp, ast.JoinedStr))


def literal(test: ast.expr) -> bool | None:
    """Return the truth of what is made of literals alone; nothing, if it is not."""
    if not all(isinstance(node, LITERAL) for node in ast.walk(test)):
        return None
    try:
        return bool(eval(compile(ast.Expression(test), "", "eval"), {"__builtins__": {}}))
    except TypeError:  # as in 1 < "one"
        return False


def same_twice(sides: Sequence[ast.expr]) -> bool:
    """Tell whether the first two of some expressions are one, which no call makes anew."""
    texts = [ast.dump(side) for side in sides[:2]]
    return len(texts) == 2 and texts[0] == texts[1] and "Call(" not in texts[0]


def note(body: Sequence[ast.stmt], known: Known) -> None:
    """Note of the names that some statements bind whether they assert."""
    for node in body:
        if isinstance(node, FUNCTIONS):
            known[node.name] = can_fail(node.body, known)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                old = alias.name.rpartition(".")[2]
                known[alias.asname or old] = old.startswith("assert")
        else:
            for target, value in bindings(node):
                dot = "." if isinstance(target, ast.Attribute) else ""
                known[dot + last_name(target)] = value is not None and passes_on(value, known)
            for block in ("body", "orelse", "finalbody"):
                note(getattr(node, block, []), known)


def bindings(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Give what a statement binds, with the value where it can be told."""
    value = getattr(node, "value", None)
    for target in getattr(node, "targets", [getattr(node, "target", None)]):
        if not isinstance(target, ast.Tuple):
            yield from [(target, value)] if target else []
        elif isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            yield from zip(target.elts, value.elts, strict=True)
        else:
            yield from ((one, None) for one in target.elts)


def passes_on(value: ast.expr, known: Known) -> bool:
    """Tell whether a value is something that asserts, under another name."""
    if isinstance(value, ast.Lambda):
        return calls(value.body, known)
    if isinstance(value, ast.Call) and last_name(value.func) == "partial":
        return any(is_asserting(part, known) for part in value.args[:1])
    return is_asserting(value, known)
