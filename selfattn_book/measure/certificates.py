"""Which sentences can be doubted in balance, found in fractions, so that nothing is rounded.

The margins of sentences are sums of the same free weights, so some can be written in others.
"""

from collections.abc import Iterable
from fractions import Fraction

Rows = list[list[Fraction]]  # features of each sentence, the sign turned for label 0
Margins = dict[int, Fraction]  # of sentences, by their number
Table = dict[int, Margins]  # margin i = sum over j of table[i][j] times margin j


def doubtful(rows: Rows) -> list[int]:
    r"""Find the sentences that have a doubt above 0 in some balanced list of doubts.

    A sentence of the others can be won for nothing: its margin can grow, and none shrinks.

    Args:
        rows: :math:`\phi_i`, the features of each sentence, with the sign turned for label 0.

    Returns:
        The numbers of the sentences, in order.

    Example:
        >>> zero, one = Fraction(0), Fraction(1)
        >>> doubtful([[one, zero], [-one, zero], [one, one]])   # the last has a feature alone
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
    """Doubt a sentence in balance with others, or win it: let its margin grow, and none shrink.

    One of the two is possible, and never both (Farkas).
    Taking the least number each time keeps the search from going in circles (Bland).
    """
    if sentence in table:
        others = [j for j, share in table[sentence].items() if share != 0]
        if not others:
            return {sentence}, set()  # its margin is 0, whatever the weights are
        pivot(table, sentence, others[0])
    while True:  # let its margin grow, and those that the table is written in stay
        shrinking = [i for i, line in table.items() if line[sentence] < 0]
        if not shrinking:
            growing = {i for i, line in table.items() if line[sentence] > 0}
            return set(), {sentence, *growing}
        line = table[min(shrinking)]
        helpers = [j for j, share in line.items() if share > 0]
        if not helpers:  # this margin and shares of others, all positive, are 0 in sum
            return {
                min(shrinking),
                *(j for j, share in line.items() if share),
            }, set()
        pivot(table, min(shrinking), min(helpers))


def in_sentences(rows: Rows, order: Iterable[int]) -> Table:
    """Write the margins of sentences in those of as few as possible.

    Args:
        rows: as in :func:`doubtful`.
        order: the numbers of the sentences; the others are left out.

    Returns:
        ``table[i][j]``, how much of margin ``j`` is in margin ``i``; each sentence has either
        a line of its own, or a place in all lines.

    Example:
        >>> in_sentences([[Fraction(2)], [Fraction(6)]], [0, 1])   # the second is 3 times the first
        {1: {0: Fraction(3, 1)}}
    """
    order = list(order)
    # At first in weights; weight f has the number -1 - f, so that its sign tells what it is.
    table = {i: {-1 - f: x for f, x in enumerate(rows[i])} for i in order}
    for i in order:
        weights = [j for j, share in table[i].items() if j < 0 and share != 0]
        if weights:
            pivot(table, i, weights[0])
            del table[weights[0]]
    return {i: {j: x for j, x in line.items() if j >= 0} for i, line in table.items()}


def pivot(table: Table, i: int, j: int) -> None:
    """Let a sentence with a line and one without change places.

    Args:
        table: is changed: line ``i`` is solved for margin ``j``, and put into all others.
        i: has a line.
        j: has a place in the lines, with a share in line ``i`` that is not 0.

    Example:
        >>> table = {1: {0: Fraction(3)}}
        >>> pivot(table, 1, 0)
        >>> table
        {0: {1: Fraction(1, 3)}}
    """
    line = table.pop(i)
    own = line.pop(j)
    solved = {k: -share / own for k, share in line.items()} | {i: 1 / own}
    for other in table.values():
        factor = other.pop(j)
        for k, share in solved.items():
            other[k] = other.get(k, Fraction(0)) + factor * share
    table[j] = solved


def exchange(table: Table, weights: Margins) -> None:
    """Rewrite a table in heavy sentences, so that no share in it is large.

    Each exchange at least doubles the product of the weights and a volume, so it ends.

    Args:
        table: is changed, until no share of ``j`` in the margin of ``i`` is larger than
            twice the weight of ``j`` by that of ``i``.
        weights: above 0, one for each sentence.

    Example:
        >>> table = {1: {0: Fraction(3)}}
        >>> exchange(table, {0: Fraction(1), 1: Fraction(1)})
        >>> table
        {0: {1: Fraction(1, 3)}}
    """
    while True:
        shares = [
            (abs(share) * weights[i] / weights[j], i, j)
            for i, line in table.items()
            for j, share in line.items()
        ]
        largest, i, j = max(shares)
        if largest <= 2:
            return
        pivot(table, i, j)
