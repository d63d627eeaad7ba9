"""Reading attention maps with care: attention knockout, and the contribution of a cell."""

import torch

from selfattn_book.exercises.checking.by_hand import by_hand
from selfattn_book.exercises.checking.exercise import Question, checked, factory, for_credit, form
from selfattn_book.exercises.checking.views import input_after
from selfattn_book.exercises.reading_maps import case

HERE = "reading-maps.html#exercises"
COPIES = "reading-maps.html#induction-heads"
KNOCKOUT = "reading-maps.html#attention-knockout"


def drawn():
    return [case(3, 2, 11, 4), case(2, 3, 7, 3), case(1, 1, 13, 5)]


def all_on_one(steps):
    """Return maps of which one row has all of its weight in a cell that is to go."""
    weights = torch.eye(8, dtype=torch.float64).repeat(1, 2, 1, 1)
    weights[0, 1, -1] = torch.eye(8)[steps]
    tokens = torch.arange(8)[None].clone()
    tokens[0, -1] = 0  # a copy of the first
    return weights, tokens


@factory
def behind(steps, tokens, *, rolled=False):
    """Return the function for the cells so many steps behind a copy, (B, T, T)."""
    found = tokens[:, :, None] == tokens[:, None].roll(steps, dims=-1)
    found[:, :, :steps] &= rolled
    return found.tril()


@factory
def latest(cells, tokens):
    """Return the function for the last of the cells of each row."""
    found = cells(tokens)
    return found & (found.flip(-1).cumsum(-1).flip(-1) == 1)


@factory
def without(cells, weights, tokens, *, normalize=True, guard=True):
    left = weights.masked_fill(cells(tokens)[:, None], 0)
    total = left.sum(-1, keepdim=True)
    left = left / total if normalize else left
    return left.where(total > 0, weights) if guard else left


def on_paper(numbers):
    shown, values = numbers["parts"], numbers["values"]
    keys, width = numbers["keys"], numbers["width"]
    total, bright = sum(shown), shown.index(max(shown))
    products = [p * v for p, v in zip(shown, values, strict=True)]
    adds = [product / total for product in products]
    rest = sum(products) - products[bright]
    right = {
        "contributions": adds,
        "bright": bright,
        "most": adds.index(max(adds)),
        "hidden": rest / (total - shown[bright]),
        "directions": keys - width - 1,
    }
    wrong = {
        "These are the weights; a key adds its value times its weight.": {
            "contributions": [part / total for part in shown]
        },
        "The parts have not been divided by their sum.": {"contributions": products},
        "Places are counted from 0.": {"bright": bright + 1, "most": adds.index(max(adds)) + 1},
        "This is the largest value, not the brightest cell.": {"bright": values.index(max(values))},
        "The brightest cell need not contribute most.": {"most": bright},
        "The masked key is still in the denominator.": {"hidden": rest / total},
        "This is the context with nothing masked.": {"hidden": sum(products) / total},
        "The sum of the row is an equation, too.": {"directions": keys - width},
        "Each equation takes one away; this adds.": {"directions": keys + width + 1},
        "These are the equations.": {"directions": width + 1},
    }
    return by_hand("read_a_row", HERE, right, wrong, points={"contributions": 2})


def exercises(numbers):
    steps = numbers["steps"]
    cells, right = behind(steps), without(behind(steps))

    wrong = {
        "The rows were not normalized again.": without(cells, normalize=False),
        "The copies themselves were taken out.": without(lambda x: behind(0)(x).tril(-1)),
        "The last tokens were rolled to the first keys.": without(behind(steps, rolled=True)),
        "Only the latest copy was used.": without(latest(cells)),
        "Rows and columns are exchanged: a row belongs to a query.": without(lambda t: cells(t).mT),
        "These are the cells that were to go; the others were to stay.": (
            without(lambda tokens: ~cells(tokens))
        ),
        "Nothing was taken out.": lambda weights, tokens: weights,
        **{
            f"The cells are {other} steps after the copy, not {steps}.": without(behind(other))
            for other in {1, 2, 3, 4} - {steps}
        },
        "A row that loses all of its weight was divided by 0.": without(cells, guard=False),
        "The maps that were given are changed; take a copy first.": lambda w, t: w.copy_(
            right(w, t)
        ),
    }
    questions = [
        Question("they are maps, as many as before", KNOCKOUT, view=form, cases=drawn),
        checked("the cells are 0, and the rest of each row is normalized", COPIES, 4, *drawn()),
        Question(
            "a row that would lose all its weight is unchanged",
            KNOCKOUT,
            view=lambda maps, *case: maps[0, 1, -1],
            cases=[all_on_one(steps)],
        ),
        Question("the input is not changed", KNOCKOUT, via=input_after, cases=drawn),
    ]
    exercise = for_credit(
        "def take_out(weights, tokens): ...",
        questions,
        right=right,
        wrong=wrong,
        gate=1,
        returns="the maps",
    )
    return [exercise, on_paper(numbers)]
