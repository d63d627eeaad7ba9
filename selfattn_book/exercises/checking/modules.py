"""Modules that an answer builds: made from a seed, and asked in their own precision."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps

import torch
from torch import Tensor, nn

from selfattn_book.exercises.checking.numbers import asked, near, numbers, tolerance
from selfattn_book.experiments.seeding import set_seed
from selfattn_book.properties.answer import YES, Answer, Likely, RefusedError
from selfattn_book.properties.calls import call, missing
from selfattn_book.properties.explain_models import chance as of_chance

Kind = Callable[[int, int, int], object]
Ask = Callable[[Kind], Answer]
WIDTH, HEADS, D_FF = 6, 2, 64
OTHER_SAMPLES = (
    "A point meets those at its place in other samples: the batch is taken for the length."
)
BATCH_FIRST = "PyTorch takes the first axis for the length, unless `batch_first=True` is said."


@dataclass(frozen=True)
class Built:
    """A module as a function to one tensor, which is as large as its first input.

    Args:
        module: that an answer built.
        what: it returns, in words.
    """

    module: nn.Module
    what: str

    def __call__(self, *inputs: Tensor) -> Tensor:
        """Ask the module, with inputs in the dtype of its parameters."""
        try:
            came = asked(self.module, *map(self.like, inputs))
        except AssertionError as error:  # PyTorch's attention asserts some of its shapes
            message = f"AssertionError: {' '.join(str(error).split())}."
            raise RefusedError(Answer("exception", message)) from error
        if isinstance(came, tuple):
            raise RefusedError(missing(f"return {self.what} alone", came))
        return numbers(came, self.what, tuple(inputs[0].shape))

    def like(self, x: Tensor) -> Tensor:
        """Return an input in the dtype of the parameters; lengths stay as they are."""
        dtypes = (p.dtype for p in self.module.parameters() if p.is_floating_point())
        return x.to(next(dtypes, x.dtype)) if x.is_floating_point() else x


def built(kind: Kind, what: str, *, d_ff: int = D_FF, seed: int = 3) -> Built:
    """Return a module of width 6 with 2 heads that an answer builds from a seed, without dropout.

    Example:
        >>> built(lambda d_model, num_heads, d_ff: nn.Linear(d_model, d_model), "the states").what
        'the states'
        >>> built(lambda d_model, num_heads, d_ff: d_ff, "the states")
        Traceback (most recent call last):
        selfattn_book.properties.answer.RefusedError: no: it must build a torch.nn.Module;
        got a value of type int.
    """
    set_seed(seed)
    module = call(kind, WIDTH, HEADS, d_ff)
    if not isinstance(module, nn.Module):
        raise RefusedError(missing("build a torch.nn.Module", module))
    return Built(module.eval(), what)


def after(first: Ask) -> Callable[[Ask], Ask]:
    """Ask something only of what has answered something else well, and else repeat that no.

    Example:
        >>> is_there = lambda kind: Answer("missing", "there is none.")
        >>> after(is_there)(lambda kind: YES)(nn.Linear)
        no: there is none.
    """

    def of_ask(ask: Ask) -> Ask:
        @wraps(ask)
        def asked_after(kind: Kind) -> Answer:
            return first(kind) and ask(kind)

        return asked_after

    return of_ask


def says_it_twice(model: Built, *inputs: Tensor) -> Answer:
    """Ask that a module answers at all, with numbers, and the same again.

    Example:
        >>> says_it_twice(Built(nn.Dropout(0.5), "the states"), torch.ones(1, 2, 6))
        no: the states move by 2 when they are asked for again. From one seed they agree, ...
    """
    once, again = model(*inputs), model(*inputs)
    if near(once.nan_to_num(), again.nan_to_num()):
        return YES
    gap = (once.double() - again.double()).abs().max().item()
    message = f"{model.what} move by {gap:.3g} when they are asked for again."
    return Answer("mathematics", message).because(*of_chance(lambda: (model(*inputs),)))


def of_mixing(model: Callable[[Tensor], Tensor], x: Tensor) -> Likely:
    """Return that points meet those at their place in other samples, and not those of their own."""

    def meets_others() -> bool:
        other = x.clone()
        other[0, 0] *= -1
        gap = (model(other) - model(x)).abs().amax(-1)
        moves = gap > tolerance(gap) / 10
        return bool(moves[1:, 0].all() and not moves[:, 1:].any())

    return OTHER_SAMPLES, meets_others


def runs(model: Built, *shapes: tuple[int, ...]) -> bool:
    """Tell whether a module runs at sequences of these shapes, with all of their points."""
    inputs = [torch.ones(shape) for shape in shapes]
    lengths = torch.full(shapes[-1][:1], shapes[-1][1])
    try:
        model(*inputs, lengths)
    except RefusedError:
        return False
    return True


def of_batches(model: Built, *shapes: tuple[int, ...]) -> Likely:
    """Return that the batch is not the first axis, which shows where all axes are equal."""
    square = [(5, 5, WIDTH)] * len(shapes)
    return BATCH_FIRST, partial(runs, model, *square)
