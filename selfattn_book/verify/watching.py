"""What the assertions of a page compare, seen while they compare it.

An assertion that fails can then say both its numbers, and one that holds its
:mod:`margin <selfattn_book.verify.margins>`. Each side is evaluated once, as without it.

``not``, ``and``, ``&`` and ``.all()`` are seen through.
Where one of several would do (``or``, ``.any()``), and in what a function compares for itself,
nothing is seen.
"""

import ast
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from selfattn_book.verify import margins

NAME = "__watch__"  # by which a watched cell finds who watches
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
}
_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Watch:
    r"""Sees what assertions compare: the thinnest margin, and the sides of what failed.

    Example:
        >>> watch = Watch()
        >>> code = "assert abs(1.25 - 1) < 0.5\nassert not 3 >= 4"
        >>> exec(compile(watched(code), "page", "exec"), {NAME: watch})
        >>> watch.margin
        0.25
    """

    def __init__(self) -> None:
        self.margin: float | None = None
        self.sides: dict[int, tuple[Any, Any]] = {}

    def compare(
        self, line: int, wanted: bool, how: list[tuple[str, float]], *sides: Any
    ) -> Any:
        """Compare as Python would.

        Args:
            line: where the assertion begins.
            wanted: whether it needs the comparison to be true.
            how: for each two neighbours the operator, and a tolerance typed on the right.
            *sides: what is compared.
        """
        result: Any = True
        for (sign, typed), left, right in zip(how, sides, sides[1:], strict=False):
            result = _OPERATORS[sign](left, right)
            sign = sign if wanted else _NEGATED.get(sign, "")
            shares = _none_if_in_vain(_ordered, sign, left, right, typed)
            self._keep(shares)
            self.sides.pop(line, None)
            if wrong := _none_if_in_vain(_wrong, left, right, result, wanted):
                self.sides[line] = wrong
            if len(how) > 1 and not result:
                break
        return result

    def close(
        self, wanted: bool, function: Callable[..., Any], *sides: Any, **limits: Any
    ) -> Any:
        """Ask ``allclose`` or ``isclose``.

        Args:
            wanted: whether the assertion needs the answer to be yes.
            function: the one to ask.
            *sides: its positional arguments.
            **limits: its named ones.
        """
        shares = _none_if_in_vain(margins.all_close, function, sides, limits)
        if shares is not None and shares.size and not wanted:
            shares = 1 - 1 / (1 - shares.min()).clip(min=1)  # far enough apart?
        self._keep(shares)
        return function(*sides, **limits)

    @contextmanager
    def hearing_assert_close(self) -> Iterator[None]:
        """See what ``torch.testing.assert_close`` compares, for a while."""
        real = torch.testing.assert_close

        def heard(actual: Any, expected: Any, **options: Any) -> None:
            real(actual, expected, **options)
            shares = margins.assert_close(actual, expected, options)
            for each in _none_if_in_vain(list, shares) or []:
                self._keep(each)

        vars(torch.testing)["assert_close"] = heard
        try:
            yield
        finally:
            vars(torch.testing)["assert_close"] = real

    def _keep(self, shares: Any) -> None:
        """Keep the thinnest margin of what was so."""
        if shares is not None and np.size(shares) and 0 <= np.min(shares) <= 1:
            known = 1.0 if self.margin is None else self.margin
            self.margin = min(known, float(np.min(shares)))


def watched(code: str) -> ast.Module:
    r"""Return a cell whose assertions tell the :class:`Watch` called ``NAME`` what they compare.

    Args:
        code: the cell.

    Raises:
        SyntaxError: it is not Python.

    Example:
        >>> print(ast.unparse(watched("assert x.max() < y + 1e-12")))
        assert __watch__.compare(1, True, [('<', 1e-12)], x.max(), y + 1e-12)
        >>> print(ast.unparse(watched("x = 1 < 2\nassert not f(x).any()")))
        x = 1 < 2
        assert not f(x).any()
    """
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            node.test = _asked(node.test, node.lineno, True)
    return ast.fix_missing_locations(tree)


def _asked(node: ast.expr, line: int, wanted: bool) -> ast.expr:
    """Return an expression that tells what it compares, where all of it must be so."""
    match node:
        case ast.Compare() if wanted or len(node.ops) == 1:
            return _compared(node, line, wanted)
        case ast.UnaryOp(op=ast.Not() | ast.Invert()):
            node.operand = _asked(node.operand, line, not wanted)
        case ast.BoolOp(op=ast.And() | ast.Or() as op):
            if isinstance(op, ast.And) is wanted:
                node.values = [_asked(value, line, wanted) for value in node.values]
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr() as op):
            if isinstance(op, ast.BitAnd) is wanted:
                node.left = _asked(node.left, line, wanted)
                node.right = _asked(node.right, line, wanted)
        case ast.Call():
            return _called(node, line, wanted)
    return node


def _called(node: ast.Call, line: int, wanted: bool) -> ast.expr:
    """Look into ``(...).all()`` and ``all(...)``, and at ``allclose``."""
    every = "all" if wanted else "any"
    match node:
        case ast.Call(
            func=ast.Attribute(attr="allclose" | "isclose")
            | ast.Name(id="allclose" | "isclose")
        ):
            sides = [_typed(wanted), node.func, *node.args]
            return _told("close", sides, node.keywords)
        case ast.Call(func=ast.Attribute(attr=name) as method) if name == every:
            method.value = _asked(method.value, line, wanted)
        case ast.Call(
            func=ast.Name(id=name),
            args=[ast.GeneratorExp() | ast.ListComp() as each],
        ) if name == every:
            each.elt = _asked(each.elt, line, wanted)
    return node


def _compared(node: ast.Compare, line: int, wanted: bool) -> ast.expr:
    sides = [node.left, *node.comparators]
    how = []
    for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
        pair = ast.Compare(ast.Name("a"), [op], [ast.Name("b")])
        sign = ast.unparse(pair)[2:-2]
        how.append((sign, _added(right) or -_added(left)))
    return _told("compare", [_typed(line), _typed(wanted), _typed(how), *sides])


def _added(side: ast.expr) -> float:
    """Return the tolerance that is typed at the end of one side; 0 if there is none."""
    match side:
        case ast.BinOp(op=ast.Add(), right=ast.Constant(value=float(number))):
            return number
        case ast.BinOp(op=ast.Sub(), right=ast.Constant(value=float(number))):
            return -number
    return 0.0


def _told(
    method: str,
    arguments: list[ast.expr],
    named: list[ast.keyword] | None = None,
) -> ast.expr:
    watch = ast.Name(NAME, ast.Load())
    return ast.Call(
        ast.Attribute(watch, method, ast.Load()), arguments, named or []
    )


def _typed(value: Any) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def _ordered(sign: str, left: Any, right: Any, typed: float) -> Any:
    return margins.ordered(sign, left, right, typed) if sign in _NEGATED else None


def _wrong(
    left: Any, right: Any, result: Any, wanted: bool
) -> tuple[Any, Any] | None:
    """Return the two sides that did not come out as wanted: of many entries, the worst two."""
    wrong = np.asarray(np.asarray(result) != wanted)
    if wrong.size == 1:
        return (left, right) if wrong.all() else None
    a, b = (
        np.broadcast_to(margins.numbers(side), wrong.shape)
        for side in (left, right)
    )
    worst = np.where(wrong, abs(a - b), -1).argmax()
    return (f"{a.flat[worst]:.6g}", f"{b.flat[worst]:.6g}") if wrong.any() else None


def _none_if_in_vain(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function returns, or nothing: no check fails for want of a margin."""
    try:
        return function(*arguments)
    except Exception:
        return None
