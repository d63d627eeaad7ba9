"""Which rank works on which micro-batch, or part of a text, at each tick, and which rank waits."""

from torch import Tensor

from selfattn_book.draw.canvas import Canvas
from selfattn_book.draw.scene import Node, column, hatched, note, part, row, show, space


def timeline(work: Tensor, kind: str = "batch") -> Canvas:
    """Draw the batch of each rank at each tick, ``(R, ticks)``; a rank that waits, -1, is hatched.

    With another ``kind``, such as ``"part"``, the numbers are of what this word says.

    Example:
        >>> import torch
        >>> print(timeline(torch.tensor([[0, 1, -1], [-1, 0, 1]])).get_label())
        2 ranks over 3 ticks.
        Rank 0 works on batch 0, 1, and waits for 1 of 3 ticks.
        Rank 1 works on batch 0, 1, and waits for 1 of 3 ticks.
    """
    ranks, ticks = work.shape

    def build(narrow: bool) -> Node:
        size = min(49, (254 if narrow else 576) / ticks - 3), 30
        lines: list[Node] = [row(space(44), note("time →", "muted"))]
        for rank, batches in enumerate(work.tolist()):
            done = ", ".join(str(batch) for batch in batches if batch >= 0)
            boxes = [
                hatched(*size) if b < 0 else part(str(b), f"word-{rank}", width=size[0], height=30)
                for b in batches
            ]
            waits = f", and waits for {batches.count(-1)} of {ticks} ticks"
            alt = f"Rank {rank} works on {kind} {done}{waits if -1 in batches else ''}"
            lines.append(row(note(f"rank {rank}", width=46), *boxes, gap=3, alt=alt))
        return column(*lines, gap=10, align=0)

    return show(build, f"{ranks} ranks over {ticks} ticks")
