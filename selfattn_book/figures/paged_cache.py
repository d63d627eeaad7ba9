"""A paged KV cache: texts whose keys and values are in blocks of one pool, in any order."""

from collections.abc import Mapping, Sequence
from functools import partial

from selfattn_book.draw.canvas import Canvas, Point
from selfattn_book.draw.scene import Node, column, grid, label, note, row, show, space

SLOT, HEIGHT, GAP = 17, 24, 9  # pixels: a token, a block, and between blocks
Tables = Mapping[str, tuple[Sequence[int], int]]


def paged_cache(tables: Tables, *, blocks: int, size: int) -> Canvas:
    """Draw each text's blocks in its own order, and the pool of blocks that holds them.

    Args:
        tables: for each text, by name, the numbers of its blocks in the pool and its tokens.
        blocks: number of blocks in the pool.
        size: number of tokens that a block holds.

    Example:
        >>> print(paged_cache({"A": ([2, 0], 5)}, blocks=4, size=3).get_label())
        A pool of 4 blocks, each for the keys and values of 3 tokens. A, 5 tokens: 1, 2, 3 in
        block 2; 4, 5 in block 0. Free: blocks 1, 3.
    """
    owner = {
        block: (i, n)
        for i, (table, _) in enumerate(tables.values())
        for n, block in enumerate(table)
    }

    def held(block: int) -> range:
        """Return the numbers of the tokens in a block."""
        i, n = owner[block]
        length = list(tables.values())[i][1]
        return range(n * size + 1, min((n + 1) * size, length) + 1)

    def drawn(block: int) -> Node:
        paint = partial(_block, size, owner[block][0], held(block)) if block in owner else None
        return space(size * SLOT, HEIGHT, paint or partial(_block, size, None, ()))

    def build(narrow: bool) -> Node:
        logical: dict[int, Node] = {}
        texts: list[Node] = []
        for name, (table, length) in tables.items():
            kept = [f"{', '.join(map(str, held(block)))} in block {block}" for block in table]
            logical |= {block: drawn(block) for block in table}
            named = [column(logical[b], note(f"in block {b}", "muted"), gap=2) for b in table]
            head = label(f"{name}, {length} tokens", bold=True, width=140, align="left")
            body = grid(named, 3 if narrow else 8, gap=GAP)
            both = column if narrow else row
            alt = f"{name}, {length} tokens: {'; '.join(kept)}"
            texts.append(both(head, body, gap=6, align=0, alt=alt))
        pool = [drawn(block) for block in range(blocks)]
        numbered = [column(node, note(str(b), "muted"), gap=2) for b, node in enumerate(pool)]
        free = [str(block) for block in range(blocks) if block not in owner]
        memory = column(
            label("The pool in memory", "muted", bold=True, width=300, align="left"),
            grid(numbered, 4 if narrow else 8, gap=GAP),
            gap=6,
            align=0,
            alt=f"Free: blocks {', '.join(free)}" if free else "",
        )
        return column(*texts, memory, gap=18, align=0)

    tokens = f"each for the keys and values of {size} tokens"
    return show(build, f"A pool of {blocks} blocks, {tokens}")


def _block(size: int, text: int | None, held: Sequence[int], ax: Canvas, middle: Point) -> None:
    """Draw the slots of a block: with tokens, reserved for later ones, or free."""
    left = middle[0] - size * SLOT / 2
    if text is None:
        ax.box(middle, (size * SLOT, HEIGHT), "residual", filled=False, dashed=True, width=1)
        return
    for i in range(size):
        at, edge = (left + (i + 0.5) * SLOT, middle[1]), (SLOT, HEIGHT)
        if i < len(held):
            ax.box(at, edge, f"word-{text % 4}", str(held[i]), width=1, text_size=13)
        else:
            ax.masked(at, edge)
