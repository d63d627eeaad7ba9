"""The Transformer block: a layer normalization of your own."""

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from selfattn_book.exercises.checking.exercise import Exercise, Question, factory, form
from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.exercises.checking.results import results_of
from selfattn_book.properties import explain_models as explain
from selfattn_book.properties.answer import Answer, RefusedError

SMALL, LARGE = 1e-9, 0.5  # as eps
NORMS = {"layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm"}


def vectors(*shape):
    """Return vectors whose means are not 0, the first with a variance below a large eps."""
    x = 3 * drawn(*shape, seed=4) + drawn(*shape[:-1], 1, seed=3)
    x[0, 0] *= 0.1
    return x


def plain(eps, x):
    return x, torch.ones(x.size(-1)), torch.zeros(x.size(-1)), eps


def usual():
    return [plain(SMALL, vectors(2, 3, 5)), plain(SMALL, vectors(4, 1, 7))]


def affine(norm):
    return lambda x, gain, bias, eps: gain * norm(x, eps) + bias


def centered(x, axes=-1):
    return x - x.mean(axes, keepdim=True)


def mean_square(x, axes=-1):
    return x.square().mean(axes, keepdim=True)


@factory
def over(axes, x, gain, bias, eps):
    """Return the norm over these axes."""
    deviation = (mean_square(centered(x, axes), axes) + eps).sqrt()
    return gain * centered(x, axes) / deviation + bias


def divided_by(divisor):
    return affine(lambda x, eps: centered(x) / divisor(mean_square(centered(x)), eps))


layer_norm = over(-1)


@factory
def gain_and_bias(norm, x, gain, bias, eps):
    """Return the right norm, with the effect of gain and bias in another."""
    cases = (x, gain, bias, eps), plain(eps, x)
    got, bare = (results_of(norm, case, "the output")[0] for case in cases)
    return (layer_norm(*cases[0]) + (got - (gain * bare + bias))).to(got.dtype)


class Watching(TorchFunctionMode):
    """Record which norms of PyTorch's are called.

    Example:
        >>> with Watching() as watching:
        ...     _ = torch.ops.aten.layer_norm.default(torch.ones(2, 3), [3])
        >>> watching.seen
        {'layer_norm'}
    """

    def __init__(self):
        super().__init__()
        self.seen: set[str] = set()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name, _, _ = getattr(function, "__name__", "").partition(".")
        self.seen |= {name.removeprefix("native_")} & NORMS
        return function(*args, **(kwargs or {}))


@factory
def without_norms(norm, *case):
    """Return the program that refuses an answer that calls a norm of PyTorch's."""
    with Watching() as watching:
        results_of(norm, case, "the output")
    if watching.seen:
        reason = f"it calls PyTorch's {', '.join(sorted(watching.seen))}."
        raise RefusedError(Answer("mathematics", reason, PYTORCHS))
    return torch.zeros(())


PYTORCHS = "It must be written without PyTorch's norms."
WRONG = {
    explain.UNBIASED: affine(lambda x, eps: centered(x) / (x.var(-1, keepdim=True) + eps).sqrt()),
    explain.NOT_CENTRED: affine(lambda x, eps: x / (mean_square(x) + eps).sqrt()),
    "The mean is not subtracted, and the deviation is right.": (
        affine(lambda x, eps: x / (mean_square(centered(x)) + eps).sqrt())
    ),
    "The mean is subtracted, but the mean square is that of the original vector.": (
        affine(lambda x, eps: centered(x) / (mean_square(x) + eps).sqrt())
    ),
    explain.NOT_SCALED: divided_by(lambda variance, eps: 1),
    explain.BY_THE_VARIANCE: divided_by(lambda variance, eps: variance + eps),
    "It is multiplied by the root, not divided.": divided_by(lambda v, eps: (v + eps).rsqrt()),
    "The squares are added up, and not divided by their number.": affine(
        lambda x, eps: centered(x) / (centered(x).square().sum(-1, keepdim=True) + eps).sqrt()
    ),
    explain.INPUT_ADDED: lambda x, gain, bias, eps: x + layer_norm(x, gain, bias, eps),
    "Mean and deviation are those of an entry over the samples.": over(0),
    "Mean and deviation are those of an entry over the batch, as batch norm takes them.": (
        over((0, 1))
    ),
    explain.ALONG_POSITIONS: over(1),
    explain.OVER_EVERYTHING: over((1, 2)),
    "Mean and deviation are those of the whole batch.": over((0, 1, 2)),
    "The dimension is a fixed number; it is the size of the last axis.": affine(
        lambda x, eps: (x - x.sum(-1, keepdim=True) / 5) / (mean_square(centered(x)) + eps).sqrt()
    ),
    "eps is added outside of the root; it belongs to the variance, inside.": (
        divided_by(lambda variance, eps: variance.sqrt() + eps)
    ),
    "eps is added outside of the root, and the deviation is that of `torch.std`.": (
        affine(lambda x, eps: centered(x) / (x.std(-1, keepdim=True) + eps))
    ),
    "eps is squared.": divided_by(lambda variance, eps: (variance + eps**2).sqrt()),
    "eps is a lower limit of the variance; it is added.": (
        divided_by(lambda variance, eps: variance.clamp(min=eps).sqrt())
    ),
    "eps is subtracted.": divided_by(lambda variance, eps: (variance - eps).sqrt()),
    "eps is added to the output.": (
        affine(lambda x, eps: centered(x) / mean_square(centered(x)).sqrt() + eps)
    ),
    "eps is not used as it is given.": divided_by(lambda variance, eps: (variance + 1e-5).sqrt()),
    "eps is not used: where all entries are equal, 0 is divided by 0.": (
        divided_by(lambda variance, eps: variance.sqrt())
    ),
    "Gain and bias are exchanged.": lambda x, g, b, eps: layer_norm(x, b, g, eps),
    "One is added to the gain.": lambda x, g, b, eps: layer_norm(x, 1 + g, b, eps),
    "The bias comes before the gain, and is multiplied with it.": (
        lambda x, g, b, eps: g * layer_norm(x, 1, b, eps)
    ),
    "The gain is left out.": lambda x, g, b, eps: layer_norm(x, 1, b, eps),
    "The bias is left out.": lambda x, g, b, eps: layer_norm(x, g, 0, eps),
    "Gain and bias are both left out.": lambda x, g, b, eps: layer_norm(x, 1, 0, eps),
    "The bias is subtracted.": lambda x, g, b, eps: layer_norm(x, g, -b, eps),
    "It is divided by the gain.": lambda x, g, b, eps: layer_norm(x, 1 / g, b, eps),
    PYTORCHS: lambda x, g, b, eps: F.layer_norm(x, x.shape[-1:], g, b, eps),
}


NORM = "block.html#layer-normalization"
HERE = "block.html#exercises"
QUESTIONS = [
    Question("it returns vectors of the input's shape", NORM, view=form, cases=usual),
    Question("each vector has mean 0", NORM, view=lambda rows, *case: rows.mean(-1), cases=usual),
    Question(
        "each vector has variance 1", NORM, 1, lambda rows, *case: rows.var(-1, correction=0), usual
    ),
    Question(
        "eps is added to the variance",
        NORM,
        cases=lambda: [plain(LARGE, x) for x in (vectors(2, 3, 5), torch.full((2, 3, 5), 2.0))],
    ),
    Question(
        "the gain is applied first, and then the bias",
        NORM,
        via=gain_and_bias,
        cases=[lambda: (vectors(2, 3, 5), *drawn(2, 5, seed=5), 0.1)],
    ),
    Question("it does without PyTorch's own norms", HERE, via=without_norms, cases=usual),
]
EXERCISE = Exercise(
    "def layer_norm(x, gain, bias, eps):\n    ...",
    QUESTIONS,
    right=layer_norm,
    wrong=WRONG,
    unusual={
        "16 bits": lambda *case: layer_norm(*case).bfloat16(),
    },
    returns="the output",
)
check = EXERCISE.check
