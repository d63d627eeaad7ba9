"""A decoder: the loss of one pass, and what a decoder computes."""

from typing import Any

import torch
from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.encoder_decoder import Decoder
from selfattn_book.exercises.checking.answer_checks import Function, agrees, gives
from selfattn_book.exercises.checking.exercise import Asked, Exercise
from selfattn_book.masks import causal_mask

Case = tuple[Function, Tensor, Tensor, Tensor]


def attending(shifted: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
    """Decode by attention to all that the mask leaves open."""
    context, _ = scaled_dot_product_attention(shifted, shifted, shifted, mask)
    return context.tanh() + memory.mean((1, 2), keepdim=True)


def repeating(shifted: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
    """Say what was fed."""
    return shifted


def silent(shifted: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
    """Say zero."""
    return torch.zeros_like(shifted)


for decoder in (attending, repeating, silent):
    decoder.message = f"a decoder that is {decoder.__name__}"  # type: ignore[attr-defined]


def case(decoder: Function, seed: int, *lengths: int) -> Case:
    """Return a decoder, memory, padded targets and their lengths."""
    chance = torch.Generator().manual_seed(seed)
    sizes = (len(lengths), 5, 3), (len(lengths), max(lengths), 2)
    memory, target = (torch.randn(*s, generator=chance, dtype=torch.float64) for s in sizes)
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return (
        decoder,
        memory,
        target.where(real[..., None], 3.0),
        torch.tensor(lengths),
    )


def loss(start: list[float], average: str, **parts: Any) -> Function:
    """Return the loss of one pass, put together from parts."""
    masked, counted = parts.get("masked", True), parts.get("counted", False)
    fed = parts.get("fed", lambda s, y: torch.cat([s, y[:, :-1]], 1))

    def sequence_loss(decoder: Function, memory: Tensor, target: Tensor, lengths: Tensor) -> Tensor:
        count, length, _ = target.shape
        first = torch.tensor(start, dtype=target.dtype).expand(count, 1, 2)
        mask = causal_mask(length) if masked else torch.ones(length, length).bool()
        errors = (decoder(fed(first, target), memory, mask) - target).pow(2).mean(-1)
        real = torch.arange(length) < lengths[:, None]
        real = torch.ones_like(real) if counted else real
        if average == "points":
            return errors[real].mean()
        if average == "sums":
            return errors[real].sum()
        if average == "padded":
            return (errors * real).mean()
        return ((errors * real).sum(1) / real.sum(1)).mean()

    return sequence_loss


def mistakes(start: list[float], average: str) -> list[tuple[str, Function]]:
    """Return misconceptions, each with what follows from it."""
    right = loss(start, average)
    other = "sequences" if average == "points" else "points"
    after = lambda s, y: torch.cat([y[:, 1:], s], 1)  # noqa: E731
    behind = lambda s, y: torch.cat([y[:, 1:], y[:, -1:]], 1)  # noqa: E731
    return [
        (
            "The decoder is fed the point that it is asked for.",
            loss(start, average, fed=lambda s, y: y),
        ),
        (
            "It is shifted the other way: a place is fed the point after.",
            loss(start, average, fed=after),
        ),
        (
            "It is shifted the other way: a place is fed the point after.",
            loss(start, average, fed=behind),
        ),
        (
            "What stands before all sequences is not your start.",
            loss([0.0, 0.0], average),
        ),
        (
            "The first point was fed twice; the start is missing.",
            loss(start, average, fed=_twice),
        ),
        ("The future is not hidden.", loss(start, average, masked=False)),
        ("Padding counts as if it were real.", loss(start, average, counted=True)),
        ("Padding is left out of the sum, but divided by.", loss(start, "padded")),
        ("This is a sum, not a mean.", loss(start, "sums")),
        ("A point has two errors; they are averaged.", lambda *c: 2 * right(*c)),
        ("The root was taken.", lambda *c: right(*c).sqrt()),
        (
            "It is averaged the other way: points, or sequences first.",
            loss(start, other),
        ),
    ]


def _twice(first: Tensor, target: Tensor) -> Tensor:
    """Feed the first point in the place of the start."""
    return torch.cat([target[:, :1], target[:, :-1]], 1)


def asks(start: list[float], average: str) -> list[Asked]:
    """Return what is asked of a loss."""
    right, wrong = loss(start, average), mistakes(start, average)
    fed = "decoder.html#decoder-input-and-target"
    asked: list[tuple[str, list[Case], str, int]] = [
        (
            "it is fed the points before, and the start",
            [case(repeating, 1, 4, 4)],
            fed,
            2,
        ),
        (
            "it hides the future",
            [case(attending, 2, 5, 5), case(attending, 3, 4)],
            "decoder.html#the-causal-mask-no-looking-ahead",
            2,
        ),
        (
            "it leaves padding out",
            [case(silent, 4, 4, 2, 1)],
            "decoder-deeper.html#padding-in-the-source",
            2,
        ),
        (
            "all of that together",
            [case(attending, 5, 2, 6, 3), case(repeating, 6, 5, 1)],
            "decoder.html#dependencies-which-inputs-reach-an-output",
            2,
        ),
    ]
    return [
        Asked(message, agrees(right, cases, *wrong), section, points)
        for message, cases, section, points in asked
    ]


def on_paper(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked of the counts."""
    width, heads, inner = numbers["width"], numbers["heads"], numbers["inner"]
    source, target = numbers["source"], numbers["target"]
    whole = Decoder(d_model=width, num_heads=heads, d_ff=inner)
    attention = sum(p.numel() for p in whole.self_attention.parameters())
    network = sum(p.numel() for p in whole.feed_forward.parameters())
    wide = heads * width
    wanted = {
        "self_weights": heads * target * (target + 1) // 2,
        "cross_weights": heads * target * source,
        "depends": target - 1,
        "attention": attention,
        "network": network,
    }
    wrong: dict[str, dict[str, Any]] = {
        "self_weights": {
            "The mask hides the future.": heads * target**2,
            "Each head has weights of its own.": target * (target + 1) // 2,
            "A place sees itself.": heads * target * (target - 1) // 2,
        },
        "cross_weights": {
            "Each head has weights of its own.": target * source,
            "Queries come from the target, keys from the source.": heads * source**2,
            "There is no causal mask over the source.": heads * target * (target + 1) // 2,
        },
        "depends": {
            "The answer must not know the point that it is asked for.": target,
            "All points before it are fed.": 1,
        },
        "attention": {
            "The heads are wide: each has the full width.": 3 * 3 * width + width**2 + width,
            "The biases are missing.": 3 * 2 * wide + wide * width,
            "Its input has the width of a point.": 3 * (width * wide + wide) + wide * width + width,
            "The output layer is missing.": 9 * wide,
        },
        "network": {
            "It ends in a point.": 2 * width * inner + inner + width,
            "The biases are missing.": width * inner + 2 * inner,
        },
    }
    return gives(wanted, wrong, "decoder.html#the-decoder", tolerance=1e-6)


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    stub = "def sequence_loss(decoder, memory, target, lengths): ..."
    return [
        Exercise("sequence_loss", stub, asks(numbers["start"], numbers["average"])),
        Exercise("decoder_counts", "def decoder_counts(): ...", on_paper(numbers)),
    ]
