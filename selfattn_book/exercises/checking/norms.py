"""What comes of likely mistakes in a norm of vectors."""

import torch
from torch import Tensor

from selfattn_book.properties.explain_models import (
    ALONG_POSITIONS,
    BY_THE_VARIANCE,
    INPUT_ADDED,
    NOT_CENTRED,
    NOT_SCALED,
    OVER_EVERYTHING,
    UNBIASED,
)

EXCHANGED = "Gain and bias are exchanged."
ONE_ADDED = "One is added to the gain."


SQUARE_BEFORE = "The mean is taken away, and the mean square is that from before."
SQUARES_ADDED = "The squares are added up, and not divided by their number."
OVER_SAMPLES = "Mean and deviation are those of an entry over the samples."
AS_BATCH_NORM = "Mean and deviation are those of an entry over the batch, as batch norm takes them."
WHOLE_BATCH = "Mean and deviation are those of the whole batch."


def wrong_norms(x: Tensor, eps: float) -> dict[str, Tensor]:
    """Return what comes of likely mistakes, with gain 1 and bias 0."""
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    square = x.square().mean(-1, keepdim=True)
    root, width = (variance + eps).sqrt(), x.size(-1)
    return {
        EXCHANGED: torch.ones_like(x),
        ONE_ADDED: 2 * centred / root,
        UNBIASED: centred / (variance * width / (width - 1) + eps).sqrt(),
        NOT_CENTRED: x / (square + eps).sqrt(),
        "The mean is not taken away, and the deviation is right.": x / root,
        SQUARE_BEFORE: (centred / (square + eps).sqrt()),
        NOT_SCALED: centred,
        BY_THE_VARIANCE: centred / (variance + eps),
        "It is multiplied by the root, not divided.": centred * root,
        SQUARES_ADDED: (centred / (variance * width + eps).sqrt()),
        INPUT_ADDED: x + centred / root,
        OVER_SAMPLES: over(x, 0, eps=eps),
        AS_BATCH_NORM: (over(x, 0, 1, eps=eps)),
        ALONG_POSITIONS: over(x, 1, eps=eps),
        OVER_EVERYTHING: over(x, 1, 2, eps=eps),
        WHOLE_BATCH: over(x, 0, 1, 2, eps=eps),
    }


def over(x: Tensor, *axes: int, eps: float) -> Tensor:
    """Return what comes of mean and deviation over some axes."""
    centred = x - x.mean(axes, keepdim=True)
    return centred / (centred.square().mean(axes, keepdim=True) + eps).sqrt()


def wrong_eps(x: Tensor, eps: float) -> dict[str, Tensor]:
    """Return what comes of likely mistakes with eps, with gain 1 and bias 0."""
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return {
        "eps is added outside of the root; it belongs to the variance, inside.": (
            centred / (variance.sqrt() + eps)
        ),
        "eps is added outside of the root, and the deviation is that of `torch.std`.": (
            centred / (x.std(-1, keepdim=True) + eps)
        ),
        "eps is squared.": centred / (variance + eps**2).sqrt(),
        "eps is a lower limit of the variance; it is added.": (
            centred / variance.clamp(min=eps).sqrt()
        ),
        "eps is subtracted.": centred / (variance - eps).sqrt(),
        "eps is added to the output.": centred / variance.sqrt() + eps,
    }
