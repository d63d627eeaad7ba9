"""A paged KV cache: texts whose keys and values are in blocks of one pool, in any order."""

from collections.abc import Mapping, Sequence
from typing import Any

from selfattn_book.draw.canvas import Canvas
from selfattn_book.draw.scene import Node, column, grid, hatched, label, note, part, row, show
from selfattn_book.draw.sheet import SMALL

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
        block: (f"word-{i % 4}", range(n * size + 1, min((n + 1) * size, length) + 1))
        for i, (table, length) in enumerate(tables.values())
        for n, block in enumerate(table)
    }
    free = [str(block) for block in range(blocks) if block not in owner]

    def drawn(block: int, text: str) -> Node:
        """Draw a block with its tokens and the slots reserved for later ones, or a free one."""
        if block not in owner:
            look: Any = {"edge": 1, "filled": False, "dashed": True}
            slots = part("", "residual", width=size * SLOT, height=HEIGHT, **look)
        else:
            role, held = owner[block]
            look = {"width": SLOT, "height": HEIGHT, "edge": 1, "text_size": SMALL}
            boxes = [part(str(token), role, **look) for token in held]
            rest = [hatched(SLOT, HEIGHT) for _ in range(size - len(held))]
            slots = row(*boxes, *rest, gap=0)
        return column(slots, note(text, "muted"), gap=2)

    def build(narrow: bool) -> Node:
        texts: list[Node] = []
        for name, (table, length) in tables.items():
            kept = [f"{', '.join(map(str, owner[block][1]))} in block {block}" for block in table]
            named = [drawn(block, f"in block {block}") for block in table]
            head = label(f"{name}, {length} tokens", bold=True, width=140, align="left")
            body = grid(named, 3 if narrow else 8, gap=GAP)
            both = column if narrow else row
            alt = f"{name}, {length} tokens: {'; '.join(kept)}"
            texts.append(both(head, body, gap=6, align=0, alt=alt))
        head = label("The pool in memory", "muted", bold=True, align="left")
        body = grid(
            [drawn(block, str(block)) for block in range(blocks)], 4 if narrow else 8, gap=GAP
        )
        alt = f"Free: blocks {', '.join(free)}" if free else ""
        return column(*texts, column(head, body, gap=6, align=0, alt=alt), gap=18, align=0)

    tokens = f"each for the keys and values of {size} tokens"
    return show(build, f"A pool of {blocks} blocks, {tokens}")
