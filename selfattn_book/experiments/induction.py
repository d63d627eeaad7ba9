"""Repeated sequences of letters, and attention-only models that learn to copy them.

Shape letters: ``B`` sequences, ``T`` length, ``V`` number of letters.
"""

import torch
from torch import Tensor, nn

from selfattn_book.blocks import PreNormBlock
from selfattn_book.experiments.ablation import NoFeedForward
from selfattn_book.language import LanguageModel
from selfattn_book.multi_head import MultiHeadAttention

LETTERS = "abcdefgh"
LENGTH, D_MODEL = 16, 32  # letters that a model reads, and its dimension


def orders(count: int, *, generator: torch.Generator | None = None) -> Tensor:
    """Draw random permutations of the eight letters, ``(B, 8)``."""
    return torch.rand(count, len(LETTERS), generator=generator).argsort(1)


def repeats(
    count: int,
    periods: tuple[int, int] = (4, 8),
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw sequences in which some different letters repeat with a random period, from 4 to 8 letters.

    Returns:
        ``(B, 17)``: the input of a model, and the letter after it.

    Example:
        >>> rows = repeats(2, (3, 3), generator=torch.Generator().manual_seed(0))
        >>> ["".join(LETTERS[i] for i in row) for row in rows]
        ['cdecdecdecdecdecd', 'efgefgefgefgefgef']
    """
    smallest, largest = periods
    order = orders(count, generator=generator)  # (B, 8)
    period = torch.randint(smallest, largest + 1, (count, 1), generator=generator)
    return order.gather(1, torch.arange(LENGTH + 1) % period)


def next_letter_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of logits ``(B, T, V)``; a target of -100 is left out."""
    return nn.functional.cross_entropy(logits.transpose(1, 2), targets)


class PositionedAttention(nn.Module):
    """Attention with positions ``(T, D)`` added to queries and keys alone, not to values."""

    positions: Tensor

    def __init__(self, attention: nn.Module, positions: Tensor) -> None:
        super().__init__()
        self.attention = attention
        self.register_buffer("positions", positions.clone(), persistent=False)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        need_weights: bool = True,
        cache: None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the context ``(B, T, D)`` and the weights ``(B, H, T, S)``."""
        p = self.positions[: key.size(1)]
        found: tuple[Tensor, Tensor | None] = self.attention(
            query + p, key + p, value, mask, is_causal=is_causal, need_weights=need_weights
        )
        return found


def attention_only(
    num_layers: int, num_heads: int = 1, *, qk_positions: Tensor | None = None
) -> LanguageModel:
    """Build an attention-only language model, which has no feed-forward networks.

    Args:
        num_layers: number of blocks.
        num_heads: number of heads in each block.
        qk_positions: ``(T, D)``, added to queries and keys; by default, learned positions are added
            to the letters.

    Example:
        >>> attention_only(2)(repeats(3)[:, :-1]).shape   # (B, T, V)
        torch.Size([3, 16, 8])
    """

    def block() -> PreNormBlock:
        attention: nn.Module = MultiHeadAttention(D_MODEL, num_heads)
        if qk_positions is not None:
            attention = PositionedAttention(attention, qk_positions)
        norms = nn.LayerNorm(D_MODEL), nn.Identity()
        return PreNormBlock(attention, NoFeedForward(), norms)

    letters = nn.Embedding(len(LETTERS), D_MODEL)
    positions = nn.Embedding(LENGTH, D_MODEL) if qk_positions is None else None
    blocks = [block() for _ in range(num_layers)]
    return LanguageModel(
        letters, blocks, nn.LayerNorm(D_MODEL), positions=positions, tie_weights=False
    )
