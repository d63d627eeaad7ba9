"""Peak memory of one attention: ``python -m benchmarks.memory WAY LENGTH``.

A layer is run forward and backward, one head forward only. Each length runs in a process of its own,
since a peak never falls. Linux only.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.blockwise import blockwise_attention
from selfattn_book.multi_head import MultiHeadAttention

D_MODEL, HEADS = 256, 4
LENGTHS = {
    "layer, no weights": (512, 1024, 2048, 4096, 8192),
    "layer, with weights": (512, 1024, 2048),
    "blocks, in Python": (2048, 4096, 8192, 16384),
}
QUADRATIC = "layer, with weights"
# If memory is linear, the last doubling costs twice what the one before cost; if quadratic, four times.
AT_MOST = 3.0
Peaks = dict[str, dict[int, float]]  # of each way, by length


def _layer(length: int, need_weights: bool) -> None:
    x = torch.randn(1, length, D_MODEL, requires_grad=True)
    context, _ = MultiHeadAttention(D_MODEL, HEADS)(x, x, x, need_weights=need_weights)
    context.sum().backward()


def _head(length: int, attend: Callable[..., Tensor | tuple[Tensor, Tensor]]) -> None:
    x = torch.randn(1, 1, length, D_MODEL // HEADS)
    attend(x, x, x)


WAYS: dict[str, Callable[[int], None]] = {
    "layer, no weights": partial(_layer, need_weights=False),
    "layer, with weights": partial(_layer, need_weights=True),
    "with weights": partial(_head, attend=scaled_dot_product_attention),
    "blocks, in Python": partial(_head, attend=blockwise_attention),
    "fused": partial(_head, attend=F.scaled_dot_product_attention),
}


def peaks(lengths: Mapping[str, Iterable[int]] = LENGTHS) -> Peaks:
    """Return the peaks in MiB above that of a process that attends to one position."""
    found = {}
    for way, sizes in lengths.items():
        least = of_process(way, 1)
        found[way] = {length: round(of_process(way, length) - least, 2) for length in sizes}
    return found


def of_process(way: str, length: int) -> float:
    """Return the peak of a process that attends once, in MiB; it frees memory immediately."""
    command = [sys.executable, "-m", "benchmarks.memory", way, str(length)]
    exact = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    message = subprocess.run(command, capture_output=True, text=True, check=True, env=exact)
    return float(message.stdout)


def nonlinear(found: Peaks) -> list[str]:
    """Return the ways whose memory should be linear in the length, and is not.

    >>> nonlinear({"fused": {1: 10.0, 2: 20.0, 4: 40.0}})
    []
    >>> nonlinear({"fused": {1: 10.0, 2: 40.0, 4: 160.0}})
    ['fused']
    >>> nonlinear({"layer, with weights": {1: 10.0, 2: 40.0, 4: 160.0}})   # may be quadratic
    []
    """
    wrong = []
    for way, own in found.items():
        *_, a, b, c = own.values()
        if way != QUADRATIC and (c - b) / (b - a) > AT_MOST:
            wrong.append(way)
    return wrong


def table(found: Peaks) -> str:
    """Return the peaks as text."""
    lines = [f"peak memory of one attention, D = {D_MODEL}, H = {HEADS}, in MiB:"]
    for way, own in found.items():
        values = "  ".join(f"T={length}: {peak:.0f}" for length, peak in own.items())
        lines.append(f"  {way:20}{values}")
    lines += [f"  {way}, linear in T: MISSED" for way in nonlinear(found)]
    return "\n".join([*lines, ""])


def peak() -> float:
    """Return the peak of this process in MiB; the standard library returns its parent's."""
    status = Path("/proc/self/status").read_text("ascii").splitlines()
    (line,) = [line for line in status if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 2**10


if __name__ == "__main__":
    torch.set_num_threads(1)
    WAYS[sys.argv[1]](int(sys.argv[2]))
    print(peak())
