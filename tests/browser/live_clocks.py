"""Random states of the clocks of a positional encoding, and the encoding that the package computes."""

import torch

from selfattn_book.figures.shifted_clocks import shifted_clocks
from selfattn_book.positions import sinusoidal_encoding


def a_shift(chance):
    pairs, position, steps, base = torch.randint(10**6, (4,), generator=chance).tolist()
    power = 1 + 0.5 * (base % 11)
    return shifted_clocks(2 + 2 * (pairs % 8), position % 31, steps % 10, base=10.0**power)


def encoded_positions(chance):
    pairs, position = torch.randint(1, 9, (2,), generator=chance).tolist()
    state = {"position": position, "steps": 3, "base": 4, "dimension": 2 * pairs}
    return state, {"encoding": sinusoidal_encoding(9, 2 * pairs, dtype=torch.float64)[position]}
