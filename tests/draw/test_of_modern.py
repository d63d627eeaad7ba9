"""Drawings of today's models say what they draw, and refuse what they cannot."""

import torch

from selfattn_book.blocks import EncoderBlock
from selfattn_book.experiments.tiny_models import as_recorded
from selfattn_book.figures.block_designs import block_designs
from selfattn_book.figures.grouped_heads import grouped_heads
from selfattn_book.figures.rotation import rotation
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.positions import PositionalEncoding

OLD = EncoderBlock(16, 4), PositionalEncoding(16)


def test_parts_are_read_off_the_modules():
    gpt2, llama = (as_recorded(f"tiny-{name}")[0] for name in ("gpt2", "llama"))
    ax = block_designs(
        {
            "2017": OLD,
            "GPT-2": (gpt2.blocks[0], gpt2.positions),
            "Llama": (llama.blocks[0], llama.positions),
        }
    )
    assert ax.get_label() == (
        "2017: positions, added, sines; norm, LayerNorm; norm position, after the sum; "
        "network, relu; heads, 4 of queries, 4 of keys; biases, yes. "
        "GPT-2: positions, added, learned; norm, LayerNorm; norm position, before the part; "
        "network, gelu; heads, 4 of queries, 4 of keys; biases, yes. "
        "Llama: positions, queries and keys turned; norm, RMSNorm; norm position, before "
        "the part; network, silu, gated; heads, 4 of queries, 2 of keys; biases, none."
    )
    written = ax.figure.to_svg()  # for the desk and for the phone
    assert written.count(">RMSNorm<") == 2
    assert written.count(">LayerNorm<") == 4


def test_pre_norm_is_told_from_post_norm():
    first = EncoderBlock(4, 2, norm_first=True), PositionalEncoding(4)
    label = block_designs({"a": OLD, "b": first}).get_label()
    assert "a: " in label
    assert label.count("after the sum") == label.count("before the part") == 1


def test_heads_and_what_they_share_are_told():
    ax = grouped_heads([MultiHeadAttention(16, 4, num_kv_heads=g) for g in (4, 2, 1)])
    label = ax.get_label()
    assert "4 heads of queries, 1 of keys and values: queries 0, 1, 2, 3 look" in label
    assert "32 numbers are kept for each word" in label  # 2 * 4 * 4
    assert "8 numbers are kept for each word" in label
    svg = ax.figure.to_svg()
    assert [svg.count(f">{letter}<") for letter in "qkv"] == [24, 14, 14]


def test_the_score_is_that_of_the_turned_pair():
    query, key = torch.tensor([1.0, 0.0]), torch.tensor([0.8, 0.6])
    label = rotation(query, key, [(2, 0), (5, 3), (5, 0)]).get_label()
    angle = torch.atan2(key[1], key[0])
    for apart, times in ((2, 2), (5, 1)):
        score = float(torch.cos(apart - angle))
        assert label.count(f"their score is {score:.2f}") == times
    assert "The query at 5 and the key at 3 are 1.36 rad apart" in label
