"""Attention weights as discs, and as text; names with indices."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from selfattn_book.draw.canvas import Canvas, Point, number
from selfattn_book.draw.scene import Node, table
from selfattn_book.draw.sheet import SMALL

ENTRY = 20  # pixels of an attention weight


def attention_map(
    weights: Tensor, rows: Sequence[str] = (), columns: Sequence[str] = (), side: int = ENTRY
) -> Node:
    """Draw weights as discs with their areas; a weight of exactly zero is masked."""

    def entry(ax: Canvas, at: Point, i: int, j: int) -> None:
        ax.box(at, (side, side), "residual", filled=False, width=0.8)
        weight = float(weights[i, j])
        if weight == 0:
            ax.hatch(at, (side - 2, side - 2))
        ax.disc(at, (side / 2 - 1) * weight**0.5, "weights")

    size = (weights.size(0), weights.size(1))
    ink: Any = {"roles": ("ink", "ink"), "size": SMALL}
    return table(size, (side, side), entry, rows=rows, columns=columns, **ink)


def attended(weights: Tensor, rows: Sequence[str], columns: Sequence[str]) -> str:
    """List the weights of each row that are not zero."""
    message = []
    for name, given in zip(rows, weights.tolist(), strict=True):
        pairs = zip(columns, given, strict=True)
        each = [f"{number(weight)} to {column}" for column, weight in pairs if weight]
        message.append(f"{name} attends {', '.join(each)}")
    return "; ".join(message)


def numbered(letter: str, count: int) -> list[str]:
    """Return names with indices, from 1."""
    return [f"{letter}{'₁₂₃₄₅₆₇₈₉'[i]}" for i in range(count)]
