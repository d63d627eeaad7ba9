"""Sentences and their bags of words: what a model sees that does not see the order of words."""

from collections.abc import Sequence

from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, LINE, Canvas, Point, both_widths, canvas
from selfattn_book.draw.layout import WIDE

TILE = 26  # pixels of a word
ROW, TOP = 40, 60  # pixels from a sentence to the next, and above the middle of the first
WIDTH = 3 * TILE + 12  # pixels of a bag
GROUNDS = ["word-0", "word-1", "word-2", "word-3", "muted"]
Sentence = tuple[list[int], int]  # its words, and its label


def into_bags(tokens: Tensor, labels: Tensor) -> Canvas:
    """Draw each sentence and its bag of words; a bag of sentences with both labels has a bold edge.

    Tokens are ``(B, 3)``, integers from 0 to 4, and labels ``(B,)``, 0 or 1.

    Example:
        >>> import torch
        >>> tokens = torch.tensor([[0, 1, 2], [2, 1, 0], [3, 1, 4]])
        >>> print(into_bags(tokens, torch.tensor([1.0, 0.0, 1.0])).get_label())
        3 sentences and their bags of words.
        Into the bag 0 1 2 fall 0 1 2 with label 1 and 2 1 0 with label 0: both labels in one bag.
        Into the bag 1 3 4 falls 3 1 4 with label 1.
    """
    sentences: list[Sentence] = list(zip(tokens.tolist(), labels.int().tolist(), strict=True))
    bags: dict[tuple[int, ...], list[Sentence]] = {}
    for words, label in sentences:
        bags.setdefault(tuple(sorted(words)), []).append((words, label))

    def draw(width: float) -> Canvas:
        x, across = (210, 470) if width == WIDE else (66, 250)  # middles of sentences and bags
        ax, y = canvas(width, TOP + ROW * len(tokens)), TOP
        ax.say((x, 16), "sentence, label", "muted", bold=True)
        ax.say((across, 16), "its bag", "muted", bold=True)
        for bag, fallen in bags.items():
            middle = (across, y + ROW * (len(fallen) - 1) / 2)
            for words, label in fallen:
                _tiles(ax, (x - 18, y), words)
                ax.say((x + 38, y), str(label), bold=True)
                ends = [(x + 52, y), (across - WIDTH / 2 - 1, middle[1])]
                ax.wire(ends, "ink" if label else "muted", curved=True, dashed=not label)
                y += ROW
            both = _has_both(fallen)
            edge = ("ink", BOLD_LINE) if both else ("residual", LINE)
            ax.box(middle, (WIDTH, TILE + 7), edge[0], filled=False, width=edge[1])
            _tiles(ax, middle, bag)
            if both:
                ax.note((across, middle[1] + TILE / 2 + 16), "both labels", bold=True)
        opening = f"{len(tokens)} sentences and their bags of words"
        return ax.describe(opening, *(_sentence(*bag) for bag in bags.items()))

    return both_widths(draw)


def _has_both(fallen: Sequence[Sentence]) -> bool:
    return len({label for _, label in fallen}) > 1


def _sentence(bag: Sequence[int], fallen: Sequence[Sentence]) -> str:
    def spaced(words: Sequence[int]) -> str:
        return " ".join(map(str, words))

    each = " and ".join(f"{spaced(words)} with label {label}" for words, label in fallen)
    verb = "falls" if len(fallen) == 1 else "fall"
    both = ": both labels in one bag" if _has_both(fallen) else ""
    return f"Into the bag {spaced(bag)} {verb} {each}{both}"


def _tiles(ax: Canvas, at: Point, words: Sequence[int]) -> None:
    for i, word in enumerate(words):
        ax.box((at[0] + TILE * (i - 1), at[1]), (TILE - 2, TILE - 2), GROUNDS[word], str(word))
