"""Look up a value by its key: a task that attention can do perfectly, and a model that is nothing else.

Shape letters: ``B`` records, ``S`` keys in a record, ``D`` width of queries and keys.
"""

import math

import torch
from torch import Tensor, nn

from selfattn_book._arguments import check_integer, check_number
from selfattn_book.attention import masked_softmax


def lookups(
    count: int,
    num_keys: int,
    d_input: int,
    *,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw records of keys with values, and a query that is a copy of one of the keys.

    The keys of a record have random directions and all the same length, so that none matches
    a query better than itself; their entries have variance 1.
    The query is a copy of the first key, which is no hint: attention does not see an order.

    Args:
        count: how many records, ``B``.
        num_keys: keys in a record, ``S``.
        d_input: entries of a key.
        generator: where chance comes from; PyTorch's own when left out.

    Returns:
        Records ``(B, 1 + S, d_input + 1)``: the query, then the keys, each with its value as
        its last entry, and 0 there for the query. Answers ``(B,)``, the query's value.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1.

    Example:
        >>> records, answers = lookups(7, 3, 2, generator=torch.Generator().manual_seed(0))
        >>> records.shape, answers.shape
        (torch.Size([7, 4, 3]), torch.Size([7]))
        >>> records[:, 0, :2].equal(records[:, 1, :2]), answers.equal(records[:, 1, 2])
        (True, True)
        >>> records[:, 1:, :2].square().mean(-1).allclose(torch.ones(7, 3))   # all as long
        True
    """
    sizes = {"count": count, "num_keys": num_keys, "d_input": d_input}
    for name, size in sizes.items():
        check_integer(name, size, least=1)
    keys = torch.randn(count, num_keys, d_input, generator=generator)
    keys = nn.functional.normalize(keys, dim=-1) * d_input**0.5
    values = torch.randn(count, num_keys, 1, generator=generator)
    asked = torch.cat([keys[:, :1], torch.zeros(count, 1, 1)], dim=-1)
    known = torch.cat([keys, values], dim=-1)  # (B, S, d_input + 1)
    return torch.cat([asked, known], dim=1), values[:, 0, 0]


class Lookup(nn.Module):
    r"""Attend from the query of a record to its keys, and return the average of their values.

    .. math:: w = \operatorname{softmax}\!\big(x W^Q (X W^K)^{\mathsf T} / c\big)

    All entries of both maps are drawn from a normal distribution with variance 1 / ``d_input``,
    so that queries and keys start with entries of variance 1.

    Args:
        d_input: entries of a key.
        width: of queries and keys, ``D``.
        divisor: of the scores, :math:`c`.
        shrink: by what to divide the map of the queries once, when it is drawn.

    Raises:
        TypeError: a size is not an integer, or ``divisor`` or ``shrink`` no number.
        ValueError: a size is below 1, or ``divisor`` or ``shrink`` not above 0, or not finite.

    Example:
        >>> records, answers = lookups(7, 3, 2, generator=torch.Generator().manual_seed(0))
        >>> model = Lookup(2, 2, divisor=0.01)
        >>> model(records).shape, model.weights(records).shape
        (torch.Size([7]), torch.Size([7, 3]))
        >>> for name, weight in model.named_parameters():   # no bias
        ...     print(name, nn.init.eye_(weight).shape)
        project_query.weight torch.Size([2, 2])
        project_key.weight torch.Size([2, 2])
        >>> model(records).allclose(answers, atol=0.01)   # each key matches itself best
        True
        >>> model.divisor = 1e9   # all scores are nearly 0, all weights equal
        >>> model(records).allclose(records[:, 1:, -1].mean(1))
        True
        >>> for shrink in ({}, {"shrink": 3}):   # how widely the maps are drawn
        ...     [map.std().item() for map in Lookup(4, 9999, divisor=1, **shrink).parameters()]
        [0.50, 0.50]
        [0.17, 0.50]
        >>> Lookup(1, 1, divisor=1)(lookups(7, 1, 1)[0]).shape   # the smallest
        torch.Size([7])
    """

    def __init__(self, d_input: int, width: int, *, divisor: float, shrink: float = 1.0) -> None:
        super().__init__()
        d_input = check_integer("d_input", d_input, least=1)
        width = check_integer("width", width, least=1)
        for name, number in (("divisor", divisor), ("shrink", shrink)):
            check_number(name, number)
            if not 0 < number < math.inf:
                raise ValueError(f"{name} must be above 0, and finite; got {number}")
        self.divisor = divisor
        self.project_query = nn.Linear(d_input, width, bias=False)
        self.project_key = nn.Linear(d_input, width, bias=False)
        nn.init.normal_(self.project_query.weight, std=d_input**-0.5 / shrink)
        nn.init.normal_(self.project_key.weight, std=d_input**-0.5)

    def weights(self, records: Tensor) -> Tensor:
        """Return the weight of each key ``(B, S)``; the values play no part."""
        query = self.project_query(records[:, 0, :-1])  # (B, D)
        key = self.project_key(records[:, 1:, :-1].contiguous())  # (B, S, D)
        scores = (query.unsqueeze(1) * key).sum(-1) / self.divisor  # (B, S)
        return masked_softmax(scores)

    def forward(self, records: Tensor) -> Tensor:
        """Return the weighted average of the values of each record, ``(B,)``."""
        return (self.weights(records) * records[:, 1:, -1]).sum(dim=-1)
