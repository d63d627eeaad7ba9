"""The table of shapes says what multi-head attention has."""

import re

import pytest
import torch

from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.multi_head import MultiHeadAttention
from tests.book.pages import DOCS

B, T, S, H, d_model, d_head = 7, 3, 5, 2, 6, 4
SIZES = {"B": B, "T": T, "S": S, "H": H, "d_model": d_model, "d_head": d_head}


def written():
    """Return the shapes in the table, in its order, with numbers for letters."""
    text = (DOCS / "chapters" / "notation.md").read_text("utf-8")
    table = text.partition("(table-of-shapes)=")[2].strip().partition("\n\n")[0]
    shapes = re.findall(r"^\|.*\| `(.*)` \|$", table, re.M)
    return [torch.Size(eval(shape, {}, SIZES)) for shape in shapes]


@pytest.fixture
def seen():
    """Return the shapes in the same order, as they are met on the way through the module."""
    attention = MultiHeadAttention(d_model, H, d_head=d_head)
    x, memory = torch.zeros(B, T, d_model), torch.zeros(B, S, d_model)
    query = attention._split_heads(attention.project_query(x))
    key = attention._split_heads(attention.project_key(memory))
    output, weights = attention(x, memory, memory)
    met = [x, memory, query, key, weights, causal_mask(T, S), padding_mask([4] * B, S)]
    merged = (weights @ key).transpose(1, 2).flatten(2)
    return [part.shape for part in (*met, weights @ key, merged, output)]


def test_the_table_of_shapes(seen):
    assert written() == seen
