"""What a model that writes sequences must do: properties, to be asked of your own code.

They are asked as those of :mod:`selfattn_book.properties` are. There are two kinds of functions:

* ``model(source, target)`` returns what is said after each target position. It is given
  a source ``(B, S, W)`` and a shifted target ``(B, T, W)``, hides the future of the target
  by itself, and returns ``(B, T, E)``; one property gives it a mask of the source as well.
  A decoder is such a function too: its memory is the source.
* ``predict(source, length)`` writes ``length`` points, one after the other, ``(B, length, E)``.

All numbers are float64, so a module wants ``.double()`` first, and without dropout.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from selfattn_book.properties import (
    _answer,
    _close,
    _random,
    prefixes_keep_their_outputs,
)

Model = Callable[..., Tensor]
Predict = Callable[[Tensor, int], Tensor]

BATCH, SOURCES, TARGETS = 3, 5, 7


@_answer
def prefixes_agree(model: Model, width: int = 2) -> bool:
    r"""Tell whether a model says the same of a beginning, whether or not the rest is there.

    .. math:: f(y_1, \dots, y_T)_t = f(y_1, \dots, y_t)_t

    If it does, what was predicted does not change when the target grows. It is
    :func:`~selfattn_book.properties.prefixes_keep_their_outputs`, with a source that stays.

    Args:
        model: is given a source with a target of 5 points, and with the first 1 to 4 of them.
        width: of a point.

    Example:
        >>> prefixes_agree(lambda source, target: target.cumsum(1))
        True
        >>> prefixes_agree(lambda source, target: target - target.mean(1, keepdim=True))
        False
    """
    source = _pair(width)[0]
    return prefixes_keep_their_outputs(lambda target: model(source, target), width)


@_answer
def source_padding_is_silent(model: Model, width: int = 2) -> bool:
    """Tell whether sources of 5, 2 and 3 points, padded to 5, are answered as if each were alone.

    Args:
        model: is given the padded batch and its mask, boolean, ``(B, 1, 1, S)``, ``True`` = may
            be seen; and then each source by itself, with a mask that hides nothing.
            Padding holds random numbers.
        width: of a point.

    Example:
        >>> heard = lambda source, target, real: target + (source * real[:, 0, 0, :, None]).sum(1, True)
        >>> source_padding_is_silent(heard)
        True
        >>> source_padding_is_silent(lambda source, target, real: target + source.sum(1, True))
        False
    """
    (source, target), lengths = _pair(width), torch.tensor([5, 2, 3])
    real = torch.arange(SOURCES) < lengths[:, None]  # (B, S)
    together = model(source, target, real[:, None, None])
    for i, length in enumerate(lengths.tolist()):
        all_seen = torch.ones(1, 1, 1, length, dtype=torch.bool)
        alone = model(source[i : i + 1, :length], target[i : i + 1], all_seen)
        if not _close(together[i : i + 1], alone):
            return False
    return True


@_answer
def source_is_heard(model: Model, width: int = 2) -> bool:
    """Tell whether every point of the source has a say in every output.

    An output that moves by less than :math:`10^{-9}` is deaf.

    Args:
        model: is given a source and a target, and then the same with one source point negated.
        width: of a point.

    Example:
        >>> source_is_heard(lambda source, target: target + source.mean(1, keepdim=True))
        True
        >>> source_is_heard(lambda source, target: target + source[:, -1:])
        False
        >>> first_entry = torch.tensor([1.0, 0.0])   # one entry that moves is enough
        >>> source_is_heard(lambda source, target: target + source.mean(1, True) * first_entry)
        True
    """
    source, target = _pair(width)
    before = model(source, target)
    for place in range(SOURCES):
        changed = source.clone()
        changed[:, place] = -source[:, place]
        moved = (model(changed, target) - before).abs().amax(-1)  # (B, T)
        if not (moved > 1e-9).all():
            return False
    return True


@_answer
def cache_changes_nothing(cached: Predict, anew: Predict, width: int = 2) -> bool:
    """Tell whether a prediction with a cache is the one that computes everything at every step.

    Args:
        cached: is asked for 7 points after each of three sources, one after the other,
            so that what it keeps of one can show in the next.
        anew: the same prediction without a cache; it is asked the same.
        width: of a point.

    Example:
        >>> repeat = lambda source, length: source.mean(1, keepdim=True).expand(-1, length, -1)
        >>> cache_changes_nothing(repeat, repeat)
        True
        >>> cache_changes_nothing(lambda source, length: 2 * repeat(source, length), repeat)
        False
        >>> cache_changes_nothing(lambda source, length: repeat(source, length) + 1e-6, repeat)
        False
    """
    source, _ = _pair(width)
    return all(  # each step hands its rounding on to the next
        _close(cached(start, TARGETS), anew(start, TARGETS), 1e-9)
        for start in (source, -source, source[:, 1:])
    )


def _pair(width: int) -> tuple[Tensor, Tensor]:
    """Draw a source and a target."""
    points = _random(BATCH, SOURCES + TARGETS, width)
    source, target = points.split([SOURCES, TARGETS], dim=1)
    return source.clone(), target.clone()
