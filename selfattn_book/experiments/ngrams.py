"""An n-gram model with interpolation, as a baseline of language models."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

from selfattn_book._arguments import check_integer

Tokens = Tensor | Sequence[int]


class NGrams:
    r"""Predict the next token from counts of what has followed the last few tokens.

    .. math:: p_n(v \mid h) = \frac{c(h v) + k(h)\, p_{n-1}(v \mid h')}{c(h) + k(h)}, \qquad
       p_0(v) = \frac{1}{V}

    where :math:`h` are the last :math:`n - 1` tokens and :math:`h'` all of them but the first,
    :math:`c` counts, and :math:`k(h)` is how many different tokens have followed :math:`h`.
    So the counts of a long history are trusted the more, the less often it brought
    something new (Witten and Bell's way of interpolating).

    Args:
        tokens: ``(N,)``, what is counted.
        vocabulary: number of tokens, ``V``.
        order: the largest :math:`n`.

    Raises:
        ValueError: ``order`` or ``vocabulary`` is below 1, or a token is outside of the vocabulary.

    Source:
        Witten and Bell, 1991, method C, :cite:p:`witten1991zero`; in this form,
        :cite:t:`chen1999empirical`.

    Example:
        >>> counts = NGrams([0, 1, 0, 1, 0, 2], vocabulary=4, order=2)
        >>> counts.distribution([2, 0])   # after 0: twice 1, once 2
        tensor([0.1667, 0.5222, 0.2778, 0.0333])
        >>> counts.distribution([], order=1)
        tensor([0.4167, 0.3056, 0.1944, 0.0833])
        >>> counts.surprisal([0, 1], first=1).exp() * counts.distribution([0])[1]
        tensor([1.])
    """

    def __init__(self, tokens: Tokens, *, vocabulary: int, order: int) -> None:
        self.vocabulary = check_integer("vocabulary", vocabulary, least=1)
        self.order = check_integer("order", order, least=1)
        numbers = self._checked(tokens)
        # One table for each length of history: what followed it, and how often.
        self.followers: list[dict[tuple[int, ...], Counter[int]]] = []
        for n in range(1, order + 1):
            table: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
            grams = zip(*(numbers[i:] for i in range(n)), strict=False)
            for gram, count in Counter(grams).items():
                table[gram[:-1]][gram[-1]] = count
            self.followers.append(dict(table))

    def distribution(self, history: Tokens, *, order: int | None = None) -> Tensor:
        """Return the probabilities of what comes next, ``(V,)``, in the default dtype.

        Args:
            history: what came before; only its end is read.
            order: the :math:`n` of it, from 0 to the largest; the largest when left out.

        Raises:
            ValueError: ``order`` is outside of these.
        """
        order, numbers = self._checked_order(order), self._checked(history)
        shares = torch.full((self.vocabulary,), 1 / self.vocabulary)
        for counted in self._known(numbers, len(numbers), order):
            k, total = len(counted), counted.total()
            shares *= k / (total + k)
            followers = torch.tensor(list(counted))
            shares[followers] += torch.tensor([count / (total + k) for count in counted.values()])
        return shares

    def surprisal(self, tokens: Tokens, first: int = 0, *, order: int | None = None) -> Tensor:
        r"""Return the surprisal of each token, :math:`-\ln p`, in nats.

        Args:
            tokens: ``(N,)``.
            first: the first token to be predicted, from those before it.
            order: as of :meth:`distribution`.

        Returns:
            ``(N - first,)``.

        Raises:
            ValueError: as of :meth:`distribution`, or ``first`` is below 0.
        """
        order, numbers = self._checked_order(order), self._checked(tokens)
        check_integer("first", first, least=0)
        nats = [-math.log(self._probability(numbers, i, order)) for i in range(first, len(numbers))]
        return torch.tensor(nats)

    def write(
        self,
        tokens: Tokens,
        length: int,
        *,
        generator: torch.Generator,
        order: int | None = None,
    ) -> Tensor:
        """Continue tokens, each new one drawn from :meth:`distribution`.

        Args:
            tokens: ``(N,)``, how the text begins.
            length: how many to add.
            generator: of all chance in it.
            order: as of :meth:`distribution`.

        Returns:
            ``(N + length,)``.

        Example:
            >>> counts = NGrams([0, 1] * 50, vocabulary=2, order=2)
            >>> counts.write([0], 5, generator=torch.Generator().manual_seed(0))
            tensor([0, 1, 0, 1, 0, 1])
        """
        numbers = self._checked(tokens)
        for _ in range(check_integer("length", length, least=0)):
            shares = self.distribution(numbers[-self.order :], order=order)
            newest = torch.multinomial(shares, 1, generator=generator)
            numbers.append(int(newest))
        return torch.tensor(numbers)

    def _probability(self, numbers: list[int], i: int, order: int) -> float:
        share = 1 / self.vocabulary
        for counted in self._known(numbers, i, order):
            k = len(counted)
            share = (counted[numbers[i]] + k * share) / (counted.total() + k)
        return share

    def _known(self, numbers: list[int], i: int, order: int) -> list[Counter[int]]:
        """Return what followed the histories that end before token ``i``, the shortest first."""
        found = []
        for length in range(min(order, i + 1)):
            counted = self.followers[length].get(tuple(numbers[i - length : i]))
            if counted is None:  # nor is any longer one known
                break
            found.append(counted)
        return found

    def _checked(self, tokens: Tokens) -> list[int]:
        numbers = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
        for number in numbers:
            if not 0 <= number < self.vocabulary:
                rule = f"tokens must be from 0 to {self.vocabulary - 1}"
                raise ValueError(f"{rule}; got {number}")
        return numbers

    def _checked_order(self, order: int | None) -> int:
        if order is None:
            return self.order
        if check_integer("order", order, least=0) > self.order:
            raise ValueError(f"order must be at most {self.order}; got {order}")
        return order
