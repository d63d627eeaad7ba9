"""Peak memory of one attention: ``python -m benchmarks.memory LENGTH KIND``.

With weights and without, forward and backward, of the book's module; in blocks, forward, of one head
of :func:`~selfattn_book.blockwise.blockwise_attention`. Each length runs in a process of its own,
since a peak does not go down again. Linux only.
"""

import os
import subprocess
import sys
from pathlib import Path

import torch

from selfattn_book.blockwise import blockwise_attention
from selfattn_book.multi_head import MultiHeadAttention

LENGTHS = {
    "no weights": (512, 1024, 2048, 4096, 8192),
    "with weights": (512, 1024, 2048),
    "in blocks": (2048, 4096, 8192, 16384),
}
D_MODEL, HEADS = 256, 8
# Linear means that the last doubling costs twice what the one before cost; quadratic, four times.
AT_MOST = 3.0


def peaks() -> dict[str, dict[int, float]]:
    """Return the peak in MiB above that of a process that attends to one position."""
    found = {}
    for kind, lengths in LENGTHS.items():
        least = of_process(1, kind)
        found[kind] = {length: of_process(length, kind) - least for length in lengths}
    return found


def is_linear(found: dict[str, dict[int, float]]) -> bool:
    """Tell whether without weights, and in blocks, the memory grows as the length does."""
    return all(grows_as_the_length(kind, found[kind]) for kind in found)


def grows_as_the_length(kind: str, found: dict[int, float]) -> bool:
    """Tell whether the last doubling shows no square.

    >>> grows_as_the_length("no weights", {1: 10.0, 2: 20.0, 4: 40.0})
    True
    >>> grows_as_the_length("no weights", {1: 10.0, 2: 40.0, 4: 160.0})
    False
    >>> grows_as_the_length("with weights", {1: 10.0, 2: 40.0, 4: 160.0})   # may be square
    True
    """
    *_, a, b, c = found.values()
    return kind == "with weights" or (c - b) / (b - a) <= AT_MOST


def table(found: dict[str, dict[int, float]]) -> str:
    """Return the peaks as a reader wants them."""
    lines = [f"peak memory of one attention (1, T, {D_MODEL}, {HEADS}), in MiB:"]
    for kind, own in found.items():
        values = "  ".join(f"T={length}: {peak:.0f}" for length, peak in own.items())
        lines.append(f"  {kind:14}{values}")
    for kind in found:
        if kind != "with weights":
            verdict = "met" if grows_as_the_length(kind, found[kind]) else "MISSED"
            lines.append(f"  {kind}, linear in T: {verdict}")
    return "\n".join([*lines, ""])


def of_process(length: int, kind: str) -> float:
    """Return the peak of a process that attends once, in MiB."""
    command = [sys.executable, "-m", "benchmarks.memory", str(length), kind]
    return peak_of(command)


def peak_of(command: list[str]) -> float:
    """Return what a process prints of its peak; it gives back at once what it no longer holds."""
    exact = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    message = subprocess.run(command, capture_output=True, text=True, check=True, env=exact)
    return float(message.stdout)


def _attend(length: int, kind: str) -> None:
    torch.manual_seed(23)
    if kind == "in blocks":
        x = torch.randn(1, 1, length, D_MODEL // HEADS)
        blockwise_attention(x, x, x)
        return
    x = torch.randn(1, length, D_MODEL, requires_grad=True)
    attention = MultiHeadAttention(D_MODEL, HEADS)
    need_weights = kind == "with weights"
    attention(x, x, x, need_weights=need_weights)[0].sum().backward()


def peak() -> float:
    """Return the peak of this process in MiB; what the standard library tells is its parent's."""
    status = Path("/proc/self/status").read_text("ascii").splitlines()
    (line,) = [line for line in status if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 2**10


if __name__ == "__main__":
    torch.set_num_threads(2)
    _attend(int(sys.argv[1]), sys.argv[2])
    print(peak())
