"""Run the comparisons, print who took how long, and keep it: ``python -m benchmarks``."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks import attention, blocks, cost, language, memory, predict, train
from benchmarks.plot import draw
from benchmarks.provenance import provenance
from benchmarks.timing import Times, alternate, ratio, spread


@dataclass(frozen=True)
class Target:
    """How long a contender may take, in times of another."""

    contender: str
    yardstick: str
    at_most: float


@dataclass(frozen=True)
class Comparison:
    """What is compared, and what it should come to.

    Attributes:
        title: what all contenders do.
        contenders: makes them, by name, after it has checked that they agree;
            ratios in the table are to the first.
        targets: what is promised.
        threads: with one, processor time is compared; with more, time on the wall.
    """

    title: str
    contenders: Callable[[], Mapping[str, Callable[[], object]]]
    targets: tuple[Target, ...]
    threads: int = 1


def attention_comparison(
    sizes: tuple[int, int, int, int],
    of_layer: float,
    *others: Target,
    weights: bool = False,
    repeat: int = 1,
) -> Comparison:
    """Compare one attention of these sizes ``(B, T, D, H)``, forward and backward."""
    make = attention.contenders_with_weights if weights else attention.contenders
    kind = "with weights" if weights else "no weights"
    return Comparison(
        f"attention {sizes}, {kind}",
        lambda: make(*sizes, repeat=repeat),
        (Target("the book", "nn.MultiheadAttention", of_layer), *others),
        threads=2,
    )


def block_comparison(kind: str) -> Comparison:
    """Compare one training step of a block with that of PyTorch's layer."""
    targets = (Target("the book", "PyTorch's layer", 1.0),)
    make = getattr(blocks, f"{kind}_contenders")
    title = f"a training step of one {kind} block (8, 128, 256, 8)"
    return Comparison(title, lambda: make(8, 128, 256, 8), targets, threads=2)


SHORT, LONG, TINY = (8, 128, 256, 8), (2, 1024, 256, 8), (16, 4, 6, 3)
# At the tiny size nothing is computed and all is calls: four linear layers and PyTorch's own kernel,
# with no check around them, take 0.85 to 0.90 of nn.MultiheadAttention already.
RAW = Target("the book", "raw kernel", 1.05)
LOOP = Target("the book", "one module per head", 0.5)
COMPARISONS = {
    # These models are tiny, and more threads would only wait for each other.
    "train": Comparison(
        "100 epochs of training on squares",
        train.contenders,
        (Target("the book", "one module per head", 0.4),),
    ),
    "predict": Comparison(
        "prediction of 256 points",
        predict.contenders,
        (Target("cached", "all anew at every step", 1 / 5),),
    ),
    "short": attention_comparison(SHORT, 1.0, RAW, repeat=4),
    "long": attention_comparison(LONG, 1.0, RAW),
    "tiny": attention_comparison(TINY, 0.95, LOOP, repeat=100),
    "short-weights": attention_comparison(SHORT, 1.0, weights=True, repeat=4),
    "long-weights": attention_comparison(LONG, 1.0, weights=True),
    "encoder": block_comparison("encoder"),
    "decoder": block_comparison("decoder"),
    "transformer": Comparison(
        "a training step of 3 encoder and 3 decoder blocks (8, 128, 256, 8)",
        lambda: blocks.transformer_contenders(8, 128, 256, 8),
        (Target("the book", "nn.Transformer", 1.0),),
    ),
    "one-pass": Comparison(
        "attention of one head at T = 8192, forward",
        lambda: cost.one_pass_contenders(8192),
        (Target("blocks, in Python", "fused", 4.0),),
    ),
    # What a token costs beside its walk along the cache does not depend on the cache.
    "token": Comparison(
        "one more token beside a cache (1, 1, 256, 4), 21 times",
        lambda: cost.token_contenders(64, 1024),
        (Target("projections, 1024 keys", "projections, 64 keys", 1.2),),
    ),
    "language-model": Comparison(
        "a training step of a decoder-only model (8, 128, 256, 8), 4 blocks",
        language.training_contenders,
        (Target("the book", "transformers' GPT-2", 1.0),),
    ),
    "writing": Comparison(
        "256 tokens written with a cache, 4 blocks",
        language.writing_contenders,
        (Target("the book", "transformers' generate", 0.8),),
    ),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the comparisons; return 0 if all targets are met, and 1 if not."""
    options = _parser().parse_args(arguments)
    results = {}
    for name in [options.only] if options.only else COMPARISONS:
        comparison = COMPARISONS[name]
        torch.set_num_threads(comparison.threads)
        times = alternate(comparison.contenders(), options.runs)
        results[name] = judge(comparison, times)
        print(table(results[name]), flush=True)
    peaks = {} if options.only else memory.peaks()
    if peaks:
        print(memory.table(peaks))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    content = {**provenance(options.runs), "comparisons": results, "peaks": peaks}
    options.json.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    picture = options.json.with_suffix(".svg")
    draw(results, picture)
    print(f"All times are in {options.json}, and a picture of them in {picture}.")
    missed = misses(results, peaks)
    print("\n".join(["MISSED:", *missed] if missed else ["All targets are met."]))
    return int(bool(missed))


def judge(comparison: Comparison, times: Mapping[str, Times]) -> dict[str, Any]:
    """Return each contender's times and ratio, and of each target whether it is met."""
    clock = "processor" if comparison.threads == 1 else "wall"
    compared = {name: getattr(own, clock) for name, own in times.items()}
    first = next(iter(compared.values()))
    rows = [
        {"contender": name, "ratio": ratio(compared[name], first), **asdict(own)}
        for name, own in times.items()
    ]
    targets = []
    for target in comparison.targets:
        factor = ratio(compared[target.contender], compared[target.yardstick])
        verdict = {"ratio": factor, "met": factor <= target.at_most}
        targets.append({**asdict(target), **verdict})
    return {
        "title": comparison.title,
        "threads": comparison.threads,
        "clock": clock,
        "contenders": rows,
        "targets": targets,
    }


def table(result: dict[str, Any]) -> str:
    """Return a result as a reader wants it."""
    clock = f"{result['clock']} seconds"
    lines = [f"{result['title']}:", f"  {'':24}{clock:>20} {'least to most':>20} {'ratio':>7}"]
    for row in result["contenders"]:
        least, middle, most = spread(row[result["clock"]])
        span = f"{least:.4f} to {most:.4f}"
        line = f"  {row['contender']:24}{middle:20.4f} {span:>20} {row['ratio']:7.3f}"
        lines.append(line)
    for target in result["targets"]:
        verdict = "met" if target["met"] else "MISSED"
        lines.append(f"  {outcome(target)}: {verdict}")
    return "\n".join([*lines, ""])


def outcome(target: dict[str, Any]) -> str:
    """Return what a target came to, beside what it should."""
    pair = f"{target['contender']} / {target['yardstick']}"
    return f"{pair}: {target['ratio']:.3f}, at most {target['at_most']:.2f}"


def misses(results: Mapping[str, dict[str, Any]], peaks: dict[str, dict[int, float]]) -> list[str]:
    """Return a line for each target that was missed."""
    lines = [
        f"  {result['title']}: {outcome(target)}"
        for result in results.values()
        for target in result["targets"]
        if not target["met"]
    ]
    return lines if memory.is_linear(peaks) else [*lines, "  memory, linear in T"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Time the book's code beside other code, in turns."
        " With one thread, processor time is compared, with two, time on the wall, run by run;"
        " a ratio is the median over the runs. The exit code is 1 if a target is missed.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--only", choices=COMPARISONS, help="one comparison")
    parser.add_argument("--runs", type=int, default=7, help="timed runs of each")
    parser.add_argument("--json", type=Path, default="_build/bench.json", help="file for all times")
    return parser


if __name__ == "__main__":
    sys.exit(main())
