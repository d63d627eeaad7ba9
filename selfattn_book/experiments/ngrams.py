"""An n-gram model with Kneser-Ney smoothing, as a baseline of language models."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

Tokens = Tensor | Sequence[int]
Parts = tuple[float, dict[int, float]]


class KneserNey:
    r"""Predict the next token from counts of what has followed the last few tokens.

    .. math:: p_n(v \mid h) = \frac{c(h v) - D_{c(h v)} + \sum_u D_{c(h u)}\, p_{n-1}(v \mid h')}
       {c(h)}, \qquad p_0(v) = \frac{1}{V}

    where :math:`h` are the last :math:`n - 1` tokens and :math:`h'` all of them but the first, and the
    discount :math:`D` is one number for counts of 1, of 2, and of 3 and more. For the largest
    :math:`n`, :math:`c(h v)` counts how often :math:`v` has followed :math:`h`; below it, how many
    different tokens have preceded :math:`h v`. If :math:`c(h)` is 0, :math:`p_n` is
    :math:`p_{n-1}`.

    Args:
        tokens: ``(N,)``, the training text.
        vocab_size: number of tokens, ``V``.
        order: the largest :math:`n`.

    Source:
        Interpolated modified Kneser-Ney smoothing: :cite:t:`chen1999empirical`, section 3.

    Example:
        >>> counts = KneserNey([0, 1, 0, 1, 0, 2], vocab_size=4, order=2)
        >>> counts.distribution([2, 0]).sum()
        tensor(1.)
    """

    def __init__(self, tokens: Tokens, *, vocab_size: int, order: int) -> None:
        self.vocab_size, self.order = vocab_size, order
        numbers = _as_list(tokens)
        # One table for each length of history: counts of the next token.
        self.followers: list[dict[tuple[int, ...], dict[int, int]]] = []
        for n in range(1, order + 1):
            if n < order:  # each different token before an n-gram counts once
                longer = set(zip(*(numbers[i:] for i in range(n + 1)), strict=False))
                counts = Counter(gram[1:] for gram in longer)
            else:
                counts = Counter(zip(*(numbers[i:] for i in range(n)), strict=False))
            table: dict[tuple[int, ...], dict[int, int]] = defaultdict(dict)
            for gram, count in counts.items():
                table[gram[:-1]][gram[-1]] = count
            self.followers.append(dict(table))
        self.discounts = [_discounts(table.values()) for table in self.followers]
        self._parts: dict[tuple[int, ...], Parts] = {}  # of the histories met so far

    def distribution(self, history: Tokens) -> Tensor:
        """Return the probabilities of the next token, ``(V,)``, in the default dtype."""
        numbers = _as_list(history)
        probabilities = torch.full((self.vocab_size,), 1 / self.vocab_size)
        for rest, own in self._known(numbers, len(numbers)):
            probabilities *= rest
            probabilities[torch.tensor(list(own))] += torch.tensor(list(own.values()))
        return probabilities

    def surprisal(self, tokens: Tokens, first: int = 0) -> Tensor:
        r"""Return the surprisal of each token from ``first`` on, :math:`-\ln p`, in nats."""
        numbers = _as_list(tokens)
        nats = [-math.log(self._probability(numbers, i)) for i in range(first, len(numbers))]
        return torch.tensor(nats)

    def write(self, tokens: Tokens, length: int, *, generator: torch.Generator) -> Tensor:
        """Continue tokens ``(N,)`` by ``length`` tokens, each sampled from :meth:`distribution`.

        Example:
            >>> counts = KneserNey([0, 1] * 50, vocab_size=2, order=2)
            >>> counts.write([0], 5, generator=torch.Generator().manual_seed(0))
            tensor([0, 1, 0, 1, 0, 1])
        """
        numbers = _as_list(tokens)
        for _ in range(length):
            probabilities = self.distribution(numbers[-self.order :])
            numbers.append(int(torch.multinomial(probabilities, 1, generator=generator)))
        return torch.tensor(numbers)

    def _probability(self, numbers: list[int], i: int) -> float:
        probability = 1 / self.vocab_size
        for rest, own in self._known(numbers, i):
            probability = own.get(numbers[i], 0.0) + rest * probability
        return probability

    def _known(self, numbers: list[int], i: int) -> Iterator[Parts]:
        """Yield the parts after each known history before token ``i``, the shortest first."""
        for length in range(min(self.order, i + 1)):
            history = tuple(numbers[i - length : i])
            if history not in self.followers[length]:  # nor is any longer one known
                return
            if history not in self._parts:
                self._parts[history] = self._split(length, self.followers[length][history])
            yield self._parts[history]

    def _split(self, length: int, counts: dict[int, int]) -> Parts:
        """Return the factor of the shorter history's probabilities, and each token's own part."""
        total, discounts = sum(counts.values()), self.discounts[length]
        taken = {token: discounts[min(count, 3)] for token, count in counts.items()}
        own = {token: (count - taken[token]) / total for token, count in counts.items()}
        return sum(taken.values()) / total, own


def _discounts(tables: Iterable[dict[int, int]]) -> list[float]:
    """Return the discounts of counts of 0, 1, 2, and 3 and more."""
    number = Counter(count for counts in tables for count in counts.values())
    y = number[1] / max(1, number[1] + 2 * number[2])
    found = [i - (i + 1) * y * number[i + 1] / max(1, number[i]) for i in (1, 2, 3)]
    return [0.0, *(max(discount, 0.0) for discount in found)]


def _as_list(tokens: Tokens) -> list[int]:
    return tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
