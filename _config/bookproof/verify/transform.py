"""Transform the assertions of a cell so that they report their operands to a recorder.

``not``, ``and``, ``&`` and ``.all()`` are transparent. Where one of several operands would do
(``or``, ``.any()``), the whole expression is one operand.
"""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

NAME = "__watch__"  # the recorder in a transformed cell
LITERAL = (
    *(ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.expr_context),
    *(ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.unaryop),
)
COMPARING = {"allclose", "array_equal", "equal", "isclose"}
CATCHING = {"AssertionError", "Exception", "BaseException"}


def watched(code: str) -> ast.Module:
    r"""Return a cell whose assertions report to the recorder called ``NAME``.

    Raises:
        SyntaxError: the code is not Python.

    Example:
        >>> print(ast.unparse(watched("assert x < y + 1e-12")))
        assert __watch__.end(__watch__.begin(), __watch__.compare(1, True, [('<', 1e-12)], x, y + 1e-12))
    """
    tree = Transformer().visit(ast.parse(code))
    return ast.fix_missing_locations(tree)


class Transformer(ast.NodeTransformer):
    """Transform cells, one after another."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self.constants = constants(node)
        for block in blocks(node):
            for place, statement in enumerate(block):
                if isinstance(statement, ast.Try):
                    self.expect(statement, block[place + 1 :])
        return self.generic_visit(node)

    def expect(self, node: ast.Try, after: Sequence[ast.stmt]) -> None:
        """Let each handler report an error without which a ``raise`` would be reached."""
        inside, outside = contain_raise(node.body), contain_raise([*node.orelse, *after])
        for handler in node.handlers:
            caught = inside and not catches(handler)
            if caught or outside:
                handler.body.insert(0, ast.Expr(reporting("raised", [])))

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Report the operands of an assertion, or that it is true by its text alone."""
        self.generic_visit(node)
        fault = "it is true by its text alone" if true_of_itself(node.test, self.constants) else ""
        node.test = ending(node.test, node.lineno, True, fault)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        """Read ``if x: raise ...`` as ``assert not x``."""
        self.generic_visit(node)
        known = literal(node.test, self.constants)
        if known is None and not node.orelse and isinstance(node.body[-1], ast.Raise):
            node.test = ending(node.test, node.lineno, False)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Report the call of an assertion function with twice the same operand."""
        self.generic_visit(node)
        if last_name(node.func).startswith("assert") and same_twice(node.args):
            return reporting("itself", [node.func, *node.args], node.keywords)
        return node


def blocks(tree: ast.AST) -> list[list[ast.stmt]]:
    found = (
        getattr(node, name, None)
        for node in ast.walk(tree)
        for name in ("body", "orelse", "finalbody")
    )
    return [block for block in found if isinstance(block, list)]


def contain_raise(block: Sequence[ast.stmt]) -> bool:
    """Return whether statements raise an error themselves, outside of any condition."""
    return any(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Assert) and literal(node.test) is False)
        for node in block
    )


def catches(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler catches a failed assertion."""
    kind = handler.type
    names = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(name is None or last_name(name) in CATCHING for name in names)


def constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the names that a cell binds once, and to a literal."""
    stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and type(n.ctx) is ast.Store]
    found = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        if isinstance(node.targets[0], ast.Name) and len(node.targets) == 1
        if isinstance(node.value, ast.Constant)
    }
    return {name: value for name, value in found.items() if stored.count(name) == 1}


# -- True by its text alone ---------------------------------------------------------


def true_of_itself(test: ast.expr, known: Mapping[str, ast.expr]) -> bool:
    """Return whether a test is true by its text alone."""
    if (truth := literal(test, known)) is not None:
        return truth
    if isinstance(test, ast.BoolOp):
        parts = [true_of_itself(value, known) for value in test.values]
        return any(parts) if isinstance(test.op, ast.Or) else all(parts)
    if isinstance(test, ast.Compare) and isinstance(
        test.ops[0], (ast.Eq, ast.GtE, ast.LtE, ast.Is)
    ):
        return len(test.ops) == 1 and same_twice([test.left, *test.comparators])
    if isinstance(test, ast.Call):
        return last_name(test.func) in COMPARING and same_twice(operands(test))
    # Each of these is true, whatever it contains.
    return isinstance(test, (ast.Tuple, ast.List, ast.Lambda, ast.GeneratorExp, ast.JoinedStr))


def operands(call: ast.Call) -> list[ast.expr]:
    """Return the operands of a comparing function, or of a method such as ``x.equal(y)``."""
    if len(call.args) == 1 and isinstance(call.func, ast.Attribute):
        return [call.func.value, *call.args]
    return call.args


def literal(test: ast.expr, known: Mapping[str, ast.expr] = {}) -> bool | None:
    """Return the truth value of an expression of literals; ``None`` for any other one."""

    class Known(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return known.get(node.id, node)

    test = Known().visit(ast.parse(ast.unparse(test), mode="eval").body)
    if not all(isinstance(node, LITERAL) for node in ast.walk(test)):
        return None
    try:
        body = ast.fix_missing_locations(ast.Expression(test))
        return bool(eval(compile(body, "", "eval"), {"__builtins__": {}}))
    except TypeError:  # as in 1 < "one"
        return False


def same_twice(sides: Sequence[ast.expr]) -> bool:
    """Return whether the first two expressions are one, without a call."""
    texts = [ast.dump(side) for side in sides[:2]]
    return len(texts) == 2 and texts[0] == texts[1] and "Call(" not in texts[0]


def last_name(node: ast.expr | None) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


# -- Operands ------------------------------------------------------------------------


def ending(test: ast.expr, line: int, wanted: bool, fault: str = "") -> ast.expr:
    """Return a test that reports its operands, and its end."""
    more = [] if wanted and not fault else [typed(wanted), typed(fault)]
    return reporting("end", [reporting("begin", []), asked(test, line, wanted), *more])


def asked(node: ast.expr, line: int, wanted: bool) -> ast.expr:
    """Return an expression that reports its operands, each of which has to come out as wanted."""
    match node:
        case ast.Compare() if wanted or len(node.ops) == 1:
            return compared(node, line, wanted)
        case ast.UnaryOp(op=ast.Not() | ast.Invert()):
            node.operand = asked(node.operand, line, not wanted)
            return node
        case ast.BoolOp(op=ast.And() | ast.Or() as op) if isinstance(op, ast.And) is wanted:
            node.values = [asked(value, line, wanted) for value in node.values]
            return node
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr() as op) if isinstance(op, ast.BitAnd) is wanted:
            node.left = asked(node.left, line, wanted)
            node.right = asked(node.right, line, wanted)
            return node
        case ast.Call():
            return called(node, line, wanted)
    return reporting("leaf", [node])


def called(node: ast.Call, line: int, wanted: bool) -> ast.expr:
    """Look into ``(...).all()`` and ``all(...)``, and at ``allclose``."""
    every = "all" if wanted else "any"
    match node:
        case ast.Call(
            func=ast.Attribute(attr="allclose" | "isclose") | ast.Name(id="allclose" | "isclose")
        ):
            return reporting("close", [typed(wanted), node.func, *node.args], node.keywords)
        case ast.Call(func=ast.Attribute(attr=name) as method) if name == every:
            method.value = asked(method.value, line, wanted)
            return node
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() | ast.ListComp() as each]):
            if name == every:
                each.elt = asked(each.elt, line, wanted)
                return node
    return reporting("leaf", [node])


def compared(node: ast.Compare, line: int, wanted: bool) -> ast.expr:
    sides = [node.left, *node.comparators]
    how = []
    for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
        pair = ast.Compare(ast.Name("a"), [op], [ast.Name("b")])
        sign = ast.unparse(pair)[2:-2]
        how.append((sign, added(right) or -added(left)))
    return reporting("compare", [typed(line), typed(wanted), typed(how), *sides])


def added(side: ast.expr) -> float:
    """Return the tolerance that is typed at the end of one side; 0 without one."""
    match side:
        case ast.BinOp(op=ast.Add(), right=ast.Constant(value=float(number))):
            return number
        case ast.BinOp(op=ast.Sub(), right=ast.Constant(value=float(number))):
            return -number
    return 0.0


def reporting(
    method: str, arguments: list[ast.expr], named: list[ast.keyword] | None = None
) -> ast.Call:
    watch = ast.Name(NAME, ast.Load())
    return ast.Call(ast.Attribute(watch, method, ast.Load()), arguments, named or [])


def typed(value: Any) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body
