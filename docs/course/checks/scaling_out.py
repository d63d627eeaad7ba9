"""More than one machine: a sampler that repeats nothing, and what is shared out on paper."""

from collections.abc import Callable
from itertools import product
from typing import Any

from selfattn_book.exercises.checking.answer_checks import agrees, gives
from selfattn_book.exercises.checking.exercise import Asked, Exercise

Share = Callable[[int, int, int, int], list[int]]
Deal = Callable[[list[int], int, int], list[int]]


def cards(order: list[int], ranks: int, rank: int) -> list[int]:
    """Deal one after the other around the table."""
    return order[rank::ranks]


def stretches(order: list[int], ranks: int, rank: int) -> list[int]:
    """Deal in one piece each."""
    each = len(order) // ranks
    return order[rank * each : (rank + 1) * each]


def right(shift: int, deal: Deal) -> Share:
    """Return the right answer."""

    def own_share(count: int, ranks: int, rank: int, epoch: int) -> list[int]:
        kept = count - count % ranks
        order = [(shift * epoch + i) % count for i in range(kept)]
        return deal(order, ranks, rank)

    return own_share


def mistakes(shift: int, deal: Deal, other: Deal) -> list[tuple[str, Share]]:
    """Return misconceptions, each with what follows from it."""

    def kept(count: int, ranks: int) -> int:
        return count - count % ranks

    def fixed(count: int, ranks: int, rank: int, epoch: int) -> list[int]:
        all_kept = kept(count, ranks)
        order = [(shift * epoch + i) % all_kept for i in range(all_kept)]
        return deal(order, ranks, rank)

    def own(count: int, ranks: int, rank: int, epoch: int) -> list[int]:
        share = deal(list(range(kept(count, ranks))), ranks, rank)
        begin = shift * epoch % len(share)
        return share[begin:] + share[:begin]

    def first_out(count: int, ranks: int, rank: int, epoch: int) -> list[int]:
        order = [(shift * epoch + i) % count for i in range(count)]
        return deal(order[count % ranks :], ranks, rank)

    def shifted(to: Callable[[int], int]) -> Share:
        return lambda n, ranks, rank, e: right(to(e), deal)(n, ranks, rank, 1)

    turned = right(shift, other)
    return [
        ("The examples are dealt out in the other way.", turned),
        (
            "Ranks are counted from 0.",
            lambda n, ranks, rank, e: right(shift, deal)(n, ranks, (rank - 1) % ranks, e),
        ),
        ("Every epoch has the same order.", shifted(lambda e: 0)),
        ("Each epoch begins one example later.", shifted(lambda e: e)),
        ("The order is turned the other way.", shifted(lambda e: -shift * e)),
        ("The same examples are left out in every epoch.", fixed),
        ("Each rank reads the same examples in every epoch.", own),
        ("The first of the order are left out, not the last.", first_out),
    ]


def asks(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked of a sampler."""
    shift, deals = numbers["shift"], {"cards": cards, "stretches": stretches}
    deal = deals.pop(numbers["deal"])
    (other,) = deals.values()
    wrong = mistakes(shift, deal, other)

    def asked(message: str, sizes: list[tuple[int, int]], epochs: range, points: int) -> Asked:
        cases = [
            (count, ranks, rank, epoch)
            for (count, ranks), epoch in product(sizes, epochs)
            for rank in range(ranks)
        ]
        ask = agrees(right(shift, deal), cases, *wrong)
        reread = "scaling-out.html#does-every-example-have-its-turn"
        return Asked(message, ask, reread, points)

    even, uneven = [(12, 3), (20, 4), (22, 2)], [(11, 3), (13, 4), (17, 2)]
    return [
        asked("what divides evenly is dealt out", even, range(1), 1),
        asked("what does not is left out", uneven, range(1), 1),
        asked("each epoch has its order", even, range(1, 4), 2),
        asked("each epoch leaves out others", uneven, range(1, 4), 2),
    ]


def on_paper(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked of what is shared out on paper."""
    counts, means, ranks = (numbers[name] for name in ("counts", "means", "ranks"))
    billions, idle = numbers["billions"], numbers["idle"]
    total = sum(n * g for n, g in zip(counts, means, strict=True))
    whole, mean = total / sum(counts), sum(means) / 3
    wanted = {
        "over_ranks": mean,
        "whole": whole,
        "waiting": (ranks - 1) / (ranks + 11),
        "batches": (ranks - 1) * (idle - 1),
        "gigabytes": 16 * billions / ranks,
    }
    wrong = {
        "over_ranks": {
            "The mean over the ranks does not look at the counts.": whole,
            "This is the sum over the ranks.": sum(means),
        },
        "whole": {
            "This is the mean of the means.": mean,
            "The sum over the examples is divided by the number of ranks.": total / 3,
            "This is the sum over the examples.": total,
        },
        "waiting": {
            "The first batch is in the last stage after one tick less.": ranks / (ranks + 12),
            "This is the share in which they work.": 12 / (ranks + 11),
            "The time is longer than 12 ticks.": (ranks - 1) / 12,
        },
        "batches": {
            "The ticks of waiting belong to the whole time.": (ranks - 1) * idle,
            "A pipeline waits for one tick less than it has stages.": ranks * (idle - 1),
        },
        "gigabytes": {
            "Adam holds two numbers for each parameter.": 12 * billions / ranks,
            "The gradients were forgotten.": 8 * billions / ranks,
            "These are the parameters alone.": 4 * billions / ranks,
            "This is what all ranks hold together.": 16 * billions,
        },
    }
    return gives(wanted, wrong, "scaling-out.html#who-waits-in-a-pipeline")


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    stub = "def own_share(count, ranks, rank, epoch): ..."
    return [
        Exercise("own_share", stub, asks(numbers)),
        Exercise("on_paper", "def on_paper(): ...", on_paper(numbers)),
    ]
