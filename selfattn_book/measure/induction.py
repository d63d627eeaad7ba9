"""Does a model continue a text as it went before, and does a head look where it would have to?

Shape letters: ``B`` texts, ``H`` heads, ``T`` query length, ``V`` number of tokens.
"""

import torch
from torch import Tensor

from selfattn_book._arguments import check_integer
from selfattn_book.masks import causal_mask


def after_copies(tokens: Tensor, steps: int = 1) -> Tensor:
    r"""Mark for each token what came some steps after its earlier copies.

    .. math:: c_{ij} = 1 \quad\text{when}\quad x_{j-k} = x_i,\; k \le j \le i

    Args:
        tokens: ``(B, T)``, integers.
        steps: how many, :math:`k`: with 1, what came right after a copy.

    Returns:
        ``(B, T, T)``, boolean: ``True`` where key :math:`j` stands :math:`k` steps after a copy of
        token :math:`i`.

    Raises:
        TypeError: the tokens are not integers.
        ValueError: they have another shape, or ``steps`` is below 1.

    Example:
        >>> tokens = torch.tensor([[5, 7, 3, 5]])
        >>> after_copies(tokens)[0].int()   # the second 5 may look at the 7
        tensor([[0, 0, 0, 0],
                [0, 0, 0, 0],
                [0, 0, 0, 0],
                [0, 1, 0, 0]], dtype=torch.int32)
        >>> after_copies(torch.tensor([[5, 5, 5]]))[0].sum(-1)   # all earlier copies count
        tensor([0, 1, 2])
        >>> after_copies(tokens, steps=2)[0, -1]   # and two steps later stands the 3
        tensor([False, False,  True, False])
        >>> after_copies(tokens, steps=9).any()
        tensor(False)
    """
    if tokens.is_floating_point() or tokens.dtype == torch.bool:
        raise TypeError(f"tokens must be integers; got {tokens.dtype}")
    if tokens.ndim != 2:
        raise ValueError(f"tokens must have shape (B, T); got {tuple(tokens.shape)}")
    steps = check_integer("steps", steps, least=1)
    length = tokens.size(1)
    same = tokens[:, :, None] == tokens[:, None, :].roll(steps, 2)  # (B, T, T)
    same[:, :, :steps] = False  # nothing comes before the first
    return same & causal_mask(length, device=tokens.device)


def induction_score(weights: Tensor, tokens: Tensor, steps: int = 1) -> Tensor:
    r"""Return how much of its attention a head gives to what came after earlier copies.

    .. math:: s_h = \frac{1}{|Q|} \sum_{i \in Q} \sum_{j:\; x_{j-1} = x_i} w_{hij}

    :math:`Q` holds the queries whose token has an earlier copy, :math:`x_{j-1} = x_i` with
    :math:`j \le i`.

    Args:
        weights: ``(B, H, T, T)``, the maps of the heads.
        tokens: ``(B, T)``, what they look at.
        steps: how many steps after the copy; with 2, the second token after it.

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
        >>> two_later = torch.zeros(1, 1, 5, 5)
        >>> two_later[0, 0, 3:, 2] = 1.0   # the 3, two after the first 5 and one after the first 7
        >>> induction_score(two_later, tokens), induction_score(two_later, tokens, steps=2)
        (tensor([0.5000]), tensor([0.5000]))
    """
    cells = after_copies(tokens, steps)  # (B, T, T)
    asked = _with_copies(tokens)  # (B, T)
    _check_maps(weights, tokens)
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
    """
    count, length = tokens.shape[0], tokens.shape[1] - 1
    if logits.ndim != 3 or logits.shape[:2] != (count, length):
        rule = f"logits must have shape ({count}, {length}, V)"
        raise ValueError(f"{rule}; got {tuple(logits.shape)}")
    asked = _with_copies(tokens[:, :-1])
    right = logits.argmax(-1) == tokens[:, 1:]
    return float(right[asked].double().mean())


def _with_copies(tokens: Tensor) -> Tensor:
    """Return which tokens have an earlier copy, or raise if none has."""
    asked = after_copies(tokens).any(-1)
    if not asked.any():
        raise ValueError("some token must have an earlier copy; got none")
    return asked


def _check_maps(weights: Tensor, tokens: Tensor) -> None:
    count, length = tokens.shape
    if weights.ndim != 4 or weights.shape != (
        count,
        weights.size(1),
        length,
        length,
    ):
        rule = f"weights must have shape ({count}, H, {length}, {length})"
        raise ValueError(f"{rule}; got {tuple(weights.shape)}")
