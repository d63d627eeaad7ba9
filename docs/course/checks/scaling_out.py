"""Distributed training: a sampler that repeats nothing, and gradients, time and memory on paper."""

from itertools import product

from selfattn_book.exercises.checking.by_hand import by_hand
from selfattn_book.exercises.checking.exercise import Exercise, checked, factory


def cards(order, ranks, rank):
    return order[rank::ranks]


def stretches(order, ranks, rank):
    each = len(order) // ranks
    return order[rank * each : (rank + 1) * each]


@factory
def sampler(begin, deal, n, ranks, rank, epoch, *, used=lambda n, ranks: range(n - n % ranks)):
    """Return the sampler whose epochs begin at these examples."""
    return deal([(begin(epoch) + i) % n for i in used(n, ranks)], ranks, rank)


def asked(message, sizes, epochs, points):
    cases = [
        (count, ranks, rank, epoch)
        for (count, ranks), epoch in product(sizes, epochs)
        for rank in range(ranks)
    ]
    section = "scaling-out-deeper.html#which-rank-reads-which-examples"
    return checked(message, section, points, *cases)


def on_paper(numbers):
    counts, means, ranks = (numbers[name] for name in ("counts", "means", "ranks"))
    billions, idle = numbers["billions"], numbers["idle"]
    total = sum(n * g for n, g in zip(counts, means, strict=True))
    whole, mean = total / sum(counts), sum(means) / 3
    right = {
        "over_ranks": mean,
        "whole": whole,
        "waiting": (ranks - 1) / (ranks + 11),
        "batches": (ranks - 1) * (idle - 1),
        "gigabytes": 16 * billions / ranks,
    }
    wrong = {
        "The mean over the ranks does not depend on the counts.": {"over_ranks": whole},
        "This is the sum over the ranks.": {"over_ranks": sum(means)},
        "This is the mean of the means.": {"whole": mean},
        "The sum over the examples is divided by the number of ranks.": {"whole": total / 3},
        "This is the sum over the examples.": {"whole": total},
        "The first batch is in the last stage after one tick less.": {
            "waiting": ranks / (ranks + 12)
        },
        "This is the fraction of time in which they work.": {"waiting": 12 / (ranks + 11)},
        "The time is longer than 12 ticks.": {"waiting": (ranks - 1) / 12},
        "The ticks of waiting belong to the whole time.": {"batches": (ranks - 1) * idle},
        "A pipeline waits for one tick less than it has stages.": {"batches": ranks * (idle - 1)},
        "Adam holds two numbers for each parameter.": {"gigabytes": 12 * billions / ranks},
        "The gradients were forgotten.": {"gigabytes": 8 * billions / ranks},
        "These are the parameters alone.": {"gigabytes": 4 * billions / ranks},
        "This is what all ranks hold together.": {"gigabytes": 16 * billions},
    }
    section = "scaling-out-deeper.html#pipeline-parallelism-micro-batches-and-the-bubble"
    return by_hand("on_paper", section, right, wrong)


def exercises(numbers):
    shift = numbers["shift"]
    deal, other = (cards, stretches) if numbers["deal"] == "cards" else (stretches, cards)
    even, uneven = [(12, 3), (20, 4), (22, 2)], [(11, 3), (13, 4), (17, 2)]

    def begin(epoch):
        return shift * epoch

    right = sampler(begin, deal)

    def own_order(count, ranks, rank, epoch):
        examples = right(count, ranks, rank, 0)
        first = begin(epoch) % len(examples)
        return examples[first:] + examples[:first]

    wrong = {
        "The examples are dealt out in the other way.": sampler(begin, other),
        "Ranks are counted from 0.": lambda n, ranks, r, e: right(n, ranks, (r - 1) % ranks, e),
        "Every epoch has the same order.": sampler(lambda epoch: 0, deal),
        "Each epoch begins one example later.": sampler(lambda epoch: epoch, deal),
        "The order is turned the other way.": sampler(lambda epoch: -shift * epoch, deal),
        "The same examples are left out in every epoch.": (
            lambda n, ranks, rank, epoch: right(n - n % ranks, ranks, rank, epoch)
        ),
        "Each rank reads the same examples in every epoch.": own_order,
        "The first of the order are left out, not the last.": (
            sampler(begin, deal, used=lambda n, ranks: range(n % ranks, n))
        ),
        "Some examples are read twice, where some should be left out.": (
            sampler(begin, deal, used=lambda n, ranks: range(n + -n % ranks))
        ),
    }
    exercise = Exercise(
        "def own_share(count, ranks, rank, epoch): ...",
        [
            asked("examples that divide evenly are dealt out", even, range(1), 1),
            asked("the remainder is left out", uneven, range(1), 1),
            asked("each epoch has its order", even, range(1, 4), 2),
            asked("each epoch leaves out others", uneven, range(1, 4), 2),
        ],
        right=right,
        wrong=wrong,
        gate=0,
        returns="the list of examples",
    )
    return [exercise, on_paper(numbers)]
