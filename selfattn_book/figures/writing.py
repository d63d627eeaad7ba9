"""A language model that writes: its text, what one head attends to, and the next token."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import torch

from selfattn_book.draw.canvas import Canvas, Point, both_widths, canvas, number
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.live import begin, live
from selfattn_book.figures.token_figures import visible
from selfattn_book.generation import next_token_distribution
from selfattn_book.language import LanguageModel
from selfattn_book.tokens import BPETokenizer

LONGEST = 11  # letters of a token that are drawn
SHOWN = 8  # next tokens
NAMED = 3  # of the largest weights, and of the most probable tokens
# Pixels: of a row of tokens, of the largest weight, of a token's box, and of a bar of the next tokens.
ROW, HIGH, BOX, BAR = 44, 18, 20, 24
NARROW_LETTERS, WIDE_LETTERS = " !'(),-.:;Ifijlrt·", "mwMW"


def writing(
    model: LanguageModel,
    tokenizer: BPETokenizer,
    text: str,
    written: Sequence[int] = (),
    *,
    seed: int = 1,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    block: int = 0,
    head: int = 0,
    back: int = 0,
) -> Canvas:
    """Draw a text as tokens, the attention weights of one head, and what the model predicts.

    Weights and prediction are those of one token, ``back`` tokens before the last. Blocks and heads
    count from 0, in their names from 1.

    Args:
        text: the beginning; an empty one is the end of a line.
        written: tokens that the model has added.
        seed: of the samples; only noted, for the live figure.

    Example:
        >>> from selfattn_book.experiments.model_file import load_bundled_model
        >>> model, tokenizer, _ = load_bundled_model()
        >>> print(writing(model, tokenizer, "And God said", top_k=2).get_label())
        .
    """
    options: Any = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    tokens = [*tokenizer.encode(text or "\n").tolist(), *written]
    first = max(0, len(tokens) - (model.context_length or len(tokens)))
    at = len(tokens) - 1 - back
    with torch.inference_mode():
        exact = deepcopy(model).double()  # as the live figure computes
        states, weights = exact.hidden_states(torch.tensor([tokens[first:]]))
        logits = exact.unembedding(states[0, at - first])
        probabilities = next_token_distribution(logits, **options)
        order = logits.sort(descending=True, stable=True).indices[:SHOWN]
    own = weights[block]
    assert own is not None
    row = own[0, head, at - first, : at - first + 1].tolist()
    pieces = [shorten(tokenizer.decode([token])) for token in tokens]
    bars = [(shorten(tokenizer.decode([i])), float(probabilities[i])) for i in order.tolist()]
    shown = {
        "pieces": pieces,
        "weights": [0.0] * first + row,
        "first": first,
        "at": at,
        "written": len(tokens) - len(written),
    }
    largest = sorted(range(first, at + 1), key=lambda i: -shown["weights"][i])[:NAMED]
    looks = ", ".join(f"{pieces[i]} {number(shown['weights'][i])}" for i in largest)
    title = f"block {block + 1}, head {head + 1}: {pieces[at]} attends to"
    rest = 1 - sum(p for _, p in bars)
    values = {
        "words": shown,
        "title": title,
        "largest": looks,
        "next": {"bars": bars, "rest": rest, "actual": (pieces + [""])[at + 1]},
        "after": f"after {pieces[at]}",
    }
    message = (
        f"The text: “{tokenizer.decode(tokens).replace(chr(10), '⏎')}”",
        f"In {title} {looks}",
        f"The most likely tokens {values['after']}: "
        + ", ".join(f"{name} {number(p)}" for name, p in bars[:NAMED]),
    )

    def draw(width: float) -> Canvas:
        is_desk = width == WIDE
        rows, wide = (6, 404) if is_desk else (7, width)
        down = 46 + ROW * rows
        ax = canvas(width, down if is_desk else down + 44 + BAR * (SHOWN + 1))
        corner = (436, 0) if is_desk else (0, down + 14)
        for name, place, role, bold in (
            ("title", (0, 12), "muted", True),
            ("largest", (0, 32), "weights", False),
            ("after", (corner[0], corner[1] + 12), "muted", True),
        ):
            look: Any = {"role": role, "bold": bold, "align": "left", "size": 13}
            live(ax, _text, name, values[name], at=place, **look)
        live(ax, _words, "words", shown, corner=(0, 46), wide=wide, rows=rows)
        place = (corner[0], corner[1] + 36)
        live(ax, _next, "next", values["next"], corner=place, wide=width - corner[0])
        return ax.describe(*message)

    state = {"text": text, "written": len(written), "seed": seed, "temperature": temperature}
    state |= {"k": top_k or 0, "p": top_p or 0, "block": block, "head": head, "back": back}
    return begin(both_widths(draw), "writer", **state)


def shorten(token: str) -> str:
    """Write a token so that it fits into its box.

    >>> shorten(" Philistines")
    '·Philistin…'
    """
    shown = visible(token)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def letters_width(text: str) -> float:
    """Return about how wide a text of 13 pixels is, in pixels.

    >>> letters_width("·mill")
    31.6
    """
    small, large = (sum(c in some for c in text) for some in (NARROW_LETTERS, WIDE_LETTERS))
    return 7.2 * (len(text) - small - large) + 4.2 * small + 11 * large


def flow(pieces: Sequence[str], wide: float) -> Iterator[tuple[int, float, float]]:
    """Yield for each token its row, its left edge, and its width; a row is at most ``wide``."""
    row, x = 0, 0.0
    for piece in pieces:
        size = max(16, letters_width(piece) + 8)
        if x + size > wide:
            row, x = row + 1, 0.0
        yield row, x, size
        x += size + 2


def _text(ax: Canvas, text: str, at: Point, role: str, **look: Any) -> None:
    """Write a line of text."""
    ax.say(at, text, role, **look)


def _words(ax: Canvas, shown: Mapping[str, Any], corner: Point, wide: float, rows: int) -> None:
    """Draw the last rows of a text in boxes, with the weights above them."""
    places = list(flow(shown["pieces"], wide))
    hidden = max(0, places[-1][0] + 1 - rows)
    for i, (row, left, size) in enumerate(places):
        if row < hidden:
            continue
        x, y = corner[0] + left + size / 2, corner[1] + (row - hidden + 1) * ROW - BOX / 2 - 2
        chosen, read = i == shown["at"], i >= shown["first"]
        role = "query" if chosen else "context" if i >= shown["written"] else "ink"
        look: Any = {"filled": read, "dashed": not read, "width": 2.4 if chosen else 1}
        ax.box((x, y), (size, BOX), role if read else "muted", **look)
        ax.note((x, y), shown["pieces"][i], "ink" if read else "muted")
        if shown["first"] <= i <= shown["at"]:
            ax.vbar((x, y - BOX / 2 - 1), HIGH * shown["weights"][i], "weights", thick=size - 4)


def _next(ax: Canvas, shown: Mapping[str, Any], corner: Point, wide: float) -> None:
    """Draw the probabilities of the next token as bars, the most likely first."""
    start = 92
    unit = wide - start - 44
    bars = [(name, p, "context") for name, p in shown["bars"]]
    for i, (name, p, role) in enumerate([*bars, ("all others", shown["rest"], "muted")]):
        ink, x, y = "ink" if p > 0 else "muted", corner[0] + start, corner[1] + BAR * i
        look: Any = {"align": "right", "bold": name == shown["actual"]}
        ax.note((x - 8, y), name, "muted" if role == "muted" else ink, **look)
        ax.hbar((x, y), unit * p, role, thick=14)
        ax.note((x + unit * p + 6, y), number(p) if p > 0 else "–", ink, align="left")
