"""Sentences of three words in which the order matters, and the classifiers that meet them.

Shape letters: ``B`` batch, ``T`` words in a sentence, ``D`` width.
"""

import torch
from torch import Tensor, nn

from selfattn_book._arguments import check_integer
from selfattn_book.multi_head import MultiHeadAttention

NUM_TOKENS = 5
LENGTH = 3

_RELATIVE = [([0, 1, 2], 1), ([0, 3, 2], 0), ([4, 3, 2], 1), ([4, 1, 2], 0)]
_REVERSAL = [([0, 1, 2], 1), ([2, 1, 0], 0), ([1, 3, 4], 1), ([4, 3, 1], 0)]


def reversal() -> tuple[Tensor, Tensor]:
    """Return two sentences, each forwards (label 1) and backwards (label 0).

    Returns:
        Tokens ``(4, 3)``, integers, and labels ``(4,)`` in the default dtype.

    Source:
        The course notebook *The Self-Attention Mechanism*.

    Example:
        >>> reversal()
        (tensor([[0, 1, 2],
                [2, 1, 0],
                [1, 3, 4],
                [4, 3, 1]]), tensor([1., 0., 1., 0.]))
    """
    return _tensors(_REVERSAL)


def xor_sentences() -> tuple[Tensor, Tensor]:
    """Return four sentences whose first word decides what their second word means.

    Returns:
        Tokens ``(4, 3)``, integers, and labels ``(4,)`` in the default dtype.

    Source:
        The course notebook *The Self-Attention Mechanism*.

    Example:
        >>> xor_sentences()
        (tensor([[0, 1, 2],
                [0, 3, 2],
                [4, 3, 2],
                [4, 1, 2]]), tensor([1., 0., 1., 0.]))
    """
    return _tensors(_RELATIVE)


def case_study() -> tuple[Tensor, Tensor]:
    """Return the eight sentences of both sets, relative words first.

    Returns:
        Tokens ``(8, 3)``, integers, and labels ``(8,)`` in the default dtype.

    Source:
        The course notebook *The Self-Attention Mechanism*.

    Example:
        >>> tokens, labels = case_study()
        >>> tokens.shape, labels
        (torch.Size([8, 3]), tensor([1., 0., 1., 0., 1., 0., 1., 0.]))
        >>> tokens[:4].equal(xor_sentences()[0]), tokens[4:].equal(reversal()[0])
        (True, True)
    """
    return _tensors(_RELATIVE + _REVERSAL)


class ResidualBlock(nn.Module):
    r"""Add to each vector what a small network makes of it.

    .. math:: x + W_2 \operatorname{relu}(W_1 x + b_1) + b_2

    Both weights start at the identity and both biases at zero: at first,
    the block doubles what is positive.

    Args:
        d_model: width of a vector.

    Example:
        >>> block = ResidualBlock(2)
        >>> block(torch.tensor([1.0, -1.0])).equal(torch.tensor([2.0, -1.0]))
        True
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_model)
        self.outer = nn.Linear(d_model, d_model)
        for linear in (self.inner, self.outer):
            nn.init.eye_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return ``(..., D)``, as it came."""
        return x + self.outer(self.inner(x).relu())


class MeanClassifier(nn.Module):
    r"""Judge a sentence by the mean of its words' vectors.

    .. math:: z = w \cdot \frac{1}{T} \sum_t \operatorname{block}(e_{x_t}) + b

    Args:
        d_model: width of a word's vector.

    Raises:
        TypeError: the width is not an integer.
        ValueError: it is below 1, or a sentence has not three words.

    Example:
        >>> model, (tokens, labels) = MeanClassifier(), reversal()
        >>> logits = model(tokens)
        >>> logits.shape, logits[0].allclose(logits[1], atol=1e-6)   # one sentence, both ways
        (torch.Size([4]), True)
        >>> model.embed, MeanClassifier(1).embed
        (Embedding(5, 2), Embedding(5, 1))
    """

    def __init__(self, d_model: int = 2) -> None:
        super().__init__()
        d_model = check_integer("d_model", d_model, least=1)
        self.embed = nn.Embedding(NUM_TOKENS, d_model)
        self.block = ResidualBlock(d_model)
        self.judge = nn.Linear(d_model, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return one logit a sentence, ``(B,)``, from tokens ``(B, T)``."""
        _check_tokens(tokens)
        mean = self.block(self.embed(tokens)).mean(dim=1)  # (B, D)
        return self.judge(mean).flatten()


class PositionClassifier(nn.Module):
    r"""Add a learned vector of the position to each word's vector, then judge by the mean.

    .. math:: z = w \cdot \frac{1}{T} \sum_t \operatorname{block}(e_{x_t} + p_t) + b

    Args:
        d_model: width of a word's vector.

    Raises:
        TypeError: the width is not an integer.
        ValueError: it is below 1, or a sentence has not three words.

    Example:
        >>> model, (tokens, labels) = PositionClassifier(), reversal()
        >>> placed = model.embed(tokens) + model.position.weight
        >>> model(tokens).allclose(model.judge(model.block(placed).mean(1)).flatten())
        True
        >>> model.embed, PositionClassifier(1).embed
        (Embedding(5, 2), Embedding(5, 1))
    """

    def __init__(self, d_model: int = 2) -> None:
        super().__init__()
        d_model = check_integer("d_model", d_model, least=1)
        self.embed = nn.Embedding(NUM_TOKENS, d_model)
        self.position = nn.Embedding(LENGTH, d_model)
        self.block = ResidualBlock(d_model)
        self.judge = nn.Linear(d_model, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return one logit a sentence, ``(B,)``, from tokens ``(B, T)``."""
        _check_tokens(tokens)
        placed = self.embed(tokens) + self.position.weight  # (B, T, D)
        mean = self.block(placed).mean(dim=1)  # (B, D)
        return self.judge(mean).flatten()


class AttentionClassifier(nn.Module):
    r"""Let the words attend to each other before they are averaged and judged.

    .. math::
       h_t = e_{x_t} + p_t, \qquad
       z = w \cdot \frac{1}{T} \sum_t \operatorname{block}\big(h_t + \operatorname{attend}(h)_t\big) + b

    Args:
        d_model: width of a word's vector.
        num_heads: number of (narrow) heads.
        positions: whether a learned vector of the position is added, as :math:`p_t`.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1, the heads do not divide the width,
            or a sentence has not three words.

    Example:
        >>> model, (tokens, labels) = AttentionClassifier(), reversal()
        >>> h = model.embed(tokens) + model.position.weight
        >>> context, weights = model.attention(h, h, h)
        >>> model(tokens).allclose(model.judge(model.block(h + context).mean(1)).flatten())
        True
        >>> weights.shape, weights.equal(model.weights(tokens))   # (B, H, T, T)
        (torch.Size([4, 1, 3, 3]), True)
        >>> unplaced = AttentionClassifier(positions=False)
        >>> logits = unplaced(tokens)
        >>> unplaced.position, logits[0].allclose(logits[1], atol=1e-6)
        (None, True)
        >>> model.embed, AttentionClassifier(1).embed
        (Embedding(5, 2), Embedding(5, 1))
    """

    def __init__(self, d_model: int = 2, *, num_heads: int = 1, positions: bool = True) -> None:
        super().__init__()
        d_model = check_integer("d_model", d_model, least=1)
        self.embed = nn.Embedding(NUM_TOKENS, d_model)
        self.position = nn.Embedding(LENGTH, d_model) if positions else None
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.block = ResidualBlock(d_model)
        self.judge = nn.Linear(d_model, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return one logit a sentence, ``(B,)``, from tokens ``(B, T)``."""
        x = self._vectors(tokens)  # (B, T, D)
        context, _ = self.attention(x, x, x)
        mean = self.block(x + context).mean(dim=1)  # (B, D)
        return self.judge(mean).flatten()

    def weights(self, tokens: Tensor) -> Tensor:
        """Return what each word listens to, ``(B, H, T, T)``."""
        x = self._vectors(tokens)
        _, weights = self.attention(x, x, x)
        return weights

    def _vectors(self, tokens: Tensor) -> Tensor:
        _check_tokens(tokens)
        words = self.embed(tokens)
        return words if self.position is None else words + self.position.weight


def _check_tokens(tokens: Tensor) -> None:
    """Raise unless these are sentences of the right length."""
    if tokens.ndim != 2 or tokens.size(1) != LENGTH:
        shape = tuple(tokens.shape)
        raise ValueError(f"tokens must have shape (B, {LENGTH}); got {shape}")


def _tensors(rows: list[tuple[list[int], int]]) -> tuple[Tensor, Tensor]:
    tokens = torch.tensor([sentence for sentence, _ in rows])
    labels = torch.tensor([float(label) for _, label in rows])
    return tokens, labels
