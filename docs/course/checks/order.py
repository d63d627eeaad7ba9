"""Order and permutation: a test of the law."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.course.asking import Function, agrees
from selfattn_book.course.exercise import Asked, Exercise
from selfattn_book.masks import causal_mask
from selfattn_book.positions import sinusoidal_encoding

Model = Callable[[Tensor], Tensor]
X = torch.randn(
    7, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64
)


def attend(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the contexts of attention without projections."""
    return scaled_dot_product_attention(x, x, x, mask)[0]


def ring(x: Tensor) -> Tensor:
    """Look at both neighbours in a ring; turning and mirroring show nothing."""
    return (x + x.roll(1, 0) + x.roll(-1, 0)).relu()


def one_way(x: Tensor) -> Tensor:
    """Look at one neighbour in a ring; turning shows nothing."""
    return (x - x.roll(1, 0)).relu()


def middle(x: Tensor) -> Tensor:
    """Look at how far the middle is; mirroring shows nothing."""
    place = torch.arange(len(x)) - (len(x) - 1) / 2
    return x.tanh() * (1 + place**2)[:, None]


def special(x: Tensor, place: int) -> Tensor:
    """Treat one place in a special way."""
    factor = torch.ones(len(x), 1, dtype=x.dtype)
    factor[place] = 1.5
    return factor * x.tanh()


def halves(x: Tensor) -> Tensor:
    """Let each half of a sentence see itself alone."""
    half = torch.arange(len(x)) < len(x) // 2
    return attend(x, half[:, None] == half)


MODELS: dict[str, Model] = {
    "attention": attend,
    "a network for each word": lambda x: x.tanh() + x**2,
    "attention in 32 bits": lambda x: attend(x.float()).double(),
    "large numbers in 32 bits": lambda x: x + 1e-7 * torch.arange(len(x))[:, None],
    "a model that forgets its input": lambda x: torch.ones_like(x),
    "positions": lambda x: attend(
        x + sinusoidal_encoding(len(x), 4, dtype=x.dtype)
    ),
    "a table without words": lambda x: (
        sinusoidal_encoding(len(x), 4, dtype=x.dtype) + 0 * x
    ),
    "a causal mask": lambda x: attend(x, causal_mask(len(x))).tanh(),
    "a ring": ring,
    "a ring, one way": one_way,
    "far from the middle": middle,
    "halves": halves,
    **{f"place {k}": lambda x, k=k: special(x, k) for k in (0, 2, 6)},
}


class Told:
    """A model that can be named."""

    def __init__(self, told: str, model: Model):
        self.told, self.model = f"the model {told!r}", model

    def __call__(self, x: Tensor) -> Tensor:
        """Return what the model does."""
        return self.model(x)


def models(law: str, *names: str) -> list[tuple[Told, Tensor]]:
    """Return models that are judged, each with a sentence; the invariant ones read a mean."""

    def pooled(model: Model) -> Model:
        return lambda x: (model(x) ** 2 + model(x)).mean(0)

    kept = [(name, MODELS[name]) for name in ("attention", *names)]
    return [
        (Told(name, model if law == "equivariant" else pooled(model)), X)
        for name, model in kept
    ]


def trying(law: str, orders: list[Tensor], close: float = 1e-4) -> Function:
    """Return a test that tries these orders."""

    def keeps(model: Model, x: Tensor) -> bool:
        before = model(x)
        return all(
            torch.allclose(
                model(x[order]),
                before[order] if law == "equivariant" else before,
                0,
                close,
            )
            for order in orders
        )

    return keeps


def mistakes(law: str, many: list[Tensor]) -> list[tuple[str, Function]]:
    """Return misconceptions, each with the test that follows from it."""
    places = torch.arange(7)
    swap = places.clone()
    swap[:2] = torch.tensor([1, 0])
    mirror, turned = places.flip(0), [places.roll(k) for k in range(7)]

    def inverse(model: Model, x: Tensor) -> bool:
        before = model(x)
        return all(
            torch.allclose(model(x[o]), before[o.argsort()], 0, 1e-4) for o in many
        )

    def other_law(model: Model, x: Tensor) -> bool:
        before = model(x)
        if law == "equivariant":
            return all(torch.allclose(model(x[o]), before, 0, 1e-4) for o in many)
        return all(
            torch.allclose(model(x[o]), before[o % len(before)], 0, 1e-4)
            for o in many
        )

    return [
        ("Every model was believed.", lambda model, x: True),
        ("No model was believed.", lambda model, x: False),
        ("Rounding was taken for a breach of the law.", trying(law, many, 0)),
        ("Rounding was taken for a breach of the law.", trying(law, many, 1e-9)),
        ("This is the other law.", other_law),
        ("The outputs were moved the other way.", inverse),
        (
            "The answer is turned round.",
            lambda model, x: not trying(law, many)(model, x),
        ),
        ("A mirror image is one shuffle of many.", trying(law, [mirror])),
        ("One pair of words is one shuffle of many.", trying(law, [swap])),
        (
            "Turning the sentence round does not tear neighbours apart.",
            trying(law, turned),
        ),
        ("The law was tried on the order as it is.", trying(law, [places])),
    ]


def asks(law: str) -> list[Asked]:
    """Return what is asked of a test."""
    chance = torch.Generator().manual_seed(3)
    many = [torch.randperm(7, generator=chance) for _ in range(15)]
    right, wrong = trying(law, many), mistakes(law, many)
    test, theorem = (
        "order.html#a-law-is-a-test",
        "order.html#the-theorem-and-its-proof",
    )
    ways, blind = (
        "order.html#two-ways-to-let-the-order-in",
        "order.html#which-bugs-does-a-shuffle-find",
    )
    asked = [
        (
            "it believes models that keep the law",
            (
                "a network for each word",
                "a model that forgets its input",
                "positions",
            ),
            theorem,
            2,
        ),
        (
            "rounding is no breach",
            ("attention in 32 bits", "large numbers in 32 bits", "positions"),
            test,
            1,
        ),
        ("it notices positions and masks", ("positions", "a causal mask"), ways, 2),
        (
            "it notices one special place",
            ("place 0", "place 2", "place 6"),
            blind,
            1,
        ),
        (
            "it notices neighbours and halves",
            ("a ring", "a ring, one way", "far from the middle", "halves"),
            blind,
            2,
        ),
    ]
    return [
        Asked(told, agrees(right, models(law, *names), *wrong), section, points)
        for told, names, section, points in asked
    ]


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    stub = "def keeps_the_law(model, x): ..."
    return [Exercise("keeps_the_law", stub, asks(numbers["law"]))]
