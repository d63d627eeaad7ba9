"""The block: a norm of your own."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from selfattn_book.exercises.checking.exercise import Asked, Exercise, checker
from selfattn_book.exercises.checking.norms import EXCHANGED, ONE_ADDED, wrong_eps, wrong_norms
from selfattn_book.exercises.checking.numbers import (
    asked,
    compared,
    drawn,
    likely,
    near,
    numbers,
)
from selfattn_book.properties.answer import YES, Answer, all_of

SHAPES = ((2, 3, 5), (4, 1, 7))
SMALL, LARGE = 1e-9, 0.5  # as eps
PLACES = ("sample", "position")
Shape = tuple[int, ...]
Norm = Callable[[Tensor, Tensor, Tensor, float], Any]
BARE = "with gain 1 and bias 0, the output"
NORMS = {"layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm"}


def of_each_shape(
    ask: Callable[[Norm, Shape], Answer],
) -> Callable[[Norm], Answer]:
    """Ask about vectors of several shapes."""

    @wraps(ask)
    def asked_of_all(layer_norm: Norm) -> Answer:
        return all_of(ask(layer_norm, shape) for shape in SHAPES)

    return asked_of_all


@of_each_shape
def returns_rows(layer_norm: Norm, shape: Shape) -> Answer:
    """Ask for a tensor of the right shape, which it is if it can be asked."""
    bare(layer_norm, SMALL, shape)
    return YES


@of_each_shape
def has_mean_zero(layer_norm: Norm, shape: Shape) -> Answer:
    """Ask for the mean of each vector."""
    found = bare(layer_norm, SMALL, shape)
    means = found.mean(-1)
    no = compared(means, 0 * means, BARE, PLACES, message="has mean {got}, not 0")
    return no.because(*likely(found, wrong_norms(drawn_rows(shape), SMALL)))


@of_each_shape
def has_mean_square_one(layer_norm: Norm, shape: Shape) -> Answer:
    """Ask for the mean square of each vector around its own mean."""
    found = bare(layer_norm, SMALL, shape)
    squares = (found - found.mean(-1, keepdim=True)).square().mean(-1)
    message = "has variance {got}, not 1"
    no = compared(squares, torch.ones_like(squares), BARE, PLACES, message=message)
    return no.because(*likely(found, wrong_norms(drawn_rows(shape), SMALL)))


def has_eps_inside(layer_norm: Norm) -> Answer:
    """Ask with a large eps, and for what becomes of entries that are all equal."""
    return all_of(_with_eps(layer_norm))


def _with_eps(layer_norm: Norm) -> Iterable[Answer]:
    x = drawn_rows()
    found, right = bare(layer_norm, LARGE), F.layer_norm(x, x.shape[-1:], eps=LARGE)
    what, message = f"with eps = {LARGE}, the output", "is {gap} off"
    no = compared(found, right, what, PLACES, message=message)
    unused = (
        "eps is not used as it is given.",
        lambda: near(found, bare(layer_norm, SMALL)),
    )
    yield no.because(*likely(found, wrong_eps(x, LARGE) | wrong_norms(x, LARGE)), unused)
    level = torch.full_like(x, 2.0)
    silent = called(layer_norm, level, *plain(level), LARGE)
    what = "where all entries of a vector are 2, the output"
    no = compared(silent, torch.zeros_like(silent), what, PLACES)
    yield no.because(("0 is divided by 0.", lambda: bool(silent.isnan().any())))


def has_gain_and_bias(layer_norm: Norm) -> Answer:
    """Ask for gain and bias, as they change what the answer itself gives without them."""
    x = drawn_rows()
    gain, bias = drawn(2, x.size(-1), seed=5)
    norm, theirs = bare(layer_norm, 0.1), F.layer_norm(x, x.shape[-1:], eps=0.1)
    found = called(layer_norm, x, gain, bias, 0.1)
    what, message = "with gain and bias, the output", "is {gap} off"
    right = gain.to(norm) * norm + bias.to(norm)
    wrong = {
        "The bias comes before the gain, and is multiplied with it.": gain * (norm + bias),
        "The gain is left out.": norm + bias,
        "The bias is left out.": gain * norm,
        "Gain and bias are both left out.": norm,
        EXCHANGED: bias * theirs + gain,
        ONE_ADDED: (1 + gain) * theirs + bias,
        "The bias is subtracted.": gain * norm - bias,
        "It is divided by the gain.": norm / gain + bias,
    }
    no = compared(found, right, what, PLACES, message=message)
    return no.because(*likely(found, wrong))


def is_its_own(layer_norm: Norm) -> Answer:
    """Ask whether a norm of PyTorch's is called."""
    with Watching() as watching:
        bare(layer_norm, SMALL)
    if not watching.seen:
        return YES
    message = f"it calls PyTorch's {', '.join(sorted(watching.seen))}, and is to be written without"
    return Answer("mathematics", f"{message}.")


class Watching(TorchFunctionMode):
    """Note which norms of PyTorch's are called."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call a function of PyTorch's, and note its name if it is a norm."""
        name, _, _ = getattr(function, "__name__", "").partition(".")
        self.seen |= {name.removeprefix("native_")} & NORMS
        return function(*args, **(kwargs or {}))


def bare(layer_norm: Norm, eps: float, shape: Shape = SHAPES[0]) -> Tensor:
    """Return what a norm makes of the drawn rows without gain and bias."""
    x = drawn_rows(shape)
    return called(layer_norm, x, *plain(x), eps)


def called(layer_norm: Norm, x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Return what a norm makes of rows."""
    return numbers(asked(layer_norm, x, gain, bias, eps), "the output", tuple(x.shape))


def drawn_rows(shape: Shape = SHAPES[0]) -> Tensor:
    """Draw rows whose means are not 0, the first with a variance below that of a large eps."""
    x = 3 * drawn(*shape, seed=4) + drawn(*shape[:-1], 1, seed=3)
    x[0, 0] *= 0.1
    return x


def plain(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gain and the bias that change nothing."""
    return torch.ones(x.size(-1)), torch.zeros(x.size(-1))


PLACE = "block.html#one-size-for-every-row"
EXERCISES = [
    Exercise(
        "layer_norm",
        "def layer_norm(x, gain, bias, eps):\n    ...",
        [
            Asked("it returns vectors like those that came", returns_rows, PLACE),
            Asked("each vector has mean 0", has_mean_zero, PLACE),
            Asked("each vector has variance 1", has_mean_square_one, PLACE),
            Asked("eps is added to the variance", has_eps_inside, PLACE),
            Asked("first comes the gain, and then the bias", has_gain_and_bias, PLACE),
            Asked(
                "it does without PyTorch's own norms",
                is_its_own,
                "block.html#exercises",
            ),
        ],
    )
]
check = checker(EXERCISES)
