"""Dual certificates in exact fractions: which sentences have a doubt in a balanced list of doubts.

The margins of sentences are sums of the same free weights, so some are linear in others.
"""

from collections.abc import Iterable
from fractions import Fraction

Rows = list[list[Fraction]]  # features of each sentence, negated for label 0
Margins = dict[int, Fraction]  # by the index of a sentence
Table = dict[int, Margins]  # margin i = sum over j of table[i][j] times margin j


def dual_certificate(rows: Rows) -> list[int]:
    r"""Find the sentences that have a doubt above 0 in some balanced list of doubts, by their indices.

    The others cost nothing in the end: their margin can grow while none shrinks.

    Example:
        >>> zero, one = Fraction(0), Fraction(1)
        >>> dual_certificate([[one, zero], [-one, zero], [one, one]])   # the last has a feature alone
        [0, 1]
    """
    table = in_sentences(rows, range(len(rows)))
    doubted: set[int] = set()
    won: set[int] = set()
    for sentence in range(len(rows)):
        if sentence not in doubted | won:
            more_doubted, more_won = _doubted_or_won(table, sentence)
            doubted |= more_doubted
            won |= more_won
    return sorted(doubted)


def _doubted_or_won(table: Table, sentence: int) -> tuple[set[int], set[int]]:
    """Return the sentences doubted together with one, or those that are won with it.

    One of the two is possible, and never both (Farkas).
    Taking the smallest index each time prevents cycles (Bland).
    """
    if sentence in table:
        others = [j for j, c in table[sentence].items() if c != 0]
        if not others:
            return {sentence}, set()  # its margin is 0, whatever the weights are
        pivot(table, sentence, others[0])
    while True:  # let its margin grow, while all other margins of the basis stay
        shrinking = [i for i, line in table.items() if line[sentence] < 0]
        if not shrinking:
            growing = {i for i, line in table.items() if line[sentence] > 0}
            return set(), {sentence, *growing}
        line = table[min(shrinking)]
        helpers = [j for j, c in line.items() if c > 0]
        if not helpers:  # a sum of margins with positive coefficients is 0
            return {min(shrinking), *(j for j, c in line.items() if c)}, set()
        pivot(table, min(shrinking), min(helpers))


def in_sentences(rows: Rows, order: Iterable[int]) -> Table:
    """Write the margins of sentences as sums of as few of them as possible.

    Args:
        rows: as in :func:`dual_certificate`.
        order: indices of the sentences to use.

    Returns:
        ``table[i][j]``, the coefficient of margin ``j`` in margin ``i``; each sentence is either
        a row or a column.

    Example:
        >>> in_sentences([[Fraction(2)], [Fraction(6)]], [0, 1])   # the second is 3 times the first
        {1: {0: Fraction(3, 1)}}
    """
    order = list(order)
    # At first in weights; weight f has the index -1 - f.
    table = {i: {-1 - f: x for f, x in enumerate(rows[i])} for i in order}
    for i in order:
        weights = [j for j, c in table[i].items() if j < 0 and c != 0]
        if weights:
            pivot(table, i, weights[0])
            del table[weights[0]]
    return {i: {j: x for j, x in line.items() if j >= 0} for i, line in table.items()}


def pivot(table: Table, i: int, j: int) -> None:
    """Exchange row ``i`` and column ``j`` of a table, in place."""
    line = table.pop(i)
    own = line.pop(j)
    solved = {k: -c / own for k, c in line.items()} | {i: 1 / own}
    for other in table.values():
        factor = other.pop(j)
        for k, c in solved.items():
            other[k] = other.get(k, Fraction(0)) + factor * c
    table[j] = solved


def exchange(table: Table, weights: Margins) -> None:
    """Pivot a table in place until no coefficient is above 2, scaled by the weights of its sentences.

    Each pivot at least doubles the product of the weights and a volume, so it ends.
    """
    while True:
        largest, i, j = max(
            (abs(c) * weights[i] / weights[j], i, j)
            for i, line in table.items()
            for j, c in line.items()
        )
        if largest <= 2:
            return
        pivot(table, i, j)
