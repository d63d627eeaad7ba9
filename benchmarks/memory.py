"""Peak memory of one attention, forward and backward: ``python -m benchmarks.memory LENGTH``.

Each length runs in a process of its own, since a peak does not go down again. Linux only.
"""

import subprocess
import sys
from pathlib import Path

import torch

from selfattn_book.multi_head import MultiHeadAttention

LENGTHS = {False: (512, 1024, 2048, 4096, 8192), True: (512, 1024, 2048)}
D_MODEL, HEADS = 256, 8
# Linear means that the last doubling costs twice what the one before cost; quadratic, four times.
AT_MOST = 3.0


def peaks() -> dict[str, dict[int, float]]:
    """Return the peak in MiB above that of a process that attends to one position."""
    found = {}
    for need_weights, lengths in LENGTHS.items():
        least = _of_process(1, need_weights)
        name = "with weights" if need_weights else "no weights"
        found[name] = {
            length: _of_process(length, need_weights) - least for length in lengths
        }
    return found


def is_linear(found: dict[str, dict[int, float]]) -> bool:
    """Tell whether without weights the memory grows as the length does."""
    if not found:
        return True
    *_, a, b, c = found["no weights"].values()
    return (c - b) / (b - a) <= AT_MOST


def table(found: dict[str, dict[int, float]]) -> str:
    """Return the peaks as a reader wants them."""
    lines = [f"peak memory of one attention (1, T, {D_MODEL}, {HEADS}), in MiB:"]
    for name, own in found.items():
        values = "  ".join(
            f"T={length}: {peak:.0f}" for length, peak in own.items()
        )
        lines.append(f"  {name:14}{values}")
    verdict = "met" if is_linear(found) else "MISSED"
    lines.append(f"  no weights, linear in T: {verdict}")
    return "\n".join([*lines, ""])


def _of_process(length: int, need_weights: bool) -> float:
    command = [sys.executable, "-m", "benchmarks.memory", str(length)]
    command += ["--weights"] if need_weights else []
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(told.stdout)


def _attend(length: int, need_weights: bool) -> None:
    torch.manual_seed(23)
    x = torch.randn(1, length, D_MODEL, requires_grad=True)
    attention = MultiHeadAttention(D_MODEL, HEADS)
    attention(x, x, x, need_weights=need_weights)[0].sum().backward()


def _peak() -> float:
    """Return the peak of this process in MiB; what the standard library tells is its parent's."""
    status = Path("/proc/self/status").read_text("ascii").splitlines()
    (line,) = [line for line in status if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 2**10


if __name__ == "__main__":
    torch.set_num_threads(2)
    _attend(int(sys.argv[1]), "--weights" in sys.argv)
    print(_peak())
