"""Texts as tokens: their boundaries, their continuations, and attention to them."""

from collections.abc import Mapping, Sequence
from functools import partial
from textwrap import wrap

import numpy as np

from selfattn_book.draw.canvas import TEXT, Canvas, number
from selfattn_book.draw.layout import LETTER
from selfattn_book.draw.scene import Node, bar_above, column, label, part, row, show, space
from selfattn_book.draw.sheet import text_width
from selfattn_book.draw.style import Numbers, as_array

HIGH = 44  # pixels of the largest weight
_left = partial(label, align="left")


def continuations(prompt: str, written: Mapping[str, str]) -> Canvas:
    r"""Draw the continuations of a prompt by several models.

    Example:
        >>> print(continuations("In the", {"random": "q;xZ", "counts": " land\nof"}).get_label())
        “In the” continued. random: “q;xZ”. counts: “ land ⏎ of”.
    """
    shown = {name: text.replace("\n", " ⏎ ") for name, text in written.items()}

    def build(narrow: bool) -> Node:
        left, wide = (0, 304) if narrow else (142, 480)
        lines = [row(space(left), _left(prompt, "query", bold=True), gap=0)]
        for name, text in shown.items():
            head = _left(name, "muted", bold=True, width=left)
            texts = wrap(text, int(wide / LETTER), break_on_hyphens=False)
            body, both = column(*map(_left, texts), gap=4, align=0), column if narrow else row
            lines.append(both(head, body, gap=4 * narrow, align=0, alt=f"{name}: “{text}”"))
        return column(*lines, gap=16, align=0)

    return show(build, f"“{prompt}” continued")


def tokenized(cut: Mapping[str, Sequence[str]]) -> Canvas:
    """Draw the tokens of a text, for one tokenizer or several.

    A space is drawn as a middle dot, and the end of a line as an arrow.

    Example:
        >>> print(tokenized({"bytes": ["a", " ", "b"], "pairs": ["a", " b"]}).get_label())
        A text cut into tokens. bytes, 3 tokens: “a”, “ ”, “b”. pairs, 2 tokens: “a”, “ b”.
    """

    def build(narrow: bool) -> Node:
        texts = []
        for name, tokens in cut.items():
            boxes = [_token(token, f"word-{i % 4}", 24) for i, token in enumerate(tokens)]
            title = _left(f"{name}: {len(tokens)} tokens", "muted", bold=True)
            alt = f"{name}, {len(tokens)} tokens: {', '.join(f'“{t}”' for t in tokens)}"
            texts.append(column(title, _flow(boxes, narrow, 2, 6), align=0, gap=6, alt=alt))
        return column(*texts, gap=14, align=0)

    return show(build, "A text cut into tokens")


def token_attention(tokens: Sequence[str], weights: Mapping[str, Numbers]) -> Canvas:
    """Draw the attention weights ``(T,)`` of the last token in several heads, by name of the head.

    The bars of all heads have one scale. A bar of at least half of its head's largest has its
    number.

    Example:
        >>> print(token_attention(["And", " Saul", " said"], {"one": [0.0, 0.9, 0.1]}).get_label())
        What “ said” attends to, from the largest weight. one: “ Saul” 0.90, “ said” 0.10, “And” 0.00.
    """
    rows = {name: as_array(values) for name, values in weights.items()}
    largest = max(float(values.max()) for values in rows.values())

    def build(narrow: bool) -> Node:
        heads = []
        for name, values in rows.items():
            best = np.argsort(-values, kind="stable")[:3]
            each = ", ".join(f"“{tokens[i]}” {number(values[i])}" for i in best)
            bars = []
            for token, weight in zip(tokens, values.tolist(), strict=True):
                text = number(weight) if weight >= values.max() / 2 else ""
                bars.append(bar_above(_token(token, "key", 22), weight / largest, text, high=HIGH))
            title = _left(name, "muted", bold=True)
            body = _flow(bars, narrow, 2, 2)
            heads.append(column(title, body, gap=0, align=0, alt=f"{name}: {each}"))
        return column(*heads, gap=18, align=0)

    return show(build, f"What “{tokens[-1]}” attends to, from the largest weight")


def visible(token: str) -> str:
    r"""Write the spaces and ends of lines of a token as signs.

    >>> visible(" a\n")
    '·a⏎'
    """
    return token.replace(" ", "·").replace("\n", "⏎")


def _token(token: str, role: str, height: float) -> Node:
    text = visible(token)
    return part(text, role, width=text_width(text, TEXT) + 8, height=height, edge=1)


def _flow(nodes: Sequence[Node], narrow: bool, gap: float, below: float) -> Node:
    """Arrange nodes in rows as wide as the page."""
    rows: list[list[Node]] = [[]]
    for node in nodes:
        node.fit(304)
        if sum(n.width + gap for n in [*rows[-1], node]) > (306 if narrow else 634):
            rows.append([])
        rows[-1].append(node)
    return column(*(row(*nodes, gap=gap) for nodes in rows), gap=below, align=0)
