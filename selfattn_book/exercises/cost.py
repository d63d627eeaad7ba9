"""The cost of attention: two parts of a softmax, merged into one."""

import torch

from selfattn_book.exercises.checking.exercise import Exercise, Question, factory, form
from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.exercises.checking.results import Described
from selfattn_book.exercises.checking.views import first, second


def part_of(scores, values):
    """Return what one pass over some keys keeps."""
    highest = scores.amax(-1, keepdim=True)
    exponentials = (scores - highest).exp()
    kept = highest, exponentials.sum(-1, keepdim=True), exponentials @ values
    return Described(kept, f"a part for {len(scores)} queries")


@factory
def halves(queries, keys, left, width, size=1):
    """Return the parts of the left keys and of the right keys."""
    scores = size * drawn(queries, keys, seed=81)
    # Each side has the higher score in some of the rows.
    scores[::2, 0] += 3 * size
    scores[1::2, -1] += 3 * size
    values = drawn(keys, width, seed=82)
    return part_of(scores[:, :left], values[:left]), part_of(scores[:, left:], values[left:])


def sums(parts, *case):
    return torch.cat([parts[1], parts[2]], dim=-1)


PLAIN = [halves(3, 7, 4, 2), halves(5, 6, 1, 3)]


def large_cases():
    """Return parts with scores whose exponentials no format can hold."""
    cases = [halves(3, 7, 4, 2, 1e3)() for _ in range(2)]
    for part in cases[1]:
        part[0] -= 1e5
    return cases


def empty_cases():
    """Return cases with a part that has seen no key."""
    full, _ = halves(3, 7, 4, 2)()
    highest = torch.full_like(full[0], torch.finfo(full[0].dtype).min)
    empty = Described([highest, 0 * full[1], 0 * full[2]], full.message)
    return [(empty, full), (full, empty), (empty, empty)]


def merged(factors, *only):
    def merge(x, y):
        higher = torch.maximum(x[0], y[0])
        sums = []
        for i in (1, 2):
            a, b = (factors if i in (only or (1, 2)) else exponentials)(x, y, higher)
            sums.append(a * x[i] + b * y[i])
        return (higher, *sums)

    return merge


def exponentials(x, y, higher):
    return (x[0] - higher).exp(), (y[0] - higher).exp()


merge = merged(exponentials)


def in_sums(factors):
    """Return merges with other factors in both sums, or in one, from those that are right."""

    def changed(x, y, higher):
        return factors(*exponentials(x, y, higher))

    return tuple(merged(changed, *only) for only in SUMS)


def kept(select):
    """Return merges that keep another score, with the right sums, and with sums relative to it."""

    def relative(x, y):
        chosen = select(x[0], y[0])
        a, b = exponentials(x, y, chosen)
        return [chosen, a * x[1] + b * y[1], a * x[2] + b * y[2]]

    return lambda x, y: [select(x[0], y[0]), *merge(x, y)[1:]], relative


def with_accumulator(accumulator):
    return lambda x, y: [*merge(x, y)[:2], accumulator(x, y)]


def quotients(x, y):
    higher, normalizer, _ = merge(x, y)
    (a, b), means = exponentials(x, y, higher), (x[2] / x[1], y[2] / y[1])
    return [higher, normalizer, a * x[1] * means[0] + b * y[1] * means[1]]


def bare(x, y):
    higher = torch.maximum(x[0], y[0])
    return [higher, *((x[0].exp() * x[i] + y[0].exp() * y[i]) * (-higher).exp() for i in (1, 2))]


def in_place(x, y):
    higher = torch.maximum(x[0], y[0])
    for highest, normalizer, accumulator in (x, y):
        factor = highest.sub_(higher).exp_()
        normalizer.mul_(factor), accumulator.mul_(factor)
    return [higher, x[1].add_(y[1]), x[2].add_(y[2])]


SUMS = (), (1,), (2,)  # in which factors are changed: both, or one
SECTION = "cost.html#online-softmax-flashattention"
QUESTIONS = [
    Question("it returns highest, normalizer and accumulator", SECTION, 1, form, PLAIN),
    Question("the higher score is kept", SECTION, 1, first, PLAIN),
    Question("the normalizers are added to one scale", SECTION, 1, second, PLAIN),
    Question("the accumulators are added to one scale", SECTION, 2, lambda x, *case: x[2], PLAIN),
    Question("large scores are handled", SECTION, 1, sums, large_cases),
    Question("a part without keys changes nothing", SECTION, 1, sums, empty_cases),
]
WRONG = {
    "Both parts were added as they are: the one with the lower scores must shrink.": (
        in_sums(lambda a, b: (1, 1))
    ),
    "Only the left part shrinks; the right one may have the lower scores, too.": (
        in_sums(lambda a, b: (a, 1))
    ),
    "Only the right part shrinks; the left one may have the lower scores, too.": (
        in_sums(lambda a, b: (1, b))
    ),
    "The exponents have the wrong sign: the parts grow instead of shrinking.": (
        in_sums(lambda a, b: (1 / a, 1 / b))
    ),
    "The factors are exchanged: each part shrinks by the other's.": in_sums(lambda a, b: (b, a)),
    "The parts shrink in proportion to their scores, not by an exponential.": (
        tuple(merged(lambda x, y, higher: (x[0] / higher, y[0] / higher), *only) for only in SUMS)
    ),
    "The scores are not added; the higher one is kept.": kept(torch.add),
    "This is the lower one.": kept(torch.minimum),
    "One number was taken for all queries; each has its own.": (
        kept(lambda m, n: torch.maximum(m, n).max().expand_as(m))
    ),
    "This is always the left part's.": kept(lambda m, n: m),
    "This is always the right part's.": kept(lambda m, n: n),
    "The accumulator is a sum; it is divided by the normalizer at the very end.": (
        with_accumulator(lambda x, y: merge(x, y)[2] / merge(x, y)[1])
    ),
    "These are the means of the two parts, added.": (
        with_accumulator(lambda x, y: x[2] / x[1] + y[2] / y[1])
    ),
    "This is the mean of two means: each part counts as much as its normalizer.": (
        with_accumulator(lambda x, y: (x[2] / x[1] + y[2] / y[1]) / 2)
    ),
    "An exponential was taken of a bare score.": (
        merged(lambda x, y, higher: (x[0].exp() / higher.exp(), y[0].exp() / higher.exp())),
        bare,
    ),
    "A part without keys has the normalizer 0, by which nothing can be divided.": quotients,
}
EXERCISE = Exercise(
    "def merge(left, right):\n    highest, normalizer, accumulator = left\n    ...",
    QUESTIONS,
    right=merge,
    wrong=WRONG,
    unusual={"in place": in_place},
    returns=("highest", "normalizer", "accumulator"),
)
check = EXERCISE.check
