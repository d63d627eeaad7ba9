"""Lookup of a value by its key: a task that attention can solve exactly, and an attention-only model.

Shape letters: ``B`` records, ``S`` keys in a record, ``D`` dimension of queries and keys.
"""

import torch
from torch import Tensor, nn

from selfattn_book.attention import masked_softmax


def lookups(
    count: int,
    num_keys: int,
    d_input: int,
    *,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw ``count`` records of ``num_keys`` keys with values, and a query that copies one of the keys.

    The keys of a record have random directions and one length, so that each matches itself best; the
    query is a copy of the first key, as attention does not depend on the order.

    Returns:
        Records ``(B, 1 + S, d_input + 1)``: the query, then the keys, each with its value as
        its last entry, and 0 there for the query. Answers ``(B,)``, the query's value.

    Example:
        >>> records, answers = lookups(7, 3, 2, generator=torch.Generator().manual_seed(0))
        >>> records.shape, answers.equal(records[:, 1, 2])
        (torch.Size([7, 4, 3]), True)
    """
    keys = torch.randn(count, num_keys, d_input, generator=generator)
    keys = nn.functional.normalize(keys, dim=-1) * d_input**0.5
    values = torch.randn(count, num_keys, 1, generator=generator)
    query = torch.cat([keys[:, :1], torch.zeros(count, 1, 1)], dim=-1)
    pairs = torch.cat([keys, values], dim=-1)  # (B, S, d_input + 1)
    return torch.cat([query, pairs], dim=1), values[:, 0, 0]


class Lookup(nn.Module):
    r"""Attend from the query of a record to its keys, and return the weighted average of their values.

    .. math:: w = \operatorname{softmax}\!\big(x W^Q (X W^K)^{\mathsf T} / c\big)

    The entries of both projections are normal with variance 1 / ``d_input``, so that queries and keys
    start with entries of variance 1.

    Args:
        d_input: dimension of a key.
        d_key: dimension of queries and keys, ``D``.
        divisor: divisor of the scores, :math:`c`.
        shrink: divisor of the query projection at initialization.

    Example:
        >>> records, answers = lookups(7, 3, 2, generator=torch.Generator().manual_seed(0))
        >>> model = Lookup(2, 2, divisor=0.01)
        >>> for projection in model.parameters():
        ...     _ = nn.init.eye_(projection)
        >>> model(records).allclose(answers, atol=0.01)   # each key matches itself best
        True
    """

    def __init__(self, d_input: int, d_key: int, *, divisor: float, shrink: float = 1.0) -> None:
        super().__init__()
        self.divisor = divisor
        self.project_query = nn.Linear(d_input, d_key, bias=False)
        self.project_key = nn.Linear(d_input, d_key, bias=False)
        nn.init.normal_(self.project_query.weight, std=d_input**-0.5 / shrink)
        nn.init.normal_(self.project_key.weight, std=d_input**-0.5)

    def weights(self, records: Tensor) -> Tensor:
        """Return the weight of each key, ``(B, S)``."""
        # One matrix (d_input, d_input) for both projections: far fewer numbers than keys (B, S, D).
        product = self.project_query.weight.T @ self.project_key.weight
        query, keys = records[:, :1, :-1], records[:, 1:, :-1]
        scores = query @ product @ keys.mT / self.divisor  # (B, 1, S)
        return masked_softmax(scores.squeeze(1))

    def blocked(self, records: Tensor, *, below: float = 1e-4) -> Tensor:
        """Return whether the right key of each record, the first, has hardly any weight, ``(B,)``."""
        return self.weights(records)[:, 0] < below

    def forward(self, records: Tensor) -> Tensor:
        """Return the weighted average of the values of each record, ``(B,)``."""
        return (self.weights(records) * records[:, 1:, -1]).sum(dim=-1)
