"""Many heads: what each head adds."""

from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from selfattn_book.course.exercise import Asked, Exercise, checker
from selfattn_book.course.numbers import (
    asked,
    compared,
    drawn,
    likely,
    near,
    numbers,
    tensor_of,
)
from selfattn_book.experiments.chance import set_seed
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.reasons.answer import YES, Answer, Likely, RefusedError, all_of
from selfattn_book.reasons.of_attention import SCRAMBLED

# Of batch, length, width, heads, and one head.
SIZES = (2, 5, 10, 3, 7), (3, 4, 6, 2, 5)
NO_BIAS = "The values have a bias, b^V, which is left out."
STORED = "PyTorch stores W^O transposed: a head has columns of the stored matrix."
NO_WEIGHTS = "The weights are left out: each word adds what it holds itself."
TRANSPOSED = "The weights are transposed: a row belongs to a query."
Contributions = Callable[[MultiHeadAttention, Tensor], Any]
Ask = Callable[[Tensor, MultiHeadAttention, Tensor], Answer]


def of_parts(ask: Ask) -> Callable[[Contributions], Answer]:
    """Ask the parts that an answer makes of one attention."""

    def of_problem(
        contributions: Contributions, attention: MultiHeadAttention, x: Tensor
    ) -> Answer:
        return ask(parts_of(contributions, attention, x), attention, x)

    @wraps(ask)
    def of_answer(contributions: Contributions) -> Answer:
        return all_of(of_problem(contributions, *a_problem(*s)) for s in SIZES)

    return of_answer


def a_problem(
    batch: int, length: int, width: int, heads: int, d_head: int
) -> tuple[MultiHeadAttention, Tensor]:
    """Draw an attention, and sentences for it."""
    set_seed(8)
    attention = MultiHeadAttention(width, heads, d_head=d_head)
    return attention, drawn(batch, length, width, seed=8)


def parts_of(
    contributions: Contributions, attention: MultiHeadAttention, x: Tensor
) -> Tensor:
    """Return the parts that an answer makes, a head after the other."""
    came = asked(contributions, deepcopy(attention), x)
    batch, length, width = x.shape
    try:
        return numbers(
            came, "the parts", (batch, attention.num_heads, length, width)
        )
    except RefusedError as refused:
        right = right_parts(attention, x)
        no = refused.answer.because(*of_shapes(came, right, attention.d_head))
        raise RefusedError(no) from refused


def of_shapes(came: object, right: Tensor, d_head: int) -> list[Likely]:
    """Return what can be behind parts of another shape."""
    batch, heads, length, width = right.shape

    def got() -> Tensor:
        return tensor_of(came, "the parts")

    def is_turned() -> bool:
        orders = permutations(range(4))
        return any(near(got().permute(order), right) for order in orders)

    return [
        ("The axes are in another order.", is_turned),
        (
            "The heads are added up already.",
            lambda: got().shape == (batch, length, width),
        ),
        (
            "These are the heads before the output layer: each has still to meet its rows of W^O.",
            lambda: got().shape == (batch, heads, length, d_head),
        ),
    ]


@of_parts
def there_is_one_for_each_head(
    parts: Tensor, attention: MultiHeadAttention, x: Tensor
) -> Answer:
    """Ask for the right shape, which the parts have if they can be asked."""
    return YES


@of_parts
def they_add_up(parts: Tensor, attention: MultiHeadAttention, x: Tensor) -> Answer:
    """Ask that the parts and the bias of the output layer are the output."""
    whole = attention(x, x, x)[0].detach()
    left = whole - attention.project_output.bias.detach()
    wrong = {said: p.sum(1) for said, p in wrong_parts(attention, x).items()}
    told = "is {gap} off the output without b^O"
    no = compared(
        parts.sum(1), left, "the sum of all parts", ("sample", "word"), told=told
    )
    return no.because(*likely(parts.sum(1), wrong))


def silent_heads_add_nothing(contributions: Contributions) -> Answer:
    """Ask about an attention whose second head meets nothing but zeros."""
    attention, x = a_problem(*SIZES[0])
    columns_of(attention)[:, 1] = 0
    parts = parts_of(contributions, attention, x)
    sizes = parts.abs().amax((0, 2, 3))
    if sizes[1] == 0 and sizes[0] > 0 and sizes[2] > 0:
        return YES
    sized = ", ".join(f"{size:.3g}" for size in sizes.tolist())
    told = f"where the rows of W^O of head 1 are 0, the largest entries of the parts are {sized}"
    elsewhere = "Each part stands at another head's place, or meets another head's rows of W^O."
    return Answer("mathematics", f"{told}.").because(
        (elsewhere, lambda: int((sizes == 0).sum()) == 1),
        *likely(parts, wrong_parts(attention, x)),
        *likely(parts, shared_parts(attention, x)),
    )


@of_parts
def each_is_its_own(
    parts: Tensor, attention: MultiHeadAttention, x: Tensor
) -> Answer:
    """Ask for each part by itself: the output without its bias, while the other heads are silent."""
    right = right_parts(attention, x)
    axes = ("sample", "head", "word")
    no = compared(parts, right, "the part", axes, told="is {gap} off")

    def is_turned() -> bool:
        orders = permutations(range(attention.num_heads))
        return any(near(parts[:, order], right) for order in orders)

    return no.because(
        ("The parts stand at other heads' places.", is_turned),
        *likely(parts, shared_parts(attention, x)),
        *likely(parts, wrong_parts(attention, x)),
    )


def right_parts(attention: MultiHeadAttention, x: Tensor) -> Tensor:
    """Return what each head adds while the others are silent."""
    parts = []
    for head in range(attention.num_heads):
        alone = deepcopy(attention)
        columns_of(alone)[:, torch.arange(attention.num_heads) != head] = 0
        parts.append(alone(x, x, x)[0] - alone.project_output.bias)
    return torch.stack(parts, dim=1).detach()


def columns_of(attention: MultiHeadAttention) -> Tensor:
    """Return the stored output weights by heads, ``(D, H, d)``, to be changed in place."""
    heads = attention.num_heads, attention.d_head
    return attention.project_output.weight.data.unflatten(1, heads)


SHARED_OUT = "b^O is shared out among the heads, and belongs to none."
NEIGHBOURS = "Neighbouring columns of the values went to different heads."
OF_A_MEAN = "All words count alike: the weights are those of a mean."


@torch.no_grad()
def wrong_parts(attention: MultiHeadAttention, x: Tensor) -> dict[str, Tensor]:
    """Return the parts that come of likely mistakes."""
    _, weights = attention(x, x, x)
    assert weights is not None
    wide, stored = attention.project_value(x), attention.project_output.weight
    heads, d_head = attention.num_heads, attention.d_head
    value = wide.unflatten(-1, (heads, d_head)).transpose(1, 2)
    blocks = stored.T.unflatten(0, (heads, d_head))
    right, b = weights @ value @ blocks, attention.project_output.bias
    plain = value - attention.project_value.bias.view(heads, 1, d_head)
    turned = stored.reshape(blocks.shape)
    mean = weights.mean(1, keepdim=True)
    strided = wide.unflatten(-1, (d_head, heads)).permute(0, 3, 1, 2)
    return {
        NO_BIAS: weights @ plain @ blocks,
        "b^O is added to each part, and belongs to no head.": right + b,
        SHARED_OUT: right + b / heads,
        SCRAMBLED: weights @ wide.view(value.shape) @ blocks,
        NEIGHBOURS: weights @ strided @ blocks,
        OF_A_MEAN: (value.mean(2, keepdim=True).expand_as(value) @ blocks),
        STORED: weights @ value @ turned,
        NO_WEIGHTS: value @ blocks,
        "All heads use the mean of the weights.": mean @ value @ blocks,
        TRANSPOSED: weights.mT @ value @ blocks,
    }


def shared_parts(attention: MultiHeadAttention, x: Tensor) -> dict[str, Tensor]:
    """Return parts that add up, and are none of the heads'."""
    right = right_parts(attention, x)
    even = right.mean(1, keepdim=True).expand_as(right)
    return {
        "The output is shared out evenly, whatever a head adds.": even,
        "Each part holds those of the heads before it, too.": right.cumsum(1),
    }


EXERCISES = [
    Exercise(
        "contributions",
        "def contributions(attention, x):\n    ...",
        [
            Asked(
                "there is one part for each head and word",
                there_is_one_for_each_head,
                "many-heads.html#what-a-head-contributes",
            ),
            Asked(
                "with b^O, the parts add up to the output",
                they_add_up,
                "many-heads.html#what-a-head-contributes",
                points=2,
            ),
            Asked(
                "a head whose rows of W^O are 0 adds nothing",
                silent_heads_add_nothing,
                "many-heads.html#what-a-head-contributes",
            ),
            Asked(
                "each part is what its head adds",
                each_is_its_own,
                "many-heads.html#cut-and-move-or-scramble",
                points=2,
            ),
        ],
    )
]
check = checker(EXERCISES)
