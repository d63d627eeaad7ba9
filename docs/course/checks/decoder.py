"""The decoder: the loss of one pass, and its numbers of weights."""

import torch

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.encoder_decoder import Decoder
from selfattn_book.exercises.checking.by_hand import by_hand
from selfattn_book.exercises.checking.exercise import checked, factory, for_credit
from selfattn_book.exercises.checking.numbers import normal
from selfattn_book.masks import causal_mask

INPUT = "decoder.html#decoder-input-and-target"
AHEAD = "decoder.html#the-causal-mask-no-looking-ahead"
LENGTHS = "decoder-deeper.html#padding-in-the-source"
DEPENDS = "decoder.html#encoder-and-decoder-together"
DECODER = "decoder.html#the-decoder"


def attending(shifted, memory, mask):
    context, _ = scaled_dot_product_attention(shifted, shifted, shifted, mask)
    return context.tanh() + memory.mean((1, 2), keepdim=True)


def repeating(shifted, memory, mask):
    return shifted


def silent(shifted, memory, mask):
    return torch.zeros_like(shifted)


for decoder in (attending, repeating, silent):
    decoder.message = f"a decoder that is {decoder.__name__}"


def case(decoder, seed, *lengths):
    n, longest = torch.tensor(lengths), max(lengths)
    memory, target = normal(seed, (len(lengths), 5, 3), (len(lengths), longest, 2))
    real = torch.arange(longest) < n[:, None]
    return decoder, memory, target.where(real[..., None], 3.0), n


@factory
def loss(start, average, decoder, memory, y, lengths, *, shift=None, masked=True, padded=False):
    """Return the loss of one pass, or with some wrong parts."""
    count, length, _ = y.shape
    first = torch.tensor(start, dtype=y.dtype).expand(count, 1, 2)
    shifted = shift(first, y) if shift else torch.cat([first, y[:, :-1]], 1)
    mask = causal_mask(length) if masked else torch.ones(length, length).bool()
    errors = (decoder(shifted, memory, mask) - y).pow(2).mean(-1)
    real = (torch.arange(length) < lengths[:, None]) | padded
    averages = {
        "points": errors[real].mean(),
        "sums": errors[real].sum(),
        "padded": (errors * real).mean(),
        "sequences": ((errors * real).sum(1) / real.sum(1)).mean(),
    }
    return averages[average]


def sequence_loss(start, average):
    right = loss(start, average)

    def shifted(shift):
        return loss(start, average, shift=shift)

    attended = case(attending, 2, 5, 5), case(attending, 3, 4)
    together = case(attending, 5, 2, 6, 3), case(repeating, 6, 5, 1)
    questions = [
        checked("its input is the start and the points before", INPUT, 2, case(repeating, 1, 4, 4)),
        checked("no output depends on later points", AHEAD, 2, *attended),
        checked("padding is left out", LENGTHS, 2, case(silent, 4, 4, 2, 1)),
        checked("all of that together", DEPENDS, 2, *together),
    ]
    return for_credit(
        "def sequence_loss(decoder, memory, target, lengths): ...",
        questions,
        right=right,
        wrong={
            "The input at each position is its own target.": shifted(lambda s, y: y),
            "It is shifted the other way: the input at a position is the point after it.": (
                shifted(lambda s, y: torch.cat([y[:, 1:], s], 1)),
                shifted(lambda s, y: torch.cat([y[:, 1:], y[:, -1:]], 1)),
            ),
            "The first input of all sequences is not your start.": loss([0.0, 0.0], average),
            "The first point is in the input twice; the start is missing.": (
                shifted(lambda s, y: torch.cat([y[:, :1], y[:, :-1]], 1))
            ),
            "There is no causal mask.": loss(start, average, masked=False),
            "Padding counts as if it were real.": loss(start, average, padded=True),
            "Padding is left out of the sum, but counted in the divisor.": loss(start, "padded"),
            "This is a sum, not a mean.": loss(start, "sums"),
            "A point has two errors; they are averaged.": lambda *case: 2 * right(*case),
            "The root was taken.": lambda *case: right(*case).sqrt(),
            "It is averaged the other way: points, or sequences first.": (
                loss(start, "sequences" if average == "points" else "points")
            ),
        },
        returns="the loss",
        gate=1,
    )


def on_paper(numbers):
    d, heads, inner = numbers["width"], numbers["heads"], numbers["inner"]
    source, target = numbers["source"], numbers["target"]
    whole = Decoder(d_model=d, num_heads=heads, d_ff=inner)
    attention = sum(p.numel() for p in whole.self_attention.parameters())
    network = sum(p.numel() for p in whole.feed_forward.parameters())
    wide, triangle = heads * d, target * (target + 1) // 2
    right = {
        "self_weights": heads * triangle,
        "cross_weights": heads * target * source,
        "depends": target - 1,
        "attention": attention,
        "network": network,
    }
    wrong = {
        "The mask hides the future.": {"self_weights": heads * target**2},
        "Each head has separate weights.": {
            "self_weights": triangle,
            "cross_weights": target * source,
        },
        "A position attends to itself.": {"self_weights": heads * target * (target - 1) // 2},
        "Queries come from the target, keys from the source.": {"cross_weights": heads * source**2},
        "There is no causal mask over the source.": {"cross_weights": heads * triangle},
        "The output must not depend on its own target.": {"depends": target},
        "It depends on all points before it.": {"depends": 1},
        "The heads are wide: each has the full width.": {"attention": 3 * 3 * d + d**2 + d},
        "The biases are missing.": {
            "attention": 3 * 2 * wide + wide * d,
            "network": d * inner + 2 * inner,
        },
        "Its input has the width of a point.": {"attention": 3 * (d * wide + wide) + wide * d + d},
        "The output layer is missing.": {"attention": 9 * wide},
        "It ends in a point.": {"network": 2 * d * inner + inner + d},
    }
    return by_hand("decoder_counts", DECODER, right, wrong, tolerance=1e-6)


def exercises(numbers):
    return [sequence_loss(numbers["start"], numbers["average"]), on_paper(numbers)]
