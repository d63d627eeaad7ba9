"""Attention knockout by hand: cells and heads are removed from two models, and the answer is watched."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, both_widths, canvas, listed, number
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.live import begin, live
from selfattn_book.figures.rounded_weights import rounded
from selfattn_book.language import LanguageModel
from selfattn_book.measure.editing import edit_map, remove
from selfattn_book.measure.induction import induction_mask

WIDE, HIGH = 300, 400  # pixels of the panel of one model
UP = 34  # pixels of a weight of 1
DRAWN, SEEN = 0.005, 0.095  # the smallest bar, and the smallest with a number


def knockout(
    models: Mapping[str, LanguageModel],
    text: Tensor,
    cut: Tensor,
    off: Tensor | None = None,
    *,
    letters: str = "abcdefgh",
    replaced: int = -1,
) -> Canvas:
    """Draw what two models of two layers predict after a text ``(T,)`` when cells are removed.

    ``cut``, ``(M, H, T)`` and boolean, are the cells removed from the last rows of layer 2, and
    ``off``, ``(M, H)``, the heads removed from layer 1, by default none. Everywhere but at the end,
    the letter ``replaced`` becomes one that is not in the text. The models' weights are rounded.

    Example:
        >>> from selfattn_book.language import decoder_only
        >>> sizes = {"d_model": 4, "num_layers": 2, "num_heads": 1, "context_length": 3}
        >>> model, none = decoder_only(8, **sizes), torch.zeros(1, 1, 3, dtype=torch.bool)
        >>> ax = knockout({"One": model}, torch.tensor([0, 1, 0]), none)
        >>> ax.live["state"]["letters"], len(ax.live["state"]["models"])
        ('abcdefgh', 1)
    """
    off = torch.zeros_like(cut[..., 0]) if off is None else off
    copies, packed = zip(*map(rounded, models.values()), strict=True)
    now = _replaced(text, replaced, len(letters))
    kept = torch.zeros_like(cut[0]), torch.zeros_like(off[0])
    shown, message = [], [f"The text {' '.join(letters[i] for i in text)}"]
    if replaced >= 0:
        message = [f"{message[0]}, with {letters[now[now != text][0]]} for {letters[replaced]}"]
    for name, model, cells, heads in zip(models, copies, cut, off, strict=True):
        weights, chances = _run(model, now, cells, heads)
        _, before = _run(model, text, *kept)
        strips = [
            {"weights": w.tolist(), "cut": c.tolist()} for w, c in zip(weights, cells, strict=True)
        ]
        values = {"now": chances.tolist(), "before": before.tolist()}
        shown.append({"off": heads.tolist(), "strips": strips, "next": values})
        message += _told(name, letters, shown[-1])
    answer = induction_mask(text[None])[0, -1]
    string = "".join(letters[i] for i in now)
    words = {"text": string, "changed": (now != text).tolist(), "answer": answer.tolist()}
    right = int(text[answer][0]) if answer.any() else -1

    def draw(width: float) -> Canvas:
        narrow, count = width == NARROW, len(models)
        corners = [((width - WIDE) / 2, HIGH * m) for m in range(count)]
        if not narrow:
            corners = [(8 + (width - 16 - WIDE) * m, 0) for m in range(count)]
        ax = canvas(width, HIGH * (count if narrow else 1))
        for m, (corner, name) in enumerate(zip(corners, models, strict=True)):
            _panel(ax, m, corner, name, words, {**shown[m], "letters": letters, "right": right})
        return ax.describe(*message)

    state = {"names": list(models), "letters": letters, "text": text, "replaced": replaced}
    state |= {"cut": cut, "off": off, "models": packed}
    return begin(both_widths(draw), "knockout", **state)


def _replaced(text: Tensor, letter: int, count: int) -> Tensor:
    """Return a text with a letter, except at the end, replaced by the first that is not in it."""
    spare = next((i for i in range(count) if i not in text.tolist()), letter)
    return text.masked_fill((text == letter) & (torch.arange(len(text)) < len(text) - 1), spare)


def _run(model: LanguageModel, text: Tensor, cut: Tensor, off: Tensor) -> tuple[Tensor, Tensor]:
    """Return the last rows of layer 2 ``(H, T)``, and the probabilities of the next letter ``(V,)``."""
    edited = edit_map(model, 0, lambda weights: remove(weights, off[:, None, None]))
    edited = edit_map(edited, 1, lambda weights: remove(weights, cut[:, None]))
    states, (_, weights) = edited.hidden_states(text[None])
    assert weights is not None
    return weights[0, :, -1], edited.unembedding(states[0, -1]).softmax(-1)


def _told(name: str, letters: str, shown: Mapping[str, Any]) -> list[str]:
    """Say what a model predicts, and from which weights."""
    chances = shown["next"]["now"]
    best = max(range(len(chances)), key=chances.__getitem__)
    parts = [f"{name} predicts {letters[best]} with probability {number(chances[best])}"]
    parts += [f"Layer 1, head {h + 1}: removed" for h, off in enumerate(shown["off"]) if off]
    for h, strip in enumerate(shown["strips"]):
        removed = [str(j) for j, is_cut in enumerate(strip["cut"]) if is_cut]
        text = f"Layer 2, head {h + 1}, weights {listed(strip['weights'])}"
        text += f", removed at {', '.join(removed)}" if removed else ""
        parts.append(text)
    return parts


def _panel(
    ax: Canvas,
    m: int,
    corner: Point,
    name: str,
    words: Mapping[str, Any],
    shown: Mapping[str, Any],
) -> None:
    """Draw one model: layer 1, the text, the last rows of layer 2, and the next letter."""
    (x, y), pitch = corner, WIDE / len(words["text"])
    ax.say((x, y + 16), name, bold=True, align="left")
    live(ax, _letters, "words", words, at=(x, y + 46), pitch=pitch)
    ax.note((x + 54, y + 82), "layer 1", "muted", bold=True)
    for h, off in enumerate(shown["off"]):
        at = (x + 156 + 108 * h, y + 82)
        live(ax, _head, f"off{m}{h}", [off, f"head {h + 1}"], at=at, wide=72)
    for h, strip in enumerate(shown["strips"]):
        top = y + 118 + 88 * h
        row = [all(strip["cut"]), f"layer 2, head {h + 1}"]
        live(ax, _head, f"row{m}{h}", row, at=(x + 54, top), wide=108)
        ax.note((x + WIDE, top), "weight, %", "muted", align="right")
        live(ax, _strip, f"strip{m}{h}", strip, at=(x, top + 66), pitch=pitch, high=UP)
    ax.note((x, y + 302), "next letter, %", "muted", align="left", bold=True)
    ax.note((x + WIDE, y + 302), "dashed: unchanged model", "muted", align="right")
    values = {**shown["next"], "letters": shown["letters"], "right": shown["right"]}
    live(
        ax, _next, f"next{m}", values, at=(x, y + 360), wide=WIDE, high=UP, said=(x + WIDE, y + 16)
    )


def _head(ax: Canvas, value: Sequence[Any], at: Point, wide: float) -> None:
    """Draw a head that can be removed."""
    is_off, text = value
    if is_off:
        ax.masked(at, (wide, 24))
        ax.box(at, (wide - 12, 18), "mask", text, width=0, order=5.5, text_size=13)
    else:
        ax.box(at, (wide, 24), "weights", text, width=1, text_size=13)


def _letters(ax: Canvas, words: Mapping[str, Any], at: Point, pitch: float) -> None:
    """Draw the text, with the letters of the answer, the query, and those that are replaced."""
    for i, letter in enumerate(words["text"]):
        is_last = i == len(words["text"]) - 1
        changed, answer = words["changed"][i], words["answer"][i]
        role = "query" if is_last else "context" if answer else "ink" if changed else "muted"
        look = {"filled": role != "muted", "dashed": changed, "bold": answer or changed}
        edge = BOLD_LINE if answer or changed else 1
        ax.box(
            (at[0] + (i + 0.5) * pitch, at[1]), (pitch - 3, 26), role, letter, width=edge, **look
        )


def _strip(ax: Canvas, strip: Mapping[str, Any], at: Point, pitch: float, high: float) -> None:
    """Draw the weights of one row as bars, and removed cells hatched."""
    x, y = at
    for j, (weight, cut) in enumerate(zip(strip["weights"], strip["cut"], strict=True)):
        middle = x + (j + 0.5) * pitch
        if cut:
            ax.masked((middle, y - high / 2), (pitch - 3, high))
        elif weight >= DRAWN:
            ax.vbar((middle, y), high * weight, "weights", thick=pitch - 9)
            if weight >= SEEN:
                ax.note((middle, y - high * weight - 9), number(100 * weight, 0), "weights")
    ax.line([(x, y), (x + pitch * len(strip["weights"]), y)])


def _next(
    ax: Canvas, values: Mapping[str, Any], at: Point, wide: float, high: float, said: Point
) -> None:
    """Draw the probability of each next letter, with a line where it was before any change."""
    (x, y), now = at, values["now"]
    pitch, best = wide / len(now), now.index(max(now))
    for i, (letter, p, before) in enumerate(
        zip(values["letters"], now, values["before"], strict=True)
    ):
        middle, right = x + (i + 0.5) * pitch, i == values["right"]
        if p >= DRAWN:
            ax.vbar((middle, y), high * p, "context", thick=pitch - 14)
        old = y - high * before
        ax.line([(middle - pitch / 2 + 3, old), (middle + pitch / 2 - 3, old)], "ink", dashed=True)
        if p >= SEEN:
            top = y - high * p if y - high * p - old > 18 else min(old, y - high * p)
            ax.note((middle, top - 9), number(100 * p, 0), "context")
        look = {"filled": right, "bold": i == best}
        role, edge = "context" if right else "muted", BOLD_LINE if right else 1
        ax.box((middle, y + 17), (pitch - 10, 24), role, letter, width=edge, **look)
    ax.say(said, f"predicts {values['letters'][best]}", align="right", bold=True)
