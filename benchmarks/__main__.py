"""Run the comparisons, print who took how long, and keep it: ``python -m benchmarks``."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

import selfattn_book
from benchmarks import predict, train
from benchmarks.timing import Times, alternate, ratio, spread


@dataclass(frozen=True)
class Comparison:
    """What is compared, and what it should come to.

    Attributes:
        title: what all contenders do.
        contenders: makes them, by name, after it has checked that they agree;
            the first is the yardstick.
        targets: the largest time that a contender may take, in times of the yardstick.
    """

    title: str
    contenders: Callable[[], Mapping[str, Callable[[], object]]]
    targets: dict[str, float]


# The models are tiny, and more threads would only wait for each other.
THREADS = 1
COMPARISONS = {
    "train": Comparison(
        "100 epochs of training on squares", train.contenders, {"the book": 0.4}
    ),
    "predict": Comparison(
        "prediction of 256 points", predict.contenders, {"cached": 1 / 5}
    ),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the comparisons; return 0 if all targets are met, and 1 if not."""
    options = _parser().parse_args(arguments)
    torch.set_num_threads(THREADS)
    results = {}
    for name in [options.only] if options.only else COMPARISONS:
        comparison = COMPARISONS[name]
        times = alternate(comparison.contenders(), options.runs)
        results[name] = judge(comparison, times)
        print(table(comparison.title, results[name]), flush=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    content = {**provenance(options.runs), "comparisons": results}
    options.json.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    print(f"All times are in {options.json}.")
    return int(any(row["met"] is False for r in results.values() for row in r))


def judge(
    comparison: Comparison, times: Mapping[str, Times]
) -> list[dict[str, Any]]:
    """Return for each contender its times, its ratio, its target, and whether that is met."""
    yardstick = next(iter(times.values())).processor
    rows = []
    for name, own in times.items():
        target = comparison.targets.get(name)
        factor = ratio(own.processor, yardstick)
        met = None if target is None else factor <= target
        verdict = {"ratio": factor, "target": target, "met": met}
        rows.append({"contender": name, **verdict, **asdict(own)})
    return rows


def table(title: str, rows: list[dict[str, Any]]) -> str:
    """Return the rows as a reader wants them."""
    heads = f"{'processor seconds':>27} {'wall':>8} {'ratio':>7}"
    lines = [f"{title}:", f"  {'':24}{heads}"]
    for row in rows:
        least, middle, most = spread(row["processor"])
        _, wall, _ = spread(row["wall"])
        seconds = f"{middle:8.3f} ({least:7.3f} -{most:7.3f}) {wall:8.3f}"
        line = f"  {row['contender']:24}{seconds} {row['ratio']:7.3f}"
        if row["target"] is not None:
            verdict = "met" if row["met"] else "MISSED"
            line += f"  at most {row['target']:.2f}: {verdict}"
        lines.append(line)
    return "\n".join([*lines, ""])


def provenance(runs: int) -> dict[str, Any]:
    """Return where and with what the times were taken."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "selfattn_book": selfattn_book.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
        "platform": platform.platform(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "cpu_count": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "runs": runs,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Time the book's code beside other code, in turns."
        f" With {THREADS} thread, processor time is compared, run by run;"
        " a ratio is the median over the runs. The exit code is 1 if a target is missed.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--only", choices=COMPARISONS, help="one comparison")
    parser.add_argument("--runs", type=int, default=7, help="timed runs of each")
    parser.add_argument(
        "--json", type=Path, default="_build/bench.json", help="file for all times"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
