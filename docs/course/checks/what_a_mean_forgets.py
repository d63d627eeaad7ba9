"""Bags of words: the price of one look, and copies that contradict each other."""

import math

import torch

from selfattn_book.exercises.checking.by_hand import by_hand
from selfattn_book.exercises.checking.exercise import checked, factory, for_credit

LOGIT = "what-a-mean-forgets.html#one-logit-two-labels"


def grouped(look, tokens, labels):
    """Return the labels of each group of sentences that look alike."""
    groups = {}
    for sentence, label in zip(tokens.tolist(), labels.tolist(), strict=True):
        groups.setdefault(look(sentence), []).append(label)
    return list(groups.values())


def entropy(group):
    shares = [sum(group) / len(group), 1 - sum(group) / len(group)]
    return -sum(share * math.log(share) for share in shares if share > 0)


def case(*rows):
    return torch.tensor([words for words, _ in rows]), torch.tensor([y for _, y in rows])


def swapped(words, place):
    """Return the same words, other than at their place only where the model does not look."""
    i, j = (other for other in range(3) if other != place)
    words = list(words)
    words[i], words[j] = words[j], words[i]
    return words


def many(seed):
    chance = torch.Generator().manual_seed(seed)
    tokens = torch.randint(3, (60, 4), generator=chance)
    return tokens, (torch.rand(60, generator=chance) < 0.3).long()


def view_of(place):
    """Return a model's view of a sentence: its bag of words, and the word at a position."""
    return lambda words: (tuple(sorted(words)), words[place])


@factory
def priced(look, tokens, labels, *, price=entropy, by_group=False):
    """Return the mean price of sentences, or of groups of those that look alike."""
    groups = grouped(look, tokens, labels)
    total = sum(price(group) * (1 if by_group else len(group)) for group in groups)
    return total / (len(groups) if by_group else len(tokens))


@factory
def by_cross_entropy(place, tokens, labels):
    seen = torch.cat([tokens.sort(dim=1).values, tokens[:, place, None]], dim=1)
    alike = (seen[:, None] == seen).all(-1).double()
    best = (alike @ labels.double()) / alike.sum(1)
    return torch.nn.functional.binary_cross_entropy(best, labels.double())


def least_loss(place):
    base = [0, 1, 2]
    twin = swapped(base, place)
    told_apart = case((base, 1), ([1, 2, 0], 0), ([3, 4, 0], 1))
    even = [case((base, 1), (twin, 0), ([3, 3, 3], 1)), case((base, 0), (base, 1))]
    uneven = [
        case((base, 1), (twin, 1), (base, 1), (twin, 0), ([4, 4, 3], 0)),
        case((base, 0), (twin, 1), (twin, 0), ([4, 4, 3], 0), ([4, 4, 3], 1)),
    ]
    look = view_of(place)
    right = priced(look)
    wrong = {
        "These are bits; the loss is in natural logarithms.": lambda *c: right(*c) / math.log(2),
        "It is the sum, not the mean over the sentences.": lambda t, y: right(t, y) * len(t),
        "ln 2 is the price of an even contradiction only.": (
            priced(look, price=lambda group: math.log(2) * (0 < sum(group) < len(group)))
        ),
        "The mean is over groups, not over sentences.": priced(look, by_group=True),
        "This is the error rate, not a loss.": (
            priced(look, price=lambda group: min(sum(group), len(group) - sum(group)) / len(group))
        ),
        "The bag was taken alone.": priced(lambda w: tuple(sorted(w))),
        "The word at the position was taken alone.": priced(lambda w: w[place]),
        "A bag counts its words.": priced(lambda w: (frozenset(w), w[place])),
        "The whole sentence was used.": priced(tuple),
        "The word at the position before was used.": priced(view_of(place - 1)),
        "The word two positions before was used.": priced(view_of(place - 2)),
    }
    questions = [
        checked("sentences that differ cost nothing", LOGIT, 1, told_apart),
        checked("an even contradiction has its price", LOGIT, 2, *even),
        checked("so has an uneven one", LOGIT, 2, *uneven),
        checked("a bag counts its words", LOGIT, 1, case(*_counts(place))),
        checked("it holds for many sentences with copies", LOGIT, 2, many(1), many(2)),
    ]
    return for_credit(
        "def least_loss(tokens, labels): ...",
        questions,
        right=priced(view_of(place)),
        wrong=wrong,
        unusual={"PyTorch's loss": by_cross_entropy(place)},
        gate=1,
        returns="the loss",
    )


def _counts(place):
    first, second = [1, 2, 2], [2, 1, 1]
    first[0], first[place] = first[place], first[0]
    second[1], second[place] = second[place], second[1]
    return [(first, 1), (second, 0)]


def on_paper(numbers):
    a, b, c = numbers["ones"], numbers["zeros"], numbers["others"]
    loss, logit = entropy([1] * a + [0] * b), math.log(a / b)
    floor = loss * (a + b) / (a + b + c)
    right = {"logit": logit, "margins": [logit, -logit], "loss": loss, "floor": floor, "errors": b}
    wrong = {
        "This is the probability; the logit is another number.": {"logit": a / (a + b)},
        "The logarithm of the ratio is missing.": {"logit": a / b},
        "Its sign is that of label 0.": {"logit": -logit},
        "A logit of 0 is a probability of one half.": {"logit": 0},
        "A margin turns its sign where the label is 0.": {"margins": [logit, logit]},
        "These are probabilities.": {"margins": [a / (a + b), b / (a + b)]},
        "ln 2 is the price of an even contradiction only.": {"loss": math.log(2)},
        "These are bits.": {"loss": loss / math.log(2)},
        "It is the sum, not the mean.": {"loss": loss * (a + b), "floor": loss * (a + b)},
        "The other sentences cost nothing, but they count.": {"floor": loss},
        "Each copy counts, not the sentence once.": {"floor": loss / (1 + c)},
        "All copies get one answer, and some have the other label.": {"errors": 0},
        "The other answer makes fewer errors.": {"errors": a},
    }
    return by_hand("copies", LOGIT, right, wrong)


def exercises(numbers):
    return [least_loss(numbers["position"]), on_paper(numbers)]
