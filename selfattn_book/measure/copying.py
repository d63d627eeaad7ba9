"""Does a model continue a text as it went before, and does a head look where it would have to?

Shape letters: ``B`` texts, ``H`` heads, ``T`` query length, ``V`` number of tokens.
"""

import torch
from torch import Tensor

from selfattn_book.masks import causal_mask


def after_copies(tokens: Tensor) -> Tensor:
    r"""Mark for each token what came right after its earlier copies.

    .. math:: c_{ij} = 1 \quad\text{when}\quad x_{j-1} = x_i,\; 1 \le j \le i

    Args:
        tokens: ``(B, T)``, integers.

    Returns:
        ``(B, T, T)``, boolean: ``True`` where key :math:`j` follows a copy of token :math:`i`.

    Raises:
        TypeError: the tokens are not integers.
        ValueError: they have another shape.

    Example:
        >>> tokens = torch.tensor([[5, 7, 3, 5]])
        >>> after_copies(tokens)[0].int()   # the second 5 may look at the 7
        tensor([[0, 0, 0, 0],
                [0, 0, 0, 0],
                [0, 0, 0, 0],
                [0, 1, 0, 0]], dtype=torch.int32)
        >>> after_copies(torch.tensor([[5, 5, 5]]))[0].sum(-1)   # all earlier copies count
        tensor([0, 1, 2])
        >>> after_copies(tokens.float())
        Traceback (most recent call last):
        TypeError: tokens must be integers; got torch.float32
        >>> after_copies(tokens[0])
        Traceback (most recent call last):
        ValueError: tokens must have shape (B, T); got (4,)
    """
    if tokens.is_floating_point() or tokens.dtype == torch.bool:
        raise TypeError(f"tokens must be integers; got {tokens.dtype}")
    if tokens.ndim != 2:
        raise ValueError(
            f"tokens must have shape (B, T); got {tuple(tokens.shape)}"
        )
    length = tokens.size(1)
    same = tokens[:, :, None] == tokens[:, None, :].roll(1, dims=-1)  # (B, T, T)
    same[:, :, :1] = False  # nothing comes before the first
    return same & causal_mask(length, device=tokens.device)


def induction_score(weights: Tensor, tokens: Tensor) -> Tensor:
    r"""Return how much of its attention a head gives to what came after earlier copies.

    .. math:: s_h = \frac{1}{|Q|} \sum_{i \in Q} \sum_{j:\; x_{j-1} = x_i} w_{hij}

    :math:`Q` holds the queries whose token has an earlier copy.

    Args:
        weights: ``(B, H, T, T)``, the maps of the heads.
        tokens: ``(B, T)``, what they look at.

    Returns:
        ``(H,)``, each from 0 to 1.

    Raises:
        ValueError: the shapes do not fit, or no token has an earlier copy.

    Source:
        :cite:t:`olsson2022context`, who ask the same of texts that repeat themselves.

    Example:
        >>> tokens = torch.tensor([[5, 7, 3, 5, 7]])
        >>> even = torch.ones(1, 1, 5, 5).tril() / torch.arange(1, 6)[:, None]
        >>> induction_score(even, tokens)   # the mean of 1 / 4 and 1 / 5
        tensor([0.2250])
        >>> induction_score(torch.eye(5).roll(-2, dims=0).expand(1, 2, 5, 5), tokens)
        tensor([0., 0.])
        >>> induction_score(even, tokens[:, :4])
        Traceback (most recent call last):
        ValueError: weights must have shape (1, H, 4, 4); got (1, 1, 5, 5)
        >>> induction_score(even, torch.arange(5)[None])
        Traceback (most recent call last):
        ValueError: some token must have an earlier copy; got none
    """
    cells = after_copies(tokens)
    count, length = tokens.shape
    if weights.ndim != 4 or weights.shape != (
        count,
        weights.size(1),
        length,
        length,
    ):
        rule = f"weights must have shape ({count}, H, {length}, {length})"
        raise ValueError(f"{rule}; got {tuple(weights.shape)}")
    asked = _with_copies(cells)  # (B, T)
    looks = (weights * cells[:, None]).sum(-1)  # (B, H, T)
    return (looks * asked[:, None]).sum((0, 2)) / asked.sum()


def share_copied(logits: Tensor, tokens: Tensor) -> float:
    """Return how often the likeliest next token is the right one, where a copy tells it.

    Args:
        logits: ``(B, T, V)``, of what comes after each of the first ``T`` tokens.
        tokens: ``(B, T + 1)``.

    Raises:
        ValueError: the shapes do not fit, or no token has an earlier copy.

    Example:
        >>> tokens = torch.tensor([[0, 1, 2, 0, 1, 2]])
        >>> right = torch.nn.functional.one_hot(tokens[:, 1:], 3)
        >>> share_copied(right, tokens), share_copied(right.roll(1, dims=1), tokens)
        (1.0, 0.0)
        >>> right[0, -1] = torch.tensor([1, 0, 0])   # one of two
        >>> share_copied(right, tokens)
        0.5
        >>> share_copied(right, tokens[:, 1:])
        Traceback (most recent call last):
        ValueError: logits must have shape (1, 4, V); got (1, 5, 3)
    """
    count, length = tokens.shape[0], tokens.shape[1] - 1
    if logits.ndim != 3 or logits.shape[:2] != (count, length):
        rule = f"logits must have shape ({count}, {length}, V)"
        raise ValueError(f"{rule}; got {tuple(logits.shape)}")
    asked = _with_copies(after_copies(tokens[:, :-1]))
    right = logits.argmax(-1) == tokens[:, 1:]
    return float(right[asked].double().mean())


def _with_copies(cells: Tensor) -> Tensor:
    """Return which tokens have an earlier copy, or raise if none has."""
    asked = cells.any(-1)
    if not asked.any():
        raise ValueError("some token must have an earlier copy; got none")
    return asked
