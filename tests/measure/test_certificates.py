"""The sentences with a doubt are compared with all balanced lists of doubts."""

from fractions import Fraction

import pytest
import torch

from selfattn_book.measure.certificates import dual_certificate, exchange, in_sentences


def random_rows(number, size, width):
    generator = torch.Generator().manual_seed(number)
    return torch.randint(-2, 3, (size, width), generator=generator).tolist()


def exact(rows):
    return [[Fraction(x) for x in row] for row in rows]


def balanced_lists(rows):
    """Begin with a doubt of each sentence alone, and balance feature by feature."""
    lists = [[int(i == k) for k in range(len(rows))] for i in range(len(rows))]
    for feature in zip(*rows, strict=True):
        sums = [sum(d * x for d, x in zip(ds, feature, strict=True)) for ds in lists]
        mixed = [
            [-b * x + a * y for x, y in zip(up, down, strict=True)]
            for up, a in zip(lists, sums, strict=True)
            for down, b in zip(lists, sums, strict=True)
            if a > 0 > b
        ]
        lists = [ds for ds, a in zip(lists, sums, strict=True) if a == 0] + mixed
    return lists


def test_doubtful_sentences_are_those_of_some_balanced_list():
    kinds = set()
    for number in range(200):
        rows = random_rows(number, 2 + number % 5, 1 + number % 3)
        lists = balanced_lists(rows)
        expected = [i for i in range(len(rows)) if any(ds[i] > 0 for ds in lists)]
        assert dual_certificate(exact(rows)) == expected
        kinds.add("some" if 0 < len(expected) < len(rows) else len(expected) > 0)
    assert kinds == {False, True, "some"}  # none, all, some


@pytest.mark.parametrize("number", range(20))
def test_margins_are_those_of_the_table_also_after_exchanges(number):
    rows = random_rows(number, 7, 3)
    margins = [sum(x * w for x, w in zip(row, (5, -7, 11), strict=True)) for row in rows]
    table = in_sentences(exact(rows), range(7))
    weights = {i: Fraction(1 + (5 * i + number) % 7) for i in range(7)}
    for _ in range(2):
        used = {j for line in table.values() for j in line}
        assert used.isdisjoint(table)
        assert len(used) == torch.linalg.matrix_rank(torch.tensor(rows).double())
        for i, line in table.items():
            assert margins[i] == sum(c * margins[j] for j, c in line.items())
        exchange(table, weights)
    for i, line in table.items():
        assert all(abs(c) * weights[i] <= 2 * weights[j] for j, c in line.items())
