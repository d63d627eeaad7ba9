"""What a model expects next, step by step, while it writes."""

from collections.abc import Sequence

from torch import Tensor

from selfattn_book.draw.canvas import Canvas, canvas, for_desk_and_phone, number
from selfattn_book.draw.layout import NARROW, WIDE

BAR = 20  # pixels from bar to bar


def next_words(fed: Sequence[str], chances: Tensor, words: Sequence[str], most: int = 3) -> Canvas:
    """Draw for each step what has been written so far, and bars of the likeliest next words.

    Args:
        fed: the words that have been fed, one for each step.
        chances: ``(T, V)``, at each step the probability of each word.
        words: the vocabulary.
        most: how many bars at each step.

    Example:
        >>> import torch
        >>> chances = torch.tensor([[0.25, 0.75, 0.0], [0.1, 0.0, 0.9]])
        >>> ax = next_words(["start", "half"], chances, ["quarter", "half", "past"], most=2)
        >>> print(ax.get_label())
        What comes next, step by step. After start: half 0.75, quarter 0.25.
        After start half: past 0.90, quarter 0.10.
    """
    steps = [
        (" ".join(fed[: step + 1]), _likeliest(row, words, most))
        for step, row in enumerate(chances.detach())
    ]
    message = [
        f"After {so_far}: {', '.join(f'{word} {number(p)}' for word, p in expected)}"
        for so_far, expected in steps
    ]

    def draw(width: float) -> Canvas:
        ax = _all_steps(steps, most, width == WIDE)
        return ax.describe("What comes next, step by step", *message)

    return for_desk_and_phone(draw)


Step = tuple[str, list[tuple[str, float]]]


def _likeliest(row: Tensor, words: Sequence[str], most: int) -> list[tuple[str, float]]:
    """Return so many words with the highest probabilities; of equal ones the first."""
    best = row.sort(descending=True, stable=True)
    pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return [(words[place], chance) for place, chance in pairs][:most]


def _all_steps(steps: Sequence[Step], most: int, on_desk: bool) -> Canvas:
    head, below = (30, 14) if on_desk else (6, 38)
    high = most * BAR + below
    ax = canvas(WIDE if on_desk else NARROW, head + len(steps) * high)
    if on_desk:
        for x, title, align in ((230, "so far", "right"), (262, "next", "left")):
            ax.say((x, 12), title, "muted", align=align, bold=True)
    for i, (so_far, expected) in enumerate(steps):
        _step(ax, head + i * high, on_desk, so_far, expected)
    return ax


def _step(
    ax: Canvas, top: float, on_desk: bool, so_far: str, expected: Sequence[tuple[str, float]]
) -> None:
    """Draw one step: the words so far, and a bar for each word that may come next."""
    if on_desk:
        middle = top + len(expected) * BAR / 2
        ax.say((230, middle), so_far, align="right")
    else:
        ax.say((4, top + 10), so_far, align="left", bold=True)
        top += 24
    start, length = (330, 240) if on_desk else (92, 160)
    for i, (word, chance) in enumerate(expected):
        y = top + (i + 0.5) * BAR
        ax.say((start - 8, y), word, align="right")
        ax.hbar((start, y), length * chance, "weights", thick=BAR - 6)
        at = (start + length * chance + 6, y)
        ax.note(at, number(chance), align="left")
