"""Blockwise attention: its block size, its memory, its cost; tests/test_attention.py has the rest."""

import pytest
import torch

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.blockwise import blockwise_attention
from selfattn_book.measure.cost import count_flops, peak_memory


@pytest.mark.parametrize("sign", [1, -1])
def test_scores_far_from_zero_in_any_order(oracle, agree, sign):
    """The maximum goes up, or down, by more than an exponential can hold."""
    key = sign * torch.tensor([[-1e4], [0.0], [1e4], [9999.0]], dtype=torch.float64)
    query, value = torch.ones(1, 1).double(), torch.eye(4).double()
    context = blockwise_attention(query, key, value, block_size=1)
    agree(context, oracle(query, key, value))


@pytest.mark.parametrize("masked", [False, True])
def test_its_memory_grows_with_the_length(masked):
    plain, blocks = {}, {}
    for length in (4096, 8192):
        x = torch.empty(length, 64, device="meta")
        mask = torch.ones(1, length, device="meta").bool() if masked else None
        plain[length] = peak_memory(scaled_dot_product_attention, x, x, x, mask)
        blocks[length] = peak_memory(blockwise_attention, x, x, x, mask)
    assert plain[8192] / plain[4096] > 3.9
    assert blocks[8192] / blocks[4096] < 2.1
    assert plain[8192] > 8192**2 * 4 > 10 * blocks[8192]


def test_it_takes_as_many_operations():
    x = torch.empty(700, 64, device="meta")
    plain = count_flops(scaled_dot_product_attention, x, x, x)
    assert plain == 4 * 700 * 700 * 64
    assert count_flops(lambda: blockwise_attention(x, x, x, block_size=64)) == plain


def test_no_keys_for_more_samples_than_there_are_queries():
    many = torch.ones(2, 0, 4)
    assert blockwise_attention(torch.ones(3, 4), many, many).shape == (2, 3, 4)


def test_a_block_has_at_least_one_key():
    x = torch.ones(2, 3)
    with pytest.raises(ValueError, match="block_size must be at least 1; got 0"):
        blockwise_attention(x, x, x, block_size=0)


class Blocks(torch.nn.Module):
    def forward(self, query, key, value):
        return blockwise_attention(query, key, value, block_size=3)


def test_it_can_be_exported(draw, agree):
    given = tuple(draw(2, 3, 7, 11, seed=seed) for seed in range(3))
    exported = torch.export.export(Blocks(), given)
    agree(exported.module()(*given), Blocks()(*given))
