"""How many numbers an encoder or a decoder learns: as many as its equation has, and no others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from selfattn_book.exercises.checking.modules import HEADS, WIDTH, Built, Kind, built
from selfattn_book.properties.answer import YES, Answer, Likely, RefusedError, all_of
from selfattn_book.properties.calls import call

D_FF = 13  # a size that nothing else has


@dataclass(frozen=True)
class Counted:
    """How many numbers stand in matrices, and how many in vectors, as of biases."""

    matrices: int
    vectors: int


def has_the_parameters(kind: Kind, what: str, attentions: int, *inputs: Tensor) -> Answer:
    """Ask for the sizes that a module is told, and for all that it learns.

    Heads and numbers are looked at where the attentions are PyTorch's, whose biases may be left out.

    Args:
        kind: builds the module.
        what: it returns, in words.
        attentions: how many of them its equation has, each with four matrices.
        inputs: that it takes.
    """
    first, other = (built(kind, what, d_ff=n) for n in (D_FF, D_FF + 4))
    model = first.module
    return all_of(
        (
            _inner_width(model, other.module),
            _heads(model),
            _numbers(model, attentions),
            _are_used(first, inputs),
        )
    ).because(*_likely(model, attentions))


def _inner_width(model: nn.Module, other: nn.Module) -> Answer:
    if any(D_FF in p.shape for p in model.parameters()):
        return YES
    message = f"no parameter has the size {D_FF} where d_ff = {D_FF}."
    same = counted(model) == counted(other)
    has_two = counted(model).matrices > 4 * WIDTH**2
    return Answer("shape", message).because(
        ("The inner width does not follow d_ff.", lambda: same and has_two)
    )


def _heads(model: nn.Module) -> Answer:
    heads = {m.num_heads for m in _theirs(model)}
    if heads <= {HEADS}:
        return YES
    got = " and ".join(map(str, sorted(heads)))
    message = f"where num_heads = {HEADS}, an attention has {got} heads."
    return Answer("shape", message)


def _numbers(model: nn.Module, attentions: int) -> Answer:
    found, (wanted, *fewer) = counted(model), _wanted(attentions)
    if found in (wanted, *fewer) or not _theirs(model):
        return YES
    message = (
        f"where d_model = {WIDTH} and d_ff = {D_FF}, its matrices hold {found.matrices} numbers "
        f"and its biases {found.vectors}; those of the equation hold "
        f"{wanted.matrices} and {wanted.vectors}."
    )
    return Answer("shape", message)


def _theirs(model: nn.Module) -> list[nn.MultiheadAttention]:
    return [m for m in model.modules() if isinstance(m, nn.MultiheadAttention)]


def _are_used(model: Built, inputs: Sequence[Tensor]) -> Answer:
    """Ask for a gradient of each parameter, unless the whole is computed without gradients."""
    try:
        with torch.enable_grad():
            output = call(model.module, *map(model.like, inputs))
    except (RefusedError, AssertionError):  # which another question tells
        return YES
    if not isinstance(output, Tensor) or not output.requires_grad:
        return YES
    names, parameters = zip(*model.module.named_parameters(), strict=True)
    found = torch.autograd.grad(output.sum(), parameters, allow_unused=True)
    unused = [n for n, g in zip(names, found, strict=True) if g is None]
    if not unused:
        return YES
    message = f"{unused[0]} takes no part in {model.what}, or is cut off, as by `detach`."
    return Answer("mathematics", message)


def counted(model: nn.Module) -> Counted:
    """Count what a module learns.

    Example:
        >>> counted(nn.Linear(3, 2))
        Counted(matrices=6, vectors=2)
    """
    sizes = [(p.ndim > 1, p.numel()) for p in model.parameters()]
    matrices = sum(size for is_matrix, size in sizes if is_matrix)
    return Counted(matrices, sum(size for _, size in sizes) - matrices)


def _wanted(attentions: int) -> list[Counted]:
    """Return how many there are, with the biases of all attentions, and with those of fewer."""
    matrices = attentions * 4 * WIDTH**2 + 2 * WIDTH * D_FF
    kept = range(attentions, -1, -1)
    return [Counted(matrices, n * 4 * WIDTH + D_FF + WIDTH) for n in kept]


PLAIN_LIST = "Layers in a plain list are not found by PyTorch: `nn.ModuleList` is."
NO_NETWORK = "There is no small network behind the attention."
ONE_WEIGHT = "The two linear layers share their weight."
LINEAR_TOO_MANY = "A linear layer from d_model to d_model is one too many."
NO_BIAS = "A linear layer of the small network has no bias."
SOMETHING_ELSE = "Something else is learned, such as a norm, and none is asked for."


def _likely(model: nn.Module, attentions: int) -> list[Likely]:
    """Return what can be behind other numbers than those of the equation."""
    found, wanted = counted(model), _wanted(attentions)[0]
    more = found.matrices - wanted.matrices
    square = WIDTH**2
    missing = attentions > 1 and more == -4 * square
    return [
        (PLAIN_LIST, lambda: any(_plain_lists(model))),
        (NO_NETWORK, lambda: more == -2 * WIDTH * D_FF),
        ("One attention stands for two.", lambda: missing),
        (ONE_WEIGHT, lambda: more == -WIDTH * D_FF),
        ("There is an attention too many.", lambda: more == 4 * square),
        (LINEAR_TOO_MANY, lambda: more == square),
        ("The small network has a layer too many.", lambda: more == D_FF**2),
        (NO_BIAS, lambda: more == 0 and found.vectors < wanted.vectors),
        (SOMETHING_ELSE, lambda: more == 0 and found.vectors > wanted.vectors),
    ]


def _plain_lists(model: nn.Module) -> Iterator[bool]:
    """Tell of each list that a module holds whether there are modules in it."""
    for part in model.modules():
        for value in vars(part).values():
            if isinstance(value, list | tuple):
                yield any(isinstance(held, nn.Module) for held in value)
