"""The model of ``gpt.py`` as a chain of its parts, with the lines of the file that hold each."""

import ast
from functools import partial

from selfattn_book.draw.canvas import Canvas, both_widths, canvas
from selfattn_book.draw.layout import NARROW

# Name of a part: role, height of its name, and right end of what it names (or nothing).
PARTS = {
    "Attention": ("weights", 124, 188),
    "Block": ("context", 186, 204),
    "GPT": ("value", 52, 214),
    "train": ("key", 248, 0),
    "load_gpt2": ("query", 290, 0),
    "command line": ("muted", 346, 0),
}
STREAM, WAYS = 46, ((22, 38), (66, 78), (94, 148), (164, 220), (236, 256), (284, 298), (326, 346))
BOXES = {
    "value": (("wte", 46, 52), ("wpe", 140, 52), ("ln_f", 46, 270), ("wteᵀ", 46, 312)),
    "context": (("ln_1", 100, 124), ("ln_2", 100, 196), ("mlp", 162, 196)),
    "weights": (("attn", 162, 124),),
}


def gpt_file(code: str) -> Canvas:
    """Draw the model of a file with GPT-2's names, and the first and last line of each part.

    Example:
        >>> from selfattn_book.experiments.text import load_text
        >>> print(gpt_file(load_text("gpt")).get_label())
        The model from tokens to logits: wte and wpe are added; each block of h adds attn of ln_1, then
        mlp of ln_2; ln_f and the transpose of wte follow.
        Lines of the file: Attention 14 to 27, Block 30 to 40, GPT 43 to 63, train 66 to 76, load_gpt2
        79 to 87, command line 90 to 100.
    """
    return both_widths(partial(_draw, line_ranges(code)))


def line_ranges(code: str) -> dict[str, tuple[int, int]]:
    r"""Return the first and last line of each class and function, and of the command line.

    Example:
        >>> line_ranges("def f():\n    pass\n\n\nif True:\n    f()")
        {'f': (1, 2), 'command line': (5, 6)}
    """
    last = ast.parse(code).body[-1]
    found = {
        node.name: (node.lineno, node.end_lineno or node.lineno)
        for node in ast.parse(code).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    return found | {"command line": (last.lineno, last.end_lineno or last.lineno)}


def _draw(lines: dict[str, tuple[int, int]], _: float) -> Canvas:
    """Draw it as wide as a phone: the chain on the left, and the names of the parts on the right."""
    ax = canvas(NARROW, 370)
    ax.box((110, 182), (208, 304), "value", filled=False)
    ax.box((110, 169), (188, 144), "context", filled=False)
    for role, boxes in BOXES.items():
        for text, x, y in boxes:
            ax.box((x, y), (52 if x > 150 else 44, 28), role, text)
    for start, end in WAYS:
        ax.wire([(STREAM, start), (STREAM, end)], "residual")
    ax.wire([(140, 66), (140, 86), (54, 86)], "residual")
    for y in (124, 196):
        ax.wire([(STREAM, y), (78, y)], "residual")
        ax.wire([(122, y), (136, y)], "residual")
        ax.wire([(162, y + 14), (162, y + 32), (54, y + 32)], "residual")
    for y in (86, 156, 228):
        ax.node((STREAM, y), "+")
    ax.note((STREAM, 12), "tokens")
    ax.note((STREAM, 358), "logits")
    ax.note((130, 170), "h: L blocks", "context")
    for name, (role, y, end) in PARTS.items():
        first, last = lines[name]
        ax.note((228, y - 9), name, role, align="left", bold=True)
        ax.note((228, y + 9), f"{first} to {last}", role, align="left")
        if end:
            ax.line([(end, y), (224, y)], role)
        elif role != "muted":
            ax.wire([(226, y), (216, y)], role)
    return ax.describe(
        "The model from tokens to logits: wte and wpe are added; each block of h adds attn of ln_1, "
        "then mlp of ln_2; ln_f and the transpose of wte follow",
        "Lines of the file: " + ", ".join(f"{name} {a} to {b}" for name, (a, b) in lines.items()),
    )
