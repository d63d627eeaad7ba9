"""Random states of the live figure `reversal`, drawn, and numbers as the model of its page has them."""

import re
from functools import cache
from pathlib import Path

import torch
from torch import nn

from selfattn_book.feed_forward import FeedForward
from selfattn_book.figures.reversal import INPUTS, LETTERS, reversal_maps
from selfattn_book.figures.rounded_weights import rounded
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.positions import PositionalEncoding

PAGE = Path(__file__).parents[2] / "docs" / "chapters" / "squares.md"


@cache
def models():
    """Return the model that the page defines, untrained, with large weights, and its rounded copy."""
    parts = [FeedForward, MultiHeadAttention, PositionalEncoding, causal_mask]
    names = {"nn": nn} | {part.__name__: part for part in parts}
    exec(re.search(r"^class Seq2Seq.*?(?=^```)", PAGE.read_text("utf-8"), re.M | re.S)[0], names)
    torch.manual_seed(7)
    model = names["Seq2Seq"](nn.Embedding(11, 24), 24, 11)
    for parameter in model.parameters():
        parameter.data *= 2 if parameter.ndim > 1 else 1
    return model, *rounded(model)


def a_reversal(chance):
    source, (row, given) = torch.randint(1, 11, (6,), generator=chance), choices(chance)
    return reversal_maps(models()[0], source, row, given=given)


def choices(chance):
    row, given = torch.randint(12, (2,), generator=chance).tolist()
    return row % 6, given % len(INPUTS)


def reversed_words(chance):
    source, (row, given) = torch.randint(1, 11, (6,), generator=chance), choices(chance)
    _, model, packed = models()
    letters = torch.tensor([0])
    for i in range(6):
        logits, across = model(source[None], letters[None])
        following = [logits[0, -1].argmax(), source[5 - i], torch.tensor(1), torch.tensor(0)]
        letters = torch.cat([letters, following[given][None]])
    x, y = (model.positions(model.embed(part[None])) for part in (source, letters[:6]))
    own = model.encoder_attention(x, x, x)[1], model.self_attention(y, y, y, causal_mask(6))[1]
    state = {"word": "".join(LETTERS[i] for i in source), "row": row, "given": given}
    state |= {"inputs": INPUTS, "model": packed}
    return state, {f"map{i}": {"weights": w[0, 0]} for i, w in enumerate((*own, across))}
