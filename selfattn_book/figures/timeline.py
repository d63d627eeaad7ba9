"""Which rank works on which micro-batch at each tick, and which rank waits."""

from torch import Tensor

from selfattn_book.draw.canvas import Canvas, both_widths, canvas
from selfattn_book.draw.layout import WIDE

ROW, TOP = 40, 36  # pixels: a rank, and above the first one


def timeline(work: Tensor) -> Canvas:
    """Draw the batch of each rank at each tick, ``(R, ticks)``; a rank that waits, -1, is hatched.

    Example:
        >>> import torch
        >>> print(timeline(torch.tensor([[0, 1, -1], [-1, 0, 1]])).get_label())
        2 ranks over 3 ticks.
        Rank 0 works on batch 0, 1, and waits for 1 of 3 ticks.
        Rank 1 works on batch 0, 1, and waits for 1 of 3 ticks.
    """
    ranks, ticks = work.shape
    message = [f"{ranks} ranks over {ticks} ticks"]
    for rank, row in enumerate(work.tolist()):
        batches = ", ".join(str(batch) for batch in row if batch >= 0)
        waits = f"waits for {row.count(-1)} of {ticks} ticks"
        message.append(f"Rank {rank} works on batch {batches}, and {waits}")

    def draw(width: float) -> Canvas:
        left = 64 if width == WIDE else 50
        cell = min(52, (width - left - 8) / ticks)
        ax, size = canvas(width, TOP + ROW * ranks - 6), (cell - 3, ROW - 10)
        ax.note((left, 12), "time →", "muted", align="left")
        for rank, row in enumerate(work.tolist()):
            y = TOP + ROW * rank + 8
            ax.note((left - 10, y), f"rank {rank}", align="right")
            for tick, batch in enumerate(row):
                at = (left + cell * (tick + 0.5), y)
                if batch < 0:
                    ax.box(at, size, "mask", dashed=True)
                    ax.hatch(at, size)
                else:
                    ax.box(at, size, f"word-{rank}", str(batch))
        return ax.describe(*message)

    return both_widths(draw)
