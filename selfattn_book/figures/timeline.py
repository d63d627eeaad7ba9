"""Who works on what, tick by tick, and who waits."""

from torch import Tensor

from selfattn_book.draw.canvas import Canvas, canvas, for_desk_and_phone
from selfattn_book.draw.layout import WIDE

GROUNDS = ("word-0", "word-1", "word-2", "word-3")  # one for each rank
ROW, TOP = 40, 36  # pixels: a rank, and above the first one


def timeline(work: Tensor) -> Canvas:
    """Draw on which batch each rank works at each tick, and hatch where it waits.

    Args:
        work: ``(R, ticks)``, integers: the number of a batch, or -1 for waiting; at most 4 by 12.

    Example:
        >>> import torch
        >>> print(timeline(torch.tensor([[0, 1, -1], [-1, 0, 1]])).get_label())
        2 ranks over 3 ticks.
        Rank 0 works on batch 0, 1, and waits for 1 of 3 ticks.
        Rank 1 works on batch 0, 1, and waits for 1 of 3 ticks.
    """
    shape = tuple(work.shape)
    ranks, ticks = shape

    def draw(width: float) -> Canvas:
        left = 64 if width == WIDE else 50
        cell = min(52, (width - left - 8) / ticks)
        ax = canvas(width, TOP + ROW * ranks - 6)
        ax.note((left, 12), "time →", "muted", align="left")
        for rank, row in enumerate(work.tolist()):
            y = TOP + ROW * rank + 8
            ax.note((left - 10, y), f"rank {rank}", align="right")
            for tick, batch in enumerate(row):
                middle, size = (left + cell * (tick + 0.5), y), (cell - 3, ROW - 10)
                if batch < 0:
                    ax.box(middle, size, "mask", dashed=True)
                    ax.hatch(middle, size)
                else:
                    ax.box(middle, size, GROUNDS[rank], str(int(batch)))
        message = (_told(rank, row) for rank, row in enumerate(work.tolist()))
        return ax.describe(f"{ranks} ranks over {ticks} ticks", *message)

    return for_desk_and_phone(draw)


def _told(rank: int, row: list[int]) -> str:
    """Say on what a rank works, and how long it waits."""
    batches = ", ".join(str(int(batch)) for batch in row if batch >= 0)
    waits = sum(batch < 0 for batch in row)
    return f"Rank {rank} works on batch {batches}, and waits for {waits} of {len(row)} ticks"
