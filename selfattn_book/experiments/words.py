"""Sentences of three words in which the order matters, and their classifiers.

The sentences are those of the course notebook *The Self-Attention Mechanism*.
Shape letters: ``B`` batch, ``T`` words in a sentence, ``D`` dimension.
"""

import torch
from torch import Tensor, nn

from selfattn_book.multi_head import MultiHeadAttention

NUM_TOKENS = 5
LENGTH = 3

_XOR = [([0, 1, 2], 1), ([0, 3, 2], 0), ([4, 3, 2], 1), ([4, 1, 2], 0)]
_REVERSAL = [([0, 1, 2], 1), ([2, 1, 0], 0), ([1, 3, 4], 1), ([4, 3, 1], 0)]


def reversal() -> tuple[Tensor, Tensor]:
    """Return two sentences, each forwards (label 1) and backwards (label 0).

    Example:
        >>> reversal()
        (tensor([[0, 1, 2],
                [2, 1, 0],
                [1, 3, 4],
                [4, 3, 1]]), tensor([1., 0., 1., 0.]))
    """
    return _tensors(_REVERSAL)


def xor_sentences() -> tuple[Tensor, Tensor]:
    """Return four sentences whose first word decides the meaning of their second word.

    Example:
        >>> xor_sentences()
        (tensor([[0, 1, 2],
                [0, 3, 2],
                [4, 3, 2],
                [4, 1, 2]]), tensor([1., 0., 1., 0.]))
    """
    return _tensors(_XOR)


def case_study() -> tuple[Tensor, Tensor]:
    """Return the eight sentences of both sets, ``(8, 3)`` and ``(8,)``, the XOR sentences first."""
    return _tensors(_XOR + _REVERSAL)


class ResidualBlock(nn.Module):
    r"""Add the output of a feed-forward network to each vector.

    .. math:: x + W_2 \operatorname{relu}(W_1 x + b_1) + b_2

    Both weights are initialized with the identity and both biases with zero: at first,
    the block doubles positive entries.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_model)
        self.outer = nn.Linear(d_model, d_model)
        for linear in (self.inner, self.outer):
            nn.init.eye_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return ``(..., D)``, the shape of the input."""
        return x + self.outer(self.inner(x).relu())


class MeanClassifier(nn.Module):
    r"""Classify a sentence by the mean of its words' vectors.

    .. math:: z = w \cdot \frac{1}{T} \sum_t \operatorname{block}(e_{x_t}) + b

    Example:
        >>> logits = MeanClassifier()(reversal()[0])
        >>> logits.shape, logits[0].allclose(logits[1], atol=1e-6)   # one sentence, both ways
        (torch.Size([4]), True)
    """

    def __init__(self, d_model: int = 2) -> None:
        super().__init__()
        self.embed = nn.Embedding(NUM_TOKENS, d_model)
        self.block = ResidualBlock(d_model)
        self.classifier = nn.Linear(d_model, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return one logit per sentence, ``(B,)``, from tokens ``(B, T)``."""
        mean = self.block(self.embed(tokens)).mean(dim=1)  # (B, D)
        return self.classifier(mean).flatten()


class PositionClassifier(nn.Module):
    r"""Add a learned vector of the position to each word's vector, then classify by the mean.

    .. math:: z = w \cdot \frac{1}{T} \sum_t \operatorname{block}(e_{x_t} + p_t) + b
    """

    def __init__(self, d_model: int = 2) -> None:
        super().__init__()
        self.embed = nn.Embedding(NUM_TOKENS, d_model)
        self.position = nn.Embedding(LENGTH, d_model)
        self.block = ResidualBlock(d_model)
        self.classifier = nn.Linear(d_model, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return one logit per sentence, ``(B,)``, from tokens ``(B, T)``."""
        placed = self.embed(tokens) + self.position.weight  # (B, T, D)
        mean = self.block(placed).mean(dim=1)  # (B, D)
        return self.classifier(mean).flatten()


class AttentionClassifier(nn.Module):
    r"""Let the words attend to each other before their mean is classified.

    .. math::
       h_t = e_{x_t} + p_t, \qquad
       z = w \cdot \frac{1}{T} \sum_t \operatorname{block}\big(h_t + \operatorname{attend}(h)_t\big) + b

    Args:
        d_model: dimension of a word's vector.
        num_heads: number of (narrow) heads.
        positions: whether a learned vector of the position is added, as :math:`p_t`.

    Example:
        >>> model, (tokens, labels) = AttentionClassifier(positions=False), reversal()
        >>> logits = model(tokens)
        >>> model.weights(tokens).shape, logits[0].allclose(logits[1], atol=1e-6)   # (B, H, T, T)
        (torch.Size([4, 1, 3, 3]), True)
    """

    def __init__(self, d_model: int = 2, *, num_heads: int = 1, positions: bool = True) -> None:
        super().__init__()
        self.embed = nn.Embedding(NUM_TOKENS, d_model)
        self.position = nn.Embedding(LENGTH, d_model) if positions else None
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.block = ResidualBlock(d_model)
        self.classifier = nn.Linear(d_model, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return one logit per sentence, ``(B,)``, from tokens ``(B, T)``."""
        x = self._vectors(tokens)  # (B, T, D)
        context, _ = self.attention(x, x, x)
        mean = self.block(x + context).mean(dim=1)  # (B, D)
        return self.classifier(mean).flatten()

    def weights(self, tokens: Tensor) -> Tensor:
        """Return the attention weights, ``(B, H, T, T)``."""
        x = self._vectors(tokens)
        _, weights = self.attention(x, x, x)
        return weights

    def _vectors(self, tokens: Tensor) -> Tensor:
        words = self.embed(tokens)
        return words if self.position is None else words + self.position.weight


def _tensors(rows: list[tuple[list[int], int]]) -> tuple[Tensor, Tensor]:
    tokens = torch.tensor([sentence for sentence, _ in rows])
    labels = torch.tensor([float(label) for _, label in rows])
    return tokens, labels
