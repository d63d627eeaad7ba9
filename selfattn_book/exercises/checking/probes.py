"""Probes of modules: measurements that are the same for all right modules, independent of their weights.

An answer builds modules with its own weights, so its outputs cannot be compared with those of a
reference module; dependences can be compared, and numbers of parameters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.exercises.checking.exercise import Question
from selfattn_book.exercises.checking.numbers import drawn, tensor_of, tolerance
from selfattn_book.experiments.seeding import set_seed
from selfattn_book.properties.answer import Answer, RefusedError
from selfattn_book.properties.calls import call, missing

D_MODEL, HEADS, D_FF = 6, 2, 64
LENGTHS = (5, 2, 3)  # of padded sources
MANY = 200  # equal points


class Modules:
    """The modules that an answer builds, which probes measure.

    Args:
        kind: builds a module from ``d_model``, ``num_heads`` and ``d_ff``.
        what: name of the outputs.
    """

    def __init__(self, kind: Callable[..., object], what: str):
        self.kind, self.what = kind, what
        self.built: dict[tuple[int, int], nn.Module] = {}

    def __call__(self, probe: "Probe") -> Tensor:
        """Return the measurement of a probe."""
        return torch.as_tensor(probe.measure(self))

    def build(self, d_ff: int = D_FF, seed: int = 3) -> nn.Module:
        """Return the module of a hidden dimension and a seed, in evaluation mode."""
        if (d_ff, seed) not in self.built:
            set_seed(seed)
            module = call(self.kind, D_MODEL, HEADS, d_ff)
            if not isinstance(module, nn.Module):
                raise RefusedError(missing("build a torch.nn.Module", module))
            self.built[d_ff, seed] = module.eval()
        return self.built[d_ff, seed]

    def run(self, *inputs: Tensor, free: bool = False, **build: Any) -> Tensor:
        """Return the outputs, which have the shape of the first input unless that is free."""
        module = self.build(**build)
        returned = call(module, *(_like(module, x).clone() for x in inputs))
        if isinstance(returned, tuple):
            raise RefusedError(missing(f"return {self.what} alone", returned))
        found = tensor_of(returned, self.what)
        if not free and found.shape != inputs[0].shape:
            rule = f"{self.what} must have the shape of the first input"
            raise RefusedError(Answer("shape", f"{rule}."))
        if not found.is_floating_point():
            dtype = str(found.dtype).removeprefix("torch.")
            rule = f"{self.what} must be floating-point numbers"
            raise RefusedError(Answer("dtype", f"{rule}; got {dtype}."))
        return found


@dataclass(frozen=True, eq=False)
class Probe:
    """A measurement of the modules of an answer.

    Args:
        measure: returns numbers that do not depend on the weights of a right module.
        reason: what is wrong, as a format string of the index, ``got`` and ``wanted``.
        view: the part of the measurement that a question is about; all of it is a fingerprint.
    """

    measure: Callable[[Modules], Any]
    reason: str
    view: Callable[[Tensor], Tensor] = lambda found: found
    message = "padded sequences"


def probed(message: str, section: str, *probes: Probe, points: int = 1) -> Question:
    """Return a question whose cases are probes."""
    cases = [(probe,) for probe in probes]
    return Question(message, section, points, lambda found, probe: probe.view(found), cases)


def variant(base: type, **parts: Any) -> type:
    """Return a class with some of its parts replaced."""
    return type(base.__name__, (base,), parts)


def close(one: Tensor, other: Tensor, slack: float = 1.0) -> Tensor:
    """Return which vectors are equal, without their last axis."""
    return (one.double() - other.double()).abs().amax(-1) <= slack * tolerance(one)


def same_rows(found: Tensor) -> Tensor:
    """Return which vectors of a sample are equal to its first."""
    return close(found, found[:, :1])


def dependence(run: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return which output depends on which position of the input, ``(B, T, S)``."""
    before, columns = run(x), []
    for position in range(x.size(1)):
        other = x.clone()
        other[:, position] = 9 - x[:, position]
        gap = (run(other).double() - before.double()).abs().amax(-1)
        columns.append(gap > tolerance(before) / 10)
    return torch.stack(columns, dim=-1)


def repeated(inputs: Callable[[], Sequence[Tensor]]) -> list[Probe]:
    """Return probes of the shape of an output, and whether a second call returns it again."""

    def again(modules: Modules) -> Tensor:
        first, second = (modules.run(*inputs(), free=True).nan_to_num() for _ in range(2))
        return close(first, second).all().expand(first.shape)

    def seeded(modules: Modules) -> Tensor:
        found = []
        for _ in range(2):
            set_seed(0)
            found.append(modules.run(*inputs()).nan_to_num())
        return close(found[0], found[1]).all()

    def square(modules: Modules) -> Tensor:
        *ones, _ = (torch.ones(5, 5, D_MODEL) for _ in inputs())
        return modules.run(*ones, torch.full((5,), 5)).isnan().any()

    return [
        Probe(again, "a second call with the same input returns something else"),
        Probe(seeded, "two calls from one seed return different outputs"),
        Probe(square, "a batch of 5 sources of 5 points has nan in its outputs"),
    ]


def finite(inputs: Callable[[], Sequence[Tensor]], what: str) -> Probe:
    """Return the probe whether all outputs are finite, ``(B, T)``."""
    reason = f"{what} {{1}} of sample {{0}} contains nan or infinity"
    return Probe(lambda modules: modules.run(*inputs()).isfinite().all(-1), reason)


Read = Callable[..., Tensor]  # (modules, source, lengths=None, samples=slice(None))


def apart(read: Read, source: Callable[[], Tensor], what: str) -> list[Probe]:
    """Return probes whether the samples of a batch are independent."""

    def alone(modules: Modules) -> Tensor:
        together = read(modules, source(), LENGTHS)[0]
        return close(read(modules, source()[:1], LENGTHS[:1], slice(1))[0], together)

    def others(modules: Modules) -> Tensor:
        other = source()
        other[0, 0] *= -1
        return ~close(read(modules, other)[1:], read(modules, source())[1:], 0.1)

    return [
        Probe(alone, f"{what} {{0}} of sample 0 changes when that sample is alone"),
        Probe(others, f"{what} {{1}} of another sample depends on sample 0"),
    ]


def padding(
    read: Read, source: Callable[[], Tensor], what: str, own: bool
) -> tuple[list[Probe], list[Probe]]:
    """Return probes of the contents and of the length of padding.

    Where each output belongs to its ``own`` source position, those of padding do not count.
    """
    real = torch.arange(5) < torch.tensor(LENGTHS)[:, None]  # (B, S)

    def counted(found: Tensor, value: bool) -> Tensor:
        """Set the outputs of padding to a value, and leave out the sample without padding."""
        rows = real.view(3, -1, *[1] * (found.ndim - 2))
        return (found.where(rows, value) if own else found)[1:]

    def depends(modules: Modules) -> Tensor:
        return counted(dependence(lambda x: read(modules, x, LENGTHS), source()), False)

    def with_full_lengths(modules: Modules, x: Tensor) -> Tensor:
        return counted(close(read(modules, x), read(modules, source(), LENGTHS)), True).all()

    def without_padding(modules: Modules) -> Tensor:
        together, found = read(modules, source(), LENGTHS), []
        for b, (length, rows) in enumerate(zip(LENGTHS, together, strict=True)):
            alone = read(modules, source()[b : b + 1, :length], (length,), slice(b, b + 1))[0]
            gap = close(alone, rows[: len(alone)])
            found.append(torch.cat([gap, gap.new_ones(len(rows) - len(gap))]))
        return torch.stack(found)[1:]

    one = f"{what} {{1}} of a padded sample"
    contents = [
        Probe(
            depends,
            f"{one} depends on position {{2}} of its source, which is padding",
            view=lambda found: found & ~real[1:, None],
        ),
        Probe(
            lambda modules: with_full_lengths(modules, source()),
            "with other lengths, the outputs are the same",
        ),
    ]
    weights = [
        Probe(without_padding, f"{one} changes when its source comes without padding"),
        Probe(
            lambda modules: with_full_lengths(modules, source() * real[..., None]),
            "the outputs are those of sources with zeros for padding, and no mask",
        ),
    ]
    return contents, weights


def of_equal(read: Read, inputs: Callable[[], Tensor], what: str) -> list[Probe]:
    """Return probes whether all outputs are equal where all inputs are, and where all are 0."""
    where = f"the output of position {{1}} is not that of position 0, where all {what} are"
    return [
        Probe(
            lambda modules: same_rows(read(modules, inputs()[:, :1].expand_as(inputs()))),
            f"{where} equal",
        ),
        Probe(lambda modules: same_rows(read(modules, 0 * inputs())), f"{where} 0"),
    ]


def outvoted(read: Read, what: str) -> Probe:
    """Return the probe whether one point after many equal ones has little weight, as in a mean."""

    def measure(modules: Modules) -> Tensor:
        one, other = 0.3 * drawn(2, 8, 1, D_MODEL, seed=5)
        together = torch.cat([other.expand(-1, MANY, -1), one], dim=1)
        alike = (x.expand(-1, MANY + 1, -1) for x in (one, other))
        own, alone, theirs = (read(modules, x)[:, -1].double() for x in (together, *alike))
        return (own - theirs).norm() < 0.05 * (alone - theirs).norm().clamp(min=1e-9)

    rule = f"an average leaves about 1 in {MANY}"
    return Probe(measure, f"of one point after {MANY} equal ones, {what} keeps over 5 %; {rule}")


def parameters(attentions: int, inputs: Callable[[], Sequence[Tensor]]) -> list[Probe]:
    """Return probes of the parameters of a module.

    Heads and numbers are counted where the attentions are PyTorch's, whose biases may be left out.
    """
    d_ff = 13  # a size that nothing else has
    matrices = attentions * 4 * D_MODEL**2 + 2 * D_MODEL * d_ff
    biases = [n * 4 * D_MODEL + d_ff + D_MODEL for n in range(attentions, -1, -1)]

    def theirs(modules: Modules) -> list[nn.MultiheadAttention]:
        every = modules.build(d_ff).modules()
        return [part for part in every if isinstance(part, nn.MultiheadAttention)]

    def more(modules: Modules, vectors: bool) -> int:
        sizes = [p.numel() for p in modules.build(d_ff).parameters() if (p.ndim < 2) == vectors]
        return sum(sizes) - (biases[0] if vectors else matrices) if theirs(modules) else 0

    def more_vectors(modules: Modules) -> float:
        found = more(modules, vectors=True)
        return 0.0 if found + biases[0] in biases else float(found > 0) - float(found < 0)

    def plain_lists(modules: Modules) -> bool:
        held = (x for part in modules.build(d_ff).modules() for x in vars(part).values())
        lists = (x for x in held if isinstance(x, list | tuple))
        return any(isinstance(x, nn.Module) for each in lists for x in each)

    def unused(modules: Modules) -> int:
        module = modules.build(d_ff)
        with torch.enable_grad():
            output = module(*(_like(module, x) for x in inputs()))
        if not isinstance(output, Tensor) or not output.requires_grad:
            return 0
        found = torch.autograd.grad(output.sum(), list(module.parameters()), allow_unused=True)
        return sum(gradient is None for gradient in found)

    sizes = f"where d_model = {D_MODEL} and d_ff = {d_ff}"
    return [
        Probe(
            lambda modules: any(d_ff in p.shape for p in modules.build(d_ff).parameters()),
            f"no parameter has the size {d_ff} where d_ff = {d_ff}",
        ),
        Probe(
            lambda modules: max((part.num_heads for part in theirs(modules)), default=HEADS),
            f"where num_heads = {HEADS}, an attention has {{got}} heads",
        ),
        Probe(
            lambda modules: more(modules, vectors=False),
            f"{sizes}, the weight matrices have {{got:+}} numbers beside those of the equation",
        ),
        Probe(
            more_vectors,
            f"{sizes}, the biases have more (+1) or fewer (-1) numbers than the equation: {{got:+.0f}}",
        ),
        Probe(plain_lists, "a plain list holds modules"),
        Probe(
            unused,
            "parameters that do not affect the output, or are cut off, as by `detach`: {got}",
        ),
    ]


def _like(module: nn.Module, x: Tensor) -> Tensor:
    """Return an input in the dtype of the parameters; lengths stay as they are."""
    dtypes = (p.dtype for p in module.parameters() if p.is_floating_point())
    return x.to(next(dtypes, x.dtype)) if x.is_floating_point() else x
