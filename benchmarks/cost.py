"""Cost of attention against length, as the chapter *What attention costs* shows it.

``python -m benchmarks.cost`` times five ways to attend, and one token beside a cache, and writes all
times with machine, versions and date into ``selfattn_book/data/recorded_times.json``;
``--device cuda`` does so on a GPU, and leaves the record of a CPU as it is. On a CPU one thread is
used, and processor time is measured, which other programs do not change; on a GPU, wall time.
"""

import argparse
import platform
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks import memory
from benchmarks.attention import with_kernel
from benchmarks.contenders import Contenders, assert_agreement
from benchmarks.memory import D_MODEL, HEADS
from benchmarks.one_module_per_head import Heads
from benchmarks.provenance import as_json, provenance, with_digest
from benchmarks.timing import alternate
from selfattn_book.blockwise import blockwise_attention
from selfattn_book.cache import KeyValueCache
from selfattn_book.experiments.recorded_times import FILE, RECORDED
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.pytorch import to_torch

LENGTHS = tuple(2**k for k in range(6, 14))  # 64 to 8192
PEAKS = dict.fromkeys(("with weights", "blocks, in Python", "fused"), LENGTHS[4:])


def layers(length: int, device: str) -> Contenders:
    """Return five ways to let a text attend to itself, with the same weights, without gradients."""
    ours, x = _drawn(device, length)
    theirs, loop = to_torch(ours).eval(), Heads(ours)
    ways: dict[str, Callable[[], Tensor]] = {
        "heads in a loop": lambda: loop(x, x, x)[0],
        "all heads at once": lambda: ours(x, x, x)[0],
        "nn.MultiheadAttention": lambda: theirs(x, x, x, need_weights=False)[0],
        "blocks, in Python": lambda: with_kernel(ours, x, blockwise_attention),
        "fused": lambda: ours(x, x, x, need_weights=False)[0],
    }
    with torch.no_grad():
        assert_agreement(ways, atol=1e-4 if device == "cpu" else 3e-2)
    return {name: partial(_run, way, device) for name, way in ways.items()}


def tokens(length: int, device: str) -> Contenders:
    """Return one more token beside a cache of some length: the whole layer, and its projections."""
    ours, x = _drawn(device, length)
    full, newest = KeyValueCache(), x[:, :1]
    with torch.no_grad():
        ours(x, x, x, need_weights=False, cache=full)

    def layer() -> Tensor:
        full.length = length  # the newest token of the run before is discarded
        return ours(newest, newest, newest, need_weights=False, cache=full)[0]

    def projections() -> Tensor:
        for part in (ours.project_query, ours.project_key, ours.project_value):
            part(newest)
        return ours.project_output(newest)

    def repeat(way: Callable[[], Tensor]) -> Tensor:
        for _ in range(20):
            way()
        return way()

    ways = {"layer": partial(repeat, layer), "projections": partial(repeat, projections)}
    return {name: partial(_run, way, device) for name, way in ways.items()}


def record(device: str, runs: int, lengths: tuple[int, ...] = LENGTHS) -> dict[str, Any]:
    """Time everything, and return it with its provenance and a digest."""
    torch.set_num_threads(1)
    found: dict[str, Any] = {"layers": {}, "tokens": {}}
    for kind, make in (("layers", layers), ("tokens", tokens)):
        for length in lengths:
            times = alternate(make(length, device), runs)
            for name, own in times.items():
                seconds = own.processor if device == "cpu" else own.wall
                milliseconds = [round(1e3 * second, 3) for second in seconds]
                found[kind].setdefault(name, {})[str(length)] = milliseconds
            print(kind, length, {name: own[str(length)] for name, own in found[kind].items()})
    if device == "cpu":
        peaks = memory.peaks(PEAKS)
        found["peaks"] = {
            way: {str(n): peak for n, peak in own.items()} for way, own in peaks.items()
        }
    sizes = {"batch": 1, "d_model": D_MODEL, "num_heads": HEADS}
    about = {"device": device, "processor": processor(device), **provenance(runs)}
    about["platform"] = f"{platform.system()} {platform.machine()}"  # no more than readers need
    return with_digest({**about, "sizes": sizes, **found})


def one_pass_contenders(length: int) -> Contenders:
    """Return one head's attention, fused and by blocks; fused comes first."""
    torch.manual_seed(23)
    query, key, value = torch.randn(3, 1, 1, length, D_MODEL // HEADS)
    ways: dict[str, Callable[[], Tensor]] = {
        "fused": lambda: F.scaled_dot_product_attention(query, key, value),
        "blocks, in Python": lambda: blockwise_attention(query, key, value),
    }
    assert_agreement(ways, atol=1e-5)
    return {name: partial(_run, way, "cpu") for name, way in ways.items()}


def token_contenders(short: int, long: int) -> Contenders:
    """Return one more token beside two caches, its projections alone and the whole layer."""
    ways = {length: tokens(length, "cpu") for length in (short, long)}
    names = [(name, length) for name in ("projections", "layer") for length in ways]
    return {f"{name}, {length} keys": ways[length][name] for name, length in names}


def _drawn(device: str, length: int) -> tuple[MultiHeadAttention, Tensor]:
    torch.manual_seed(23)
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    attention = MultiHeadAttention(D_MODEL, HEADS).to(device, dtype).eval()
    return attention, torch.randn(1, length, D_MODEL).to(device, dtype)


@torch.no_grad()
def _run(way: Callable[[], Tensor], device: str) -> None:
    way()
    if device != "cpu":
        torch.cuda.synchronize()


def processor(device: str) -> str:
    """Return the name of the processor."""
    if device != "cpu":
        return torch.cuda.get_device_name()
    message = Path("/proc/cpuinfo")
    lines = message.read_text("utf-8").splitlines() if message.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else "unknown"


def main(arguments: list[str] | None = None) -> int:
    """Record the times of one device, beside those of the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--runs", type=int, default=7, help="timed runs of each")
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("there is no GPU that PyTorch can use")
    recorded = {**RECORDED, options.device: record(options.device, options.runs)}
    options.file.write_text(as_json(recorded), "utf-8")
    print(f"Recorded in {options.file}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
