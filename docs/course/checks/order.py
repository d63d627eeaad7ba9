"""Order and permutation: a test of the law."""

from functools import partial

import torch

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.exercises.checking.exercise import Exercise, checked, factory
from selfattn_book.masks import causal_mask
from selfattn_book.positions import sinusoidal_encoding

X = torch.randn(7, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def attend(x, mask=None):
    return scaled_dot_product_attention(x, x, x, mask)[0]


def middle(x):
    """Use the distance from the middle; mirroring shows nothing."""
    place = torch.arange(len(x)) - (len(x) - 1) / 2
    return x.tanh() * (1 + place**2)[:, None]


def special(x, place):
    factor = torch.ones(len(x), 1, dtype=x.dtype)
    factor[place] = 1.5
    return factor * x.tanh()


def halves(x):
    half = torch.arange(len(x)) < len(x) // 2
    return attend(x, half[:, None] == half)


MODELS = {
    "attention": attend,
    "a network for each word": lambda x: x.tanh() + x**2,
    "attention in 32 bits": lambda x: attend(x.float()).double(),
    "large numbers in 32 bits": lambda x: x + 1e-7 * torch.arange(len(x))[:, None],
    "a model that forgets its input": lambda x: torch.ones_like(x),
    "positions": lambda x: attend(x + sinusoidal_encoding(len(x), 4, dtype=x.dtype)),
    "a causal mask": lambda x: attend(x, causal_mask(len(x))).tanh(),
    # In a ring rotating shows nothing, nor does mirroring if both neighbors are added.
    "a ring": lambda x: (x + x.roll(1, 0) + x.roll(-1, 0)).relu(),
    "a ring, one way": lambda x: (x - x.roll(1, 0)).relu(),
    "far from the middle": middle,
    "halves": halves,
    **{f"place {k}": lambda x, k=k: special(x, k) for k in (0, 2, 6)},
}


def pooled(model):
    return lambda x: (model(x) ** 2 + model(x)).mean(0)


def models(law, *names):
    """Return models that are judged, each with a sentence; the invariant ones read a mean."""
    judged = []
    for name in ("attention", *names):
        model = partial(MODELS[name]) if law == "equivariant" else pooled(MODELS[name])
        model.message = f"the model {name!r}"
        judged.append((model, X))
    return judged


@factory
def trying(law, orders, model, x, *, close=1e-4):
    """Return a test that tries these orders."""
    before = model(x)
    for order in orders:
        wanted = before[order[order < len(before)]] if law == "equivariant" else before
        if not torch.allclose(model(x[order]), wanted, 0, close):
            return False
    return True


@factory
def by_matrices(law, model, x):
    worst = torch.zeros(())
    for _ in range(30):
        matrix = torch.eye(len(x), dtype=x.dtype)[torch.randperm(len(x))]
        wanted = matrix @ model(x) if law == "equivariant" else model(x)
        worst = torch.maximum(worst, (model(matrix @ x) - wanted).abs().max())
    return worst < 1e-3


def exercises(numbers):
    law = numbers["law"]
    chance = torch.Generator().manual_seed(3)
    many = [torch.randperm(7, generator=chance) for _ in range(15)]

    equivariance = "order.html#equivariance-the-theorem-and-its-proof"
    testing = "order.html#testing-equivariance"
    breaking = "order.html#breaking-the-symmetry-with-positions"
    blind = "order-deeper.html#which-bugs-the-test-finds"

    def judged(message, section, points, *names):
        return checked(message, section, points, *models(law, *names))

    keeping = "a network for each word", "a model that forgets its input", "positions"
    rounding = "attention in 32 bits", "large numbers in 32 bits", "positions"
    local = "a ring", "a ring, one way", "far from the middle", "halves"
    questions = [
        judged("models that keep the law pass", equivariance, 2, *keeping),
        judged("rounding is no violation", testing, 1, *rounding),
        judged("positions and masks are found", breaking, 2, "positions", "a causal mask"),
        judged("one special position is found", blind, 1, "place 0", "place 2", "place 6"),
        judged("neighbors and halves are found", blind, 2, *local),
    ]
    places, swap = torch.arange(7), torch.tensor([1, 0, 2, 3, 4, 5, 6])
    other_law = "invariant" if law == "equivariant" else "equivariant"
    wrong = {
        "Every model passed: try the law on orders other than the given one.": (
            lambda model, x: True
        ),
        "No model passed.": lambda model, x: False,
        "Rounding was taken for a violation of the law.": trying(law, many, close=1e-9),
        "This is the other law, or the outputs were permuted the other way.": (
            trying(other_law, many)
        ),
        "True and False are exchanged.": lambda model, x: not trying(law, many)(model, x),
        "A mirror image is one permutation of many.": trying(law, [places.flip(0)]),
        "One pair of words is one permutation of many.": trying(law, [swap]),
        "Rotating the sentence leaves neighbors together.": trying(
            law, [places.roll(k) for k in range(7)]
        ),
    }
    exercise = Exercise(
        "def keeps_the_law(model, x): ...",
        questions,
        right=trying(law, many),
        wrong=wrong,
        unusual={"permutation matrices": by_matrices(law)},
        gate=2,
        returns="the verdict",
    )
    return [exercise]
