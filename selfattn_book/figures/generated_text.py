"""A language model that writes: its text, what one head attends to, and the next token."""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, both_widths, canvas, number
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.live import begin, live
from selfattn_book.draw.sheet import SMALL
from selfattn_book.figures.token_figures import visible
from selfattn_book.generation import next_token_distribution
from selfattn_book.language import LanguageModel
from selfattn_book.tokens import BPETokenizer

LONGEST = 11  # letters of a token that are drawn
SHOWN = 8  # next tokens
NOTHING = 1e-9  # of a probability, but rounding
NAMED = 3  # of the largest weights, and of the most probable tokens
# Pixels: of a row of tokens, of the largest weight, of the box of a token, and of a next token.
ROW, HIGH, BOX, BAR = 40, 16, 20, 24
NARROW_LETTERS, WIDE_LETTERS = " !'(),-.:;Ifijlrt·", "mwMW"


def generated_text(
    model: LanguageModel,
    tokenizer: BPETokenizer,
    text: str,
    written: Sequence[int] = (),
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 1,
    head: tuple[int, int] = (0, 0),
    back: int = 0,
) -> Canvas:
    """Draw a text as tokens, the attention weights of one head, and the most likely next tokens.

    Weights and predictions are those of one token, ``back`` tokens before the last. Tokens that are
    before the context window are dashed, and tokens that the model has written have a color.

    The beginning is ``text``, and ``written`` are the tokens that the model has added. Settings are the
    options of :func:`.next_token_distribution`; the seed is noted for the live figure. Block and head
    count from 0, in their names from 1.

    Example:
        >>> from selfattn_book.experiments.model_file import load_bundled_model
        >>> model, tokenizer, _ = load_bundled_model()
        >>> ax = generated_text(model, tokenizer, "And God said", settings={"top_k": 2})
        >>> print(ax.get_label())
        The text: “And God said”. In block 1, head 1: ·said attends to ·said 0.94, And 0.04, ·God 0.02.
        The most likely tokens after ·said: ·unto 0.60, , 0.40, ·to 0.00.
    """
    settings = settings or {}
    tokens = [*tokenizer.encode(text or "\n").tolist(), *written]
    values = _values(model, tokenizer, tokens, len(tokens) - 1 - back, head, settings)
    values["words"]["written"] = len(tokens) - len(written)
    likely = ", ".join(f"{name} {number(p)}" for name, p in values["next"]["bars"][:NAMED])
    whole = tokenizer.decode(tokens).replace("\n", "⏎")
    message = (
        f"The text: “{whole}”",
        f"In {values['title']} {values['largest']}",
        f"The most likely tokens {values['after']}: {likely}",
    )
    state = {"text": text, "written": len(written), "seed": seed}
    state |= {"temperature": settings.get("temperature", 1), "k": settings.get("top_k") or 0}
    state |= {"p": settings.get("top_p") or 0, "block": head[0], "head": head[1], "back": back}
    return begin(both_widths(partial(_draw, values, message)), "writer", **state)


def _values(
    model: LanguageModel,
    tokenizer: BPETokenizer,
    tokens: Sequence[int],
    at: int,
    head: tuple[int, int],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Compute what is drawn of a position, in float64 as the live figure does."""
    exact, first = deepcopy(model).double(), max(0, len(tokens) - (model.context_length or 0))
    with torch.inference_mode():
        states, maps = exact.hidden_states(torch.tensor([tokens[first:]]))
        logits = exact.unembedding(states[0, at - first])
        probabilities = next_token_distribution(logits, **settings)
    names = [shorten(tokenizer.decode([token])) for token in range(len(tokenizer))]
    pieces, own = [names[token] for token in tokens], cast("Tensor", maps[head[0]])
    weights = torch.zeros(at + 1, dtype=torch.float64)
    weights[first:] = own[0, head[1], at - first, : at + 1 - first]
    best = weights[first:].sort(descending=True, stable=True).indices[:NAMED] + first
    likely = logits.sort(descending=True, stable=True).indices[:SHOWN]
    bars = [(names[i], float(probabilities[i])) for i in likely.tolist()]
    rest = 1 - sum(p for _, p in bars)
    actual = pieces[at + 1] if at + 1 < len(pieces) else ""
    return {
        "words": {"pieces": pieces, "weights": weights.tolist(), "first": first, "at": at},
        "title": f"block {head[0] + 1}, head {head[1] + 1}: {pieces[at]} attends to",
        "largest": ", ".join(f"{pieces[i]} {number(float(weights[i]))}" for i in best.tolist()),
        "next": {"bars": bars, "rest": rest if rest > NOTHING else 0.0, "actual": actual},
        "after": f"after {pieces[at]}",
    }


def _draw(values: Mapping[str, Any], message: Sequence[str], width: float) -> Canvas:
    """Draw the text on the left, or above on a phone, and the next tokens beside it, or below."""
    is_desk = width == WIDE
    rows, wide = (7, 404) if is_desk else (9, width)
    below = 46 + ROW * rows
    left, top = (436.0, 0.0) if is_desk else (0.0, below + 14.0)
    ax = canvas(width, below if is_desk else top + 36 + BAR * (SHOWN + 1))
    places = {"title": (0, 12), "largest": (0, 32), "after": (left, top + 12)}
    for name, at in places.items():
        role = "weights" if name == "largest" else "muted"
        look: Any = {"bold": name != "largest", "align": "left", "size": SMALL}
        live(ax, _text, name, values[name], at=at, role=role, **look)
    live(ax, _words, "words", values["words"], corner=(0, 46), wide=wide, rows=rows)
    live(ax, _next, "next", values["next"], corner=(left, top + 36), wide=width - left)
    return ax.describe(*message)


def shorten(token: str) -> str:
    r"""Write a token so that it fits into its box; a control character is `�`, as a part of a letter.

    >>> shorten(" Philistines"), shorten("\x07")
    ('·Philistin…', '�')
    """
    shown = re.sub(r"[\x00-\x1f\x7f]", "�", visible(token))
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def letters_width(text: str) -> float:
    """Return about how wide a text of 13 pixels is, in pixels.

    >>> letters_width("·mill")
    27.8
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
    hidden, top = max(0, places[-1][0] + 1 - rows), max(shown["weights"])
    for i, (row, left, size) in enumerate(places):
        if row < hidden:
            continue
        x, y = corner[0] + left + size / 2, corner[1] + (row - hidden + 1) * ROW - BOX / 2 - 2
        chosen, read = i == shown["at"], i >= shown["first"]
        role = "query" if chosen else "context" if i >= shown["written"] else "ink"
        look: Any = {"filled": read, "dashed": not read, "width": BOLD_LINE if chosen else 1}
        ax.box((x, y), (size, BOX), role if read else "muted", **look)
        ax.note((x, y), shown["pieces"][i], "ink" if read else "muted")
        if shown["first"] <= i <= shown["at"]:
            ax.vbar(
                (x, y - BOX / 2 - 1), HIGH * shown["weights"][i] / top, "weights", thick=size - 4
            )


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
