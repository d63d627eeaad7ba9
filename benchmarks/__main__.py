"""Run the comparisons, and print and write their times: ``python -m benchmarks``."""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks import attention, blocks, cost, language, live_figures, long_texts, memory, squares
from benchmarks.contenders import Contenders
from benchmarks.provenance import provenance
from benchmarks.timing import Times, alternate, ratio
from selfattn_book.blocks import DecoderBlock, EncoderBlock

Pair = tuple[str, str]  # a contender, and the one that it is compared with


@dataclass(frozen=True)
class Comparison:
    """Contenders, and the ratios of time that the book promises.

    Attributes:
        title: task of all contenders.
        contenders: function that makes the contenders, after it has checked that they agree;
            ratios in the table are to the first.
        targets: largest ratio of time of each pair.
        threads: with one, processor time is compared; with more, wall time.
    """

    title: str
    contenders: Callable[[], Contenders]
    targets: Mapping[Pair, float]
    threads: int = 1


def attention_comparison(
    sizes: tuple[int, int, int, int],
    of_layer: float,
    others: Mapping[Pair, float] | None = None,
    **options: Any,
) -> Comparison:
    """Compare one attention of these sizes ``(B, T, D, H)``, forward and backward."""
    kind = "with weights" if options.get("weights") else "no weights"
    make = partial(attention.contenders, *sizes, **options)
    targets = {("the book", "nn.MultiheadAttention"): of_layer, **(others or {})}
    return Comparison(f"attention {sizes}, {kind}", make, targets, threads=2)


SHORT, LONG, TINY = (8, 128, 256, 8), (2, 1024, 256, 8), (16, 4, 6, 3)
# At the tiny size nearly all time is that of calls: four linear layers and PyTorch's own kernel,
# without any check, already take 0.85 to 0.90 of the time of nn.MultiheadAttention.
RAW = {("the book", "raw kernel"): 1.05}
LOOP = {("the book", "one module per head"): 0.5}
LAYER = {("the book", "PyTorch's layer"): 1.0}
COMPARISONS = {
    # These models are tiny, and more threads would only wait for each other.
    "train": Comparison(
        "100 epochs of training on squares",
        squares.training_contenders,
        {("the book", "one module per head"): 0.4},
    ),
    "predict": Comparison(
        "prediction of 256 points",
        squares.prediction_contenders,
        {("cached", "without a cache"): 1 / 5},
    ),
    "short": attention_comparison(SHORT, 1.0, RAW, repeat=4),
    "long": attention_comparison(LONG, 1.0, RAW),
    "tiny": attention_comparison(TINY, 0.95, LOOP, repeat=100),
    "short-weights": attention_comparison(SHORT, 1.0, weights=True, repeat=4),
    "long-weights": attention_comparison(LONG, 1.0, weights=True),
    "encoder": Comparison(
        f"a training step of one encoder block {SHORT}",
        partial(blocks.block_contenders, EncoderBlock, SHORT),
        LAYER,
        threads=2,
    ),
    "decoder": Comparison(
        f"a training step of one decoder block {SHORT}",
        partial(blocks.block_contenders, DecoderBlock, SHORT),
        LAYER,
        threads=2,
    ),
    "transformer": Comparison(
        f"a training step of 3 encoder and 3 decoder blocks {SHORT}",
        partial(blocks.transformer_contenders, *SHORT),
        {("the book", "nn.Transformer"): 1.0},
    ),
    "one-pass": Comparison(
        "attention of one head at T = 8192, forward",
        partial(cost.one_pass_contenders, 8192),
        {("blocks, in Python", "fused"): 4.0},
    ),
    # Only the attention to the cache depends on the cache's length.
    "token": Comparison(
        "one more token beside a cache (1, 1, 256, 4), 21 times",
        partial(cost.token_contenders, 64, 1024),
        {("projections, 1024 keys", "projections, 64 keys"): 1.2},
    ),
    "reading": Comparison(
        "8192 tokens read by a decoder-only model (1, 8192, 256, 4), 2 blocks",
        partial(long_texts.reading_contenders, 8192),
        {("the book", "is_causal=True"): 1.1},
    ),
    **{
        f"step-{keys}": Comparison(
            f"a token beside a cache of {keys} keys, 16 heads that share 2, 10 times",
            partial(long_texts.step_contenders, keys),
            {
                ("the book", "enable_gqa, preallocated"): 1.3,
                ("the book, from a copy", "the book"): 1.2,
            },
        )
        for keys in long_texts.KEYS
    },
    "language-model": Comparison(
        "a training step of a decoder-only model (8, 128, 256, 8), 4 blocks",
        language.training_contenders,
        {("the book", "transformers' GPT-2"): 1.0},
    ),
    "writing": Comparison(
        "256 tokens generated with a cache, 4 blocks",
        language.writing_contenders,
        {("the book", "transformers' generate"): 0.8},
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
    updates = {} if options.only else live_figures.medians()
    if updates:
        print(f"an update of a live figure, at most {live_figures.AT_MOST} ms:")
        print(*(f"  {name:32}{ms:5.1f} ms" for name, ms in updates.items()), sep="\n")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    content = {
        **provenance(options.runs),
        "comparisons": results,
        "peaks": peaks,
        "updates": updates,
    }
    options.json.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    print(f"All times are in {options.json}.")
    if steps := {int(name[5:]): found for name, found in results.items() if name[:5] == "step-"}:
        print(f"Curves of the steps are in {long_texts.draw(steps, options.json)}.")
    missed = misses(results, peaks, updates)
    print("\n".join(["MISSED:", *missed] if missed else ["All targets are met."]))
    return int(bool(missed))


def judge(comparison: Comparison, times: Mapping[str, Times]) -> dict[str, Any]:
    """Return the times and ratios of the contenders, and whether each target is met."""
    clock = "processor" if comparison.threads == 1 else "wall"
    compared = {name: getattr(own, clock) for name, own in times.items()}
    first = next(iter(compared.values()))
    rows = [
        {"contender": name, "ratio": ratio(compared[name], first), **asdict(own)}
        for name, own in times.items()
    ]
    targets = []
    for (contender, other), at_most in comparison.targets.items():
        found = ratio(compared[contender], compared[other])
        target = {"contender": contender, "other": other, "at_most": at_most}
        targets.append({**target, "ratio": found, "met": found <= at_most})
    about = {"title": comparison.title, "threads": comparison.threads, "clock": clock}
    return {**about, "contenders": rows, "targets": targets}


def table(result: dict[str, Any]) -> str:
    """Return a result as text."""
    clock = f"{result['clock']} seconds"
    lines = [f"{result['title']}:", f"  {'':24}{clock:>20} {'least to most':>20} {'ratio':>7}"]
    for row in result["contenders"]:
        times = row[result["clock"]]
        middle, span = statistics.median(times), f"{min(times):.4f} to {max(times):.4f}"
        lines.append(f"  {row['contender']:24}{middle:20.4f} {span:>20} {row['ratio']:7.3f}")
    for target in result["targets"]:
        lines.append(f"  {outcome(target)}: {'met' if target['met'] else 'MISSED'}")
    return "\n".join([*lines, ""])


def outcome(target: dict[str, Any]) -> str:
    """Return the ratio of a target, and its largest value."""
    pair = f"{target['contender']} / {target['other']}"
    return f"{pair}: {target['ratio']:.3f}, at most {target['at_most']:.2f}"


def misses(
    results: Mapping[str, dict[str, Any]], peaks: memory.Peaks, updates: Mapping[str, float]
) -> list[str]:
    """Return a line for each target that was missed."""
    lines = [
        f"  {result['title']}: {outcome(target)}"
        for result in results.values()
        for target in result["targets"]
        if not target["met"]
    ]
    lines += [f"  memory of {way}, linear in T" for way in memory.nonlinear(peaks)]
    slow = live_figures.AT_MOST
    return lines + [f"  update of {name}: {ms:.1f} ms" for name, ms in updates.items() if ms > slow]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Time the book's code beside other code, in turns."
        " With one thread, processor time is compared, with two, wall time, run by run;"
        " a ratio is the median over the runs. The exit code is 1 if a target is missed.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--only", choices=COMPARISONS, help="one comparison")
    parser.add_argument("--runs", type=int, default=7, help="timed runs of each")
    parser.add_argument("--json", type=Path, default="_build/bench.json", help="file for all times")
    return parser


if __name__ == "__main__":
    sys.exit(main())
