"""Random states of the live figure `knockout`: drawings, and numbers as the package computes them."""

from functools import cache

import torch

from selfattn_book.experiments.induction import LETTERS, attention_only, repeats
from selfattn_book.figures.knockout import knockout
from selfattn_book.figures.rounded_weights import rounded
from selfattn_book.measure.editing import edit_map, remove


@cache
def models():
    """Return two untrained models, with large weights, so that the rows of their maps are uneven."""
    torch.manual_seed(5)
    made = {name: attention_only(2, num_heads=2) for name in ("Model A", "Model B")}
    for parameter in [p for model in made.values() for p in model.parameters()]:
        parameter.data *= 2 if parameter.ndim > 1 else 1
    return made


@cache
def copies():
    return [rounded(model) for model in models().values()]


def changes(chance):
    """Draw a text, the cells and heads removed from two models, and the letter replaced, if any."""
    text = repeats(1, (4, 7), generator=chance)[0, :12]
    cells, often, rows, heads = torch.rand(4, 2, 2, 12, generator=chance)
    cut = (cells < often[..., :1] * often[..., 1:2]) | (rows[..., :1] < 0.2)
    replaced = int(text[3]) if heads[0, 0, 1] < 0.5 else -1
    return text, cut, heads[..., 0] < 0.3, replaced


def a_knockout(chance):
    text, cut, off, replaced = changes(chance)
    return knockout(models(), text, cut, off, letters=LETTERS, replaced=replaced)


def knocked_out(chance):
    text, cut, off, replaced = changes(chance)
    state = {"names": list(models()), "letters": LETTERS, "text": text.tolist()}
    state |= {"replaced": replaced, "cut": cut.tolist(), "off": off.tolist()}
    state["models"] = [packed for _, packed in copies()]
    if replaced >= 0:
        spare = min(set(range(8)) - set(text.tolist()))
        text = torch.where((text == replaced) & (torch.arange(12) < 11), spare, text)
    expected = {}
    for m, (model, _) in enumerate(copies()):
        first = edit_map(model, 0, lambda weights, m=m: remove(weights, off[m, :, None, None]))
        weights, chances = last_rows(first, text, cut[m])
        expected[f"next{m}"] = {"now": chances}
        expected |= {f"strip{m}{h}": {"weights": weights[h]} for h in range(2)}
    return state, expected


def last_rows(model, text, cells):
    """Return the last rows of layer 2 without some cells, and the probabilities of the next letter."""
    edited = edit_map(model, 1, lambda weights: remove(weights, cells[:, None]))
    states, (_, weights) = edited.hidden_states(text[None])
    return weights[0, :, -1], edited.unembedding(states[0, -1]).softmax(-1)
