"""Measurements of induction heads: attention to what followed an earlier copy, and correct copies.

Shape letters: ``B`` sequences, ``H`` heads, ``T`` query length, ``V`` number of tokens.
"""

from torch import Tensor

from selfattn_book.masks import causal_mask


def induction_mask(tokens: Tensor, steps: int = 1) -> Tensor:
    r"""Mark for each token the positions some steps after its earlier copies.

    .. math:: c_{ij} = 1 \quad\text{when}\quad x_{j-k} = x_i,\; k \le j \le i

    Args:
        tokens: ``(B, T)``, integers.
        steps: number of steps, :math:`k`; 1 for the position right after a copy.

    Returns:
        ``(B, T, T)``, boolean: ``True`` where key :math:`j` is :math:`k` steps after a copy of
        token :math:`i`.

    Example:
        >>> import torch
        >>> tokens = torch.tensor([[5, 7, 3, 5]])
        >>> induction_mask(tokens)[0].int()   # the second 5 may attend to the 7
        tensor([[0, 0, 0, 0],
                [0, 0, 0, 0],
                [0, 0, 0, 0],
                [0, 1, 0, 0]], dtype=torch.int32)
    """
    same = tokens[:, :, None] == tokens[:, None, :].roll(steps, 2)  # (B, T, T)
    same[:, :, :steps] = False  # nothing comes before the first
    return same & causal_mask(tokens.size(1), device=tokens.device)


def induction_score(weights: Tensor, tokens: Tensor, steps: int = 1) -> Tensor:
    r"""Return the attention that each head gives to what came after earlier copies.

    .. math:: s_h = \frac{1}{|R|} \sum_{i \in R} \sum_{j:\; x_{j-1} = x_i} w_{hij}

    :math:`R` is the set of queries whose token has an earlier copy, :math:`x_{j-1} = x_i` with
    :math:`j \le i`.

    Args:
        weights: ``(B, H, T, T)``, the maps of the heads.
        tokens: ``(B, T)``.
        steps: number of steps after the copy.

    Returns:
        ``(H,)``, each from 0 to 1.

    Raises:
        ValueError: the shapes do not fit, or no token has an earlier copy.

    Source:
        :cite:t:`olsson2022context`, on repeated random sequences.

    Example:
        >>> import torch
        >>> tokens = torch.tensor([[5, 7, 3, 5, 7]])
        >>> uniform = torch.ones(1, 1, 5, 5).tril() / torch.arange(1, 6)[:, None]
        >>> induction_score(uniform, tokens)   # the mean of 1 / 4 and 1 / 5
        tensor([0.2250])
    """
    cells = induction_mask(tokens, steps)  # (B, T, T)
    copied = _with_copies(tokens)  # (B, T)
    count, length = tokens.shape
    if weights.ndim != 4 or weights.shape != (count, weights.size(1), length, length):
        rule = f"weights must have shape ({count}, H, {length}, {length})"
        raise ValueError(f"{rule}; got {tuple(weights.shape)}")
    received = (weights * cells[:, None]).sum(-1)  # (B, H, T)
    return (received * copied[:, None]).sum((0, 2)) / copied.sum()


def copying_accuracy(logits: Tensor, tokens: Tensor) -> float:
    """Return the accuracy of the most likely next token, over positions with an earlier copy.

    Args:
        logits: ``(B, T, V)``, of the token after each of the first ``T``.
        tokens: ``(B, T + 1)``.

    Raises:
        ValueError: no token has an earlier copy.

    Example:
        >>> import torch
        >>> tokens = torch.tensor([[0, 1, 2, 0, 1, 2]])
        >>> correct = torch.nn.functional.one_hot(tokens[:, 1:], 3)
        >>> copying_accuracy(correct, tokens), copying_accuracy(correct.roll(1, dims=1), tokens)
        (1.0, 0.0)
    """
    correct = logits.argmax(-1) == tokens[:, 1:]
    return float(correct[_with_copies(tokens[:, :-1])].double().mean())


def _with_copies(tokens: Tensor) -> Tensor:
    """Return which tokens have an earlier copy, or raise if none has."""
    copied = induction_mask(tokens).any(-1)
    if not copied.any():
        raise ValueError("some token must have an earlier copy; got none")
    return copied
