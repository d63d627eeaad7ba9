"""Why divide: attention with a temperature."""

from torch import nn

from selfattn_book.course.exercise import Asked, Exercise, checker
from selfattn_book.course.numbers import asked, compared, numbers
from selfattn_book.course.scores import factor_of, follows, is_divided, of_scores
from selfattn_book.course.shares import are_shares, of_shares, with_logarithms
from selfattn_book.course.temperature import (
    ADDED,
    VALUE,
    WIDTH,
    Attend,
    S,
    chooses_when_cold,
    contexts_of,
    halves_at_two,
    is_even_when_hot,
    products,
    question,
    survives_16_bits,
    weights_of,
)
from selfattn_book.reasons.answer import YES, Answer, RefusedError, all_of

NARROW = 3  # another width than WIDTH
EXCHANGED = "Query and key are exchanged: a row belongs to a query."


def gives_contexts(attend: Attend) -> Answer:
    """Ask for a context per query, where there are fewer queries than keys."""
    query, key, value = question()
    inputs = query[:3], key, value[:, :2]

    def is_of_width(width: int) -> bool:
        got = asked(attend, *inputs, 1)
        return numbers(got, "the contexts", (3, width)).size(1) == width

    try:
        contexts_of(attend, *inputs)
    except RefusedError as refused:
        no = refused.answer.because(
            (EXCHANGED, lambda: is_exchanged(attend)),
            (
                "Weights came, and not averages of the values.",
                lambda: is_of_width(S),
            ),
            ("Keys are averaged, and not the values.", lambda: is_of_width(WIDTH)),
        )
        raise RefusedError(no) from refused
    return YES


def averages(attend: Attend) -> Answer:
    """Ask that contexts are averages of the values."""
    query, key, value = question()
    weights = weights_of(attend)
    no = are_shares(weights).because(*of_shares(weights, products()))
    if not no:
        return no
    contexts = contexts_of(attend, query, key, value)
    wanted = weights.to(value) @ value
    told = "is {got}, where its weights give {wanted}"
    return compared(contexts, wanted, "the context", ("query", "entry"), told=told)


def compares_queries_with_keys(attend: Attend) -> Answer:
    """Ask that the weights follow the products of queries and keys."""
    query, key, _ = question()
    weights = with_logarithms(weights_of(attend), products())
    unit = nn.functional.normalize
    wrong = {
        EXCHANGED: products().T,
        "Queries are compared with queries.": query @ query.T,
        "Keys are compared with keys.": key @ key.T,
        "The scores are cosines: queries and keys lost their lengths.": (
            unit(query) @ unit(key).T
        ),
    }
    return follows(factor_of(weights, products())).because(
        *of_scores(weights, wrong)
    )


def divides(attend: Attend) -> Answer:
    """Ask that temperature 1 is the usual divisor at two widths, whatever was compared."""
    return all_of(_divides(attend, width) for width in (WIDTH, NARROW))


def _divides(attend: Attend, width: int) -> Answer:
    factor = factor_at(attend, width)
    others = {
        "The root is that of the number of keys, not of the width.": S**-0.5,
        "The root is that of the width of a value, not of a key.": VALUE**-0.5,
        f"It is divided by √{WIDTH} at every width.": WIDTH**-0.5,
        ADDED: 1 / (1 + width**0.5),
    }
    return is_divided(factor, width, others) if follows(factor) else follows(factor)


def factor_at(attend: Attend, width: int) -> float:
    """Return by how much the products were multiplied, also if a row is that of a key."""
    scores = products(width)
    weights = with_logarithms(weights_of(attend, width=width), scores)
    factor = factor_of(weights, scores)
    return factor if follows(factor) else factor_of(weights, scores.T)


def is_exchanged(attend: Attend) -> bool:
    """Tell whether the weights are those of keys that ask."""
    return bool(follows(factor_of(weights_of(attend), products().T)))


BEGINNING = "why-divide.html#what-a-softmax-does-with-large-scores"
CODE = "why-divide.html#the-divisor-in-the-code"
ROOT = "why-divide.html#the-variance-of-a-score"
STUB = "def attend(query, key, value, temperature):\n    ..."
QUESTIONS = [
    Asked("it gives a context for each query", gives_contexts, CODE),
    Asked("the contexts are averages of the values", averages, BEGINNING),
    Asked("queries are compared with keys", compares_queries_with_keys, CODE),
    Asked("a temperature of 1 is the usual attention", divides, ROOT),
    Asked("a temperature of 2 halves the scores", halves_at_two, BEGINNING),
    Asked("what is very hot is even", is_even_when_hot, BEGINNING),
    Asked("what is very cold is a choice", chooses_when_cold, BEGINNING),
    Asked("it survives 16 bits", survives_16_bits, CODE),
]
EXERCISES = [Exercise("attend", STUB, QUESTIONS)]
check = checker(EXERCISES)
