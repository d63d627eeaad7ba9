"""The shapes of attention: each tensor as a grid, with a letter for each axis."""

from collections.abc import Callable, Mapping
from functools import partial

from torch import Tensor

from selfattn_book.attention import attention_weights
from selfattn_book.draw.canvas import Canvas, Point
from selfattn_book.draw.scene import Node, column, label, note, row, show, slot, space
from selfattn_book.multi_head import MultiHeadAttention

CELL, BEHIND = 9, 5  # pixels of an entry, and between one head and the next one
ROLES = ("ink", "ink", "query", "key", "value", "ink", "weights", "context", "context", "ink")
Letters = Callable[[Tensor], str]


def shapes(
    attention: MultiHeadAttention, x: Tensor, memory: Tensor, masks: Mapping[str, Tensor]
) -> Canvas:
    """Draw the tensors of multi-head attention, from the input to the output, each with its shape.

    Queries are made from ``x``, ``(B, T, d_model)``, and keys and values from ``memory``, ``(B, S,
    d_model)``; the last mask is used.

    Example:
        >>> import torch
        >>> from selfattn_book.masks import causal_mask
        >>> attention = MultiHeadAttention(6, num_heads=2, d_head=4)
        >>> x, memory = torch.ones(7, 3, 6), torch.ones(7, 5, 6)
        >>> print(shapes(attention, x, memory, {"causal": causal_mask(3, 5)}).get_label())
        The shapes of attention. X: (B, T, d_model). M: (B, S, d_model). Q: (B, H, T, d_head).
        K: (B, H, S, d_head). V: (B, H, S, d_head). scores: (B, H, T, S). weights: (B, H, T, S).
        context: (B, H, T, d_head). side by side: (B, T, H·d_head). output: (B, T, d_model).
        The mask causal: (T, S). Here B = 7, T = 3, S = 5, H = 2, d_model = 6, d_head = 4.
    """
    heads, d_head, d_model = attention.num_heads, attention.d_head, x.size(-1)
    letters = {x.size(0): "B", x.size(1): "T", memory.size(1): "S", heads: "H"}
    letters |= {d_model: "d_model", d_head: "d_head", heads * d_head: "H·d_head"}
    used = list(masks.values())[-1]
    tensors = _steps(attention, x, memory, used)
    here = [f"{letter} = {size}" for size, letter in letters.items() if "·" not in letter]

    def shape(tensor: Tensor, comma: str = ", ") -> str:
        return f"({comma.join(letters[size] if size > 1 else '1' for size in tensor.shape)})"

    def build(narrow: bool) -> Node:
        short = partial(shape, comma=",") if narrow else shape
        flow = _flow(tensors, used, short, narrow=narrow)
        drawn = []
        for name, mask in masks.items():  # for the first sequence
            grid = _grid(mask.reshape(-1, *mask.shape[-2:])[0], "mask", mask)
            parts = grid, note(name, bold=True), note(short(mask), "muted")
            drawn.append(column(*parts, gap=2))
        if narrow:
            says = note("masks: hatched entries are hidden", "muted")
            sizes = [note(", ".join(part), "muted") for part in (here[:4], here[4:])]
            return column(flow, says, row(*drawn, gap=40), *sizes, gap=8)
        text = note(f"drawn with {', '.join(here)}", "muted")
        side = column(space(0, 300), *drawn, gap=14)
        return column(row(side, flow, gap=4, align=0), text, gap=8)

    message = [f"{name}: {shape(tensor)}" for name, tensor in tensors.items()]
    message += [f"The mask {name}: {shape(mask)}" for name, mask in masks.items()]
    return show(build, "The shapes of attention", *message, f"Here {', '.join(here)}")


def _steps(
    attention: MultiHeadAttention, x: Tensor, memory: Tensor, mask: Tensor
) -> dict[str, Tensor]:
    """Return the tensors of the module, from the inputs to the output."""
    sides = attention.project_key(memory), attention.project_value(memory)
    query, key, value = (
        y.unflatten(-1, (attention.num_heads, attention.d_head)).transpose(1, 2)
        for y in (attention.project_query(x), *sides)
    )
    scores = query @ key.mT / attention.d_head**0.5
    weights = attention_weights(query, key, mask)
    context = weights @ value
    merged = context.transpose(1, 2).flatten(2)
    names = ["X", "M", "Q", "K", "V", "scores", "weights", "context", "side by side", "output"]
    made = [x, memory, query, key, value, scores, weights, context, merged]
    return dict(zip(names, [*made, attention.project_output(merged)], strict=True))


def _flow(tensors: Mapping[str, Tensor], used: Tensor, shape: Letters, *, narrow: bool) -> Node:
    """Draw the tensors and the operations between them."""
    wide = 98 if narrow else 122
    grids = {
        name: _grid(x, role, used if name == "weights" else None)
        for (name, x), role in zip(tensors.items(), ROLES, strict=True)
    }
    named: dict[str, list[Node]] = {
        name: [label(name, bold=True), note(shape(x), "muted")] for name, x in tensors.items()
    }
    named["M"][0] = label("X, or a memory M", bold=True)
    inputs = {n: column(*named[n], grids[n], gap=4) for n in "XM"}
    roles = {n: column(grids[n], *named[n], gap=4) for n in "QKV"}
    rest = {n: _beside(grids[n], named[n]) for n in list(tensors)[5:]}
    dot = space(16, 16, lambda ax, at: ax.node(at, "·"))
    times = space(16, 16, lambda ax, at: ax.node(at, "×"))
    mask, joint = space(60, 26, _mask_box), space(20)
    meet = row(slot(mask, 84), joint, note("softmax over S", "muted", width=84), gap=0)
    lines = [
        (row(slot(inputs["X"], wide), slot(inputs["M"], 2 * wide), gap=0), ""),
        (space(3 * wide, 8), "project, and split into heads"),
        (row(*(slot(roles[n], wide) for n in "QKV"), gap=0), ""),
        (row(slot(dot, 2 * wide), space(wide), gap=0), "dot products, ÷ √d_head"),
        (row(slot(rest["scores"], 2 * wide), space(wide), gap=0), ""),
        (row(slot(meet, 2 * wide), space(wide), gap=0), "hidden keys get the weight 0"),
        (row(slot(rest["weights"], 2 * wide), space(wide), gap=0), ""),
        (slot(times, 3 * wide), "average the values"),
        (slot(rest["context"], 3 * wide), ""),
        (slot(rest["side by side"], 3 * wide), "put the heads side by side"),
        (slot(rest["output"], 3 * wide), "multiply by the output matrix"),
    ]
    if not narrow:
        texts = [note(text, "muted", width=184, align="left") for _, text in lines]
        lines = [(row(a, b, gap=0), "") for (a, _), b in zip(lines, texts, strict=True)]
    root = column(*(line for line, _ in lines), gap=12)
    for start, end, role in (
        (grids["X"], grids["Q"], "query"),
        (grids["M"], grids["K"], "key"),
        (grids["M"], grids["V"], "value"),
        (roles["Q"], dot, "query"),
        (roles["K"], dot, "key"),
        (dot, grids["scores"], "ink"),
        (grids["scores"], grids["weights"], "ink"),
        (grids["weights"], times, "weights"),
        (roles["V"], times, "value"),
        (times, grids["context"], "context"),
        (grids["context"], grids["side by side"], "context"),
        (grids["side by side"], grids["output"], "ink"),
    ):
        split = start is grids["M"]
        root.link(start, end, role, below=-14 if split else 0, head=end not in (dot, times))
    root.link(mask, joint, "mask", ends=((1, 0.5), (0.5, 0.5)), head=False)
    return root


def _beside(grid: Node, named: list[Node]) -> Node:
    """Write name and shape on the right of a grid, which keeps its middle."""
    text = column(*named, gap=2, align=0)
    text.fit(300)
    return row(space(text.width), grid, text, gap=10)


def _mask_box(ax: Canvas, at: Point) -> None:
    """Draw the operation of a mask, hatched beside the word."""
    ax.box(at, (60, 26), "mask", "mask", bold=True)
    for side in (-25, 25):
        ax.hatch((at[0] + side, at[1]), (10, 26))


def _grid(tensor: Tensor, role: str, mask: Tensor | None = None) -> Node:
    """Draw the last two axes as rows and columns, and the heads one behind the other."""
    rows, columns = tensor.shape[-2:]
    heads = tensor.size(-3) if tensor.dim() == 4 else 1
    width, height = CELL * columns, CELL * rows

    def paint(ax: Canvas, middle: Point) -> None:
        x, y = middle[0], middle[1] + BEHIND * (heads - 1) / 2
        for head in reversed(range(heads)):
            at = (x + BEHIND * head, y - BEHIND * head)
            ax.box(at, (width, height), role, order=3 + (heads - head) / 10)
        left, top = x - width / 2, y - height / 2
        for i in range(1, rows):
            ax.line([(left, top + CELL * i), (left + width, top + CELL * i)], role, width=0.5)
        for j in range(1, columns):
            ax.line([(left + CELL * j, top), (left + CELL * j, top + height)], role, width=0.5)
        if mask is not None:
            hidden = ~mask.reshape(-1, *mask.shape[-2:])[0].expand(rows, columns)
            for i, j in hidden.nonzero().tolist():
                ax.hatch((left + CELL * (j + 0.5), top + CELL * (i + 0.5)), (CELL, CELL))

    return space(width, height + BEHIND * (heads - 1), paint)
