"""Transform the assertions of a cell so that they report their operands to a recorder.

``not``, ``and``, ``&`` and ``.all()`` are transparent. Where one of several operands would do
(``or``, ``.any()``), the whole expression is one operand.
"""

import ast
import builtins
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

NAME = "__watch__"  # the recorder in a transformed cell
COMPARING = {"allclose", "array_equal", "equal", "isclose"}
REDUCING = {"all", "any", "mean", "prod", "sum"}
REFLEXIVE = (ast.Eq, ast.GtE, ast.LtE, ast.Is)  # true of a value and itself
IRREFLEXIVE = (ast.NotEq, ast.Gt, ast.Lt, ast.IsNot)
BUILT_IN = vars(builtins).keys()
# Each of these is true, whatever it contains.
ALWAYS_TRUE = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Lambda, ast.GeneratorExp, ast.JoinedStr)


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
        self.known = literal_names(node)
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Report the operands of an assertion, or that it is true by its text alone."""
        self.generic_visit(node)
        fault = "it is true by its text alone" if self.is_true(node.test) else ""
        asked_test = asked(node.test, node.lineno, True)
        more = [typed(fault)] if fault else []
        node.test = reporting("end", [reporting("begin", []), asked_test, *more])
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Do not record the call of an assertion function with twice the same operand."""
        self.generic_visit(node)
        if last_name(node.func).startswith("assert") and same_twice(node.args):
            node.func = reporting("unrecorded", [node.func])
        return node

    def is_constant(self, node: ast.AST) -> bool:
        """Return whether code computes nothing: it has literals and comparisons of them alone."""
        parts = list(ast.walk(node))
        names = [part for part in parts if isinstance(part, ast.Name)]
        own = {part.id for part in names if isinstance(part.ctx, ast.Store)}
        computes = any(isinstance(part, ast.Call | ast.BinOp) for part in parts)
        return not computes and {part.id for part in names} <= own | self.known | BUILT_IN

    def is_true(self, test: ast.expr, wanted: bool = True) -> bool:
        """Return whether a test has the wanted truth value by its text alone."""
        if self.is_constant(test):
            return True
        match test:
            case ast.UnaryOp(op=ast.Not()):
                return self.is_true(test.operand, not wanted)
            case ast.BoolOp():
                parts = (self.is_true(value, wanted) for value in test.values)
                return any(parts) if isinstance(test.op, ast.Or) is wanted else all(parts)
            case ast.IfExp():
                return self.is_true(test.body, wanted) or self.is_true(test.orelse, wanted)
            case ast.Compare():
                same = all(map(same_twice, pairwise([test.left, *test.comparators])))
                kinds = REFLEXIVE if wanted else IRREFLEXIVE
                return same and all(isinstance(op, kinds) for op in test.ops)
            case ast.Call(func=ast.Attribute(attr="all" | "any", value=ast.Compare() as inside)):
                return self.is_true(inside, wanted)
            case ast.Call(func=ast.Name(id="all" | "any"), args=[inside]):
                return self.is_constant(inside)
            case ast.Call():
                return wanted and last_name(test.func) in COMPARING and same_twice(operands(test))
        return wanted and isinstance(test, ALWAYS_TRUE)


def literal_names(tree: ast.Module) -> set[str]:
    """Return the names that a cell binds once, and to a literal."""
    stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and type(n.ctx) is ast.Store]
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and stored.count(target.id) == 1
    }


def operands(call: ast.Call) -> list[ast.expr]:
    """Return the operands of a comparing function, or of a method such as ``x.equal(y)``."""
    if len(call.args) == 1 and isinstance(call.func, ast.Attribute):
        return [call.func.value, *call.args]
    return call.args


def same_twice(sides: Sequence[ast.expr]) -> bool:
    """Return whether the first two expressions are one, without a call."""
    texts = [ast.dump(side) for side in sides[:2]]
    return len(texts) == 2 and texts[0] == texts[1] and "Call(" not in texts[0]


def last_name(node: ast.expr | None) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


# -- Operands ------------------------------------------------------------------------


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
        case ast.Call(func=ast.Name(id="isinstance")):
            return reporting("leaf", [node, typed("it asks for a type alone")])
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
    how = [
        (sign_of(op), added(right) or -added(left))
        for op, (left, right) in zip(node.ops, pairwise(sides), strict=True)
    ]
    sides = [counted(side) for side in sides]
    return reporting("compare", [typed(line), typed(wanted), typed(how), *sides])


def counted(side: ast.expr) -> ast.expr:
    """Report the operand of ``x.sum()`` or of ``(x > 1).sum()``."""
    match side:
        case ast.Call(func=ast.Attribute(attr=name, value=whole) as method) if name in REDUCING:
            match whole:
                case ast.Compare(left=left, ops=[op], comparators=[right]):
                    parts = [typed(sign_of(op)), left, right]
                case _:
                    parts = [typed(""), whole]
            method.value = reporting("counted", parts)
    return side


def sign_of(op: ast.cmpop) -> str:
    return ast.unparse(ast.Compare(ast.Name("a"), [op], [ast.Name("b")]))[2:-2]


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
