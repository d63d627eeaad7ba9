"""Letters that repeat themselves, and small models of attention alone that learn to copy them.

Shape letters: ``B`` texts, ``T`` length, ``V`` number of letters.
"""

import torch
from torch import Tensor, nn

from selfattn_book._arguments import check_integer
from selfattn_book.blocks import PreNormBlock
from selfattn_book.experiments.ablation import NoFeedForward
from selfattn_book.language import LanguageModel
from selfattn_book.multi_head import MultiHeadAttention

LETTERS = "abcdefgh"
LENGTH = 16  # letters that a model reads


def orders(count: int, *, generator: torch.Generator | None = None) -> Tensor:
    """Draw the eight letters in random orders.

    Args:
        count: how many, ``B``.
        generator: where chance comes from; PyTorch's own when left out.

    Returns:
        ``(B, 8)``, integers; each row has each letter once.

    Raises:
        ValueError: ``count`` is below 1.

    Example:
        >>> drawn = orders(100, generator=torch.Generator().manual_seed(0))
        >>> drawn.shape, drawn.sort().values.unique(dim=0)
        (torch.Size([100, 8]), tensor([[0, 1, 2, 3, 4, 5, 6, 7]]))
    """
    count = check_integer("count", count, least=1)
    return torch.rand(count, len(LETTERS), generator=generator).argsort(1)


def repeats(
    count: int,
    periods: tuple[int, int] = (4, 8),
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw texts that say some different letters again and again.

    Args:
        count: how many, ``B``.
        periods: the least and the greatest number of letters before a text begins again; each
            text draws its own.
        generator: where chance comes from; PyTorch's own when left out.

    Returns:
        ``(B, 17)``, integers: what a model reads, and the letter after it.

    Raises:
        ValueError: ``count`` is below 1, or the periods are not from 1 to 8, the least first.

    Example:
        >>> said = repeats(2, (3, 3), generator=torch.Generator().manual_seed(0))
        >>> ["".join(LETTERS[i] for i in row) for row in said]
        ['cdecdecdecdecdecd', 'efgefgefgefgefgef']
        >>> several = repeats(99, generator=torch.Generator().manual_seed(0))
        >>> {len(row.unique()) for row in several}
        {4, 5, 6, 7, 8}
    """
    least, most = periods
    if not 1 <= least <= most <= len(LETTERS):
        rule = f"periods must be from 1 to {len(LETTERS)}, the least first"
        raise ValueError(f"{rule}; got {periods}")
    order = orders(count, generator=generator)  # (B, 8)
    drawn = torch.randint(least, most + 1, (count, 1), generator=generator)
    return order.gather(1, torch.arange(LENGTH + 1) % drawn)


def next_letter_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of the letters that come next; a target of -100 is left out.

    Args:
        logits: ``(B, T, V)``.
        targets: ``(B, T)``.

    Example:
        >>> next_letter_loss(torch.zeros(2, 3, 8), torch.zeros(2, 3, dtype=torch.int64))
        tensor(2.0794)
    """
    return nn.functional.cross_entropy(logits.transpose(1, 2), targets)


class PlacedAttention(nn.Module):
    """Attend with positions on queries and keys alone, so that values know nothing of places.

    Args:
        attention: what attends.
        places: ``(T, D)``, a row for each position.

    Example:
        >>> attention = MultiHeadAttention(4, 1)
        >>> nowhere, x = torch.zeros(3, 4), torch.ones(5, 3, 4)
        >>> context, weights = PlacedAttention(attention, nowhere)(x, x, x)
        >>> context.allclose(attention(x, x, x)[0]), weights.shape
        (True, torch.Size([5, 1, 3, 3]))
    """

    places: Tensor

    def __init__(self, attention: nn.Module, places: Tensor) -> None:
        super().__init__()
        self.attention = attention
        self.register_buffer("places", places.clone(), persistent=False)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        need_weights: bool = True,
        cache: None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the context ``(B, T, D)`` and the weights ``(B, H, T, S)``."""
        places = self.places[: key.size(1)]
        found: tuple[Tensor, Tensor | None] = self.attention(
            query + places, key + places, value, mask, need_weights=need_weights
        )
        return found


def copying_model(
    num_layers: int,
    num_heads: int = 1,
    *,
    d_model: int = 32,
    places: Tensor | None = None,
) -> LanguageModel:
    """Build a language model of attention alone: it has no small networks.

    Args:
        num_layers: how many blocks.
        num_heads: in each of them.
        d_model: width.
        places: ``(T, D)``, added to queries and keys; without them, learned positions are added
            to the letters.

    Raises:
        ValueError: ``num_layers`` is below 1, or ``d_model`` is not divisible by ``num_heads``.

    Example:
        >>> model = copying_model(2)
        >>> model(repeats(3)[:, :-1]).shape   # (B, T, V)
        torch.Size([3, 16, 8])
        >>> sum(p.numel() for p in model.parameters())
        9664
        >>> placed = copying_model(1, places=torch.ones(16, 32))
        >>> placed.positions, placed(repeats(3)[:, :-1]).shape
        (None, torch.Size([3, 16, 8]))
    """
    check_integer("num_layers", num_layers, least=1)

    def block() -> PreNormBlock:
        attention: nn.Module = MultiHeadAttention(d_model, num_heads)
        if places is not None:
            attention = PlacedAttention(attention, places)
        norms = nn.LayerNorm(d_model), nn.Identity()
        return PreNormBlock(attention, NoFeedForward(), norms)

    letters = nn.Embedding(len(LETTERS), d_model)
    positions = nn.Embedding(LENGTH, d_model) if places is None else None
    blocks = [block() for _ in range(num_layers)]
    return LanguageModel(letters, blocks, nn.LayerNorm(d_model), positions=positions, tied=False)
