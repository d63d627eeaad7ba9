"""Sentences and their bags of words: what a model sees that does not see the order of words."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, LINE, Canvas
from selfattn_book.draw.scene import (
    Node,
    column,
    frame,
    label,
    note,
    part,
    row,
    show,
    slot,
    space,
    title,
)

GROUNDS = ["word-0", "word-1", "word-2", "word-3", "muted"]
Sentence = tuple[list[int], int, str]  # its words, its label, and its text


def into_bags(tokens: Tensor, labels: Tensor, spelled: Sequence[str] | None = None) -> Canvas:
    """Draw each sentence and its bag of words; a bag of sentences with both labels has a bold edge.

    Tokens are ``(B, 3)``, integers from 0 to 4, and labels ``(B,)``, 0 or 1. A sentence that is
    ``spelled`` has its words under its numbers.

    Example:
        >>> import torch
        >>> tokens = torch.tensor([[0, 1, 2], [2, 1, 0], [3, 1, 4]])
        >>> print(into_bags(tokens, torch.tensor([1.0, 0.0, 1.0])).get_label())
        3 sentences and their bags of words.
        Into the bag 0 1 2 fall 0 1 2 with label 1 and 2 1 0 with label 0: both labels in one bag.
        Into the bag 1 3 4 falls 3 1 4 with label 1.
    """
    bags: dict[tuple[int, ...], list[Sentence]] = {}
    texts = spelled or [""] * len(tokens)
    for words, sign, text in zip(tokens.tolist(), labels.int().tolist(), texts, strict=True):
        bags.setdefault(tuple(sorted(words)), []).append((words, sign, text))

    def build(narrow: bool) -> Node:
        gap = 64 if narrow else 160
        lines: list[Node] = [row(title("sentence, label"), slot(title("its bag"), 84), gap=gap)]
        lines += [_bag(bag, fallen, gap) for bag, fallen in bags.items()]
        return column(*lines, gap=14, align=0)

    return show(build, f"{len(tokens)} sentences and their bags of words")


def _bag(bag: Sequence[int], fallen: Sequence[Sentence], gap: float) -> Node:
    """Draw the sentences that fall into a bag on its left."""
    has_both = len({sign for _, sign, _ in fallen}) > 1
    sentences = [
        row(_tiles(words), label(str(sign), bold=True, width=22)) for words, sign, _ in fallen
    ]
    lines = [
        column(sentence, note(text), gap=2, align=0) if text else sentence
        for sentence, (_, _, text) in zip(sentences, fallen, strict=True)
    ]
    role, width = ("ink", BOLD_LINE) if has_both else ("residual", LINE)
    drawn = frame(_tiles(bag), role, pad=4, width=width)
    each = [
        f"{' '.join(map(str, words))} ({text}) with label {sign}"
        if text
        else f"{' '.join(map(str, words))} with label {sign}"
        for words, sign, text in fallen
    ]
    root = row(
        column(*lines, gap=14, align=0),
        column(space(0, 17), drawn, note("both labels", bold=True), gap=0) if has_both else drawn,
        gap=gap,
        alt=f"Into the bag {' '.join(map(str, bag))} {'fall' if len(fallen) > 1 else 'falls'} "
        f"{' and '.join(each)}{': both labels in one bag' if has_both else ''}",
    )
    for sentence, (_, sign, _) in zip(sentences, fallen, strict=True):
        look: Any = {"role": "ink" if sign else "muted", "dashed": not sign, "curved": True}
        root.link(sentence, drawn, ends=((1, 0.5), (0, 0.5)), **look)
    return root


def _tiles(words: Sequence[int]) -> Node:
    return row(*(part(str(word), GROUNDS[word], width=24, height=24) for word in words), gap=2)
