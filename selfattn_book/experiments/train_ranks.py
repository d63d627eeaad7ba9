"""Train a small language model in one process or in several, with the same result.

In one process::

    python -m selfattn_book.experiments.train_ranks

in two ranks, with PyTorch's launcher::

    python -m torch.distributed.run --standalone --nproc-per-node 2 \
        -m selfattn_book.experiments.train_ranks

The training sequences are random walks, for which the smallest expected loss is known: ln 2.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import count

import torch
import torch.distributed as dist

from selfattn_book.experiments import options as cli
from selfattn_book.experiments.data_parallel import Recipe, train
from selfattn_book.experiments.ranks import WAIT, Group
from selfattn_book.experiments.walks import new_model


def main(arguments: list[str] | None = None) -> None:
    """Train; under ``torch.distributed.run``, as one of its ranks.

    The exit code is 0, 1 after a message if training fails or a file cannot be used, 2 if an option
    is wrong.

    Example:
        >>> main(["--epochs", "2", "--walks", "32"])
        1 rank, after 2 epochs: loss ...
    """
    options = _parser().parse_args(arguments)
    torch.set_num_threads(1)
    recipe = Recipe(options.walks)
    try:
        group, device = _join_group(options.wait)
        losses = train(
            new_model(recipe.seed).to(device),
            recipe,
            options.epochs,
            group=group,
            file=options.checkpoint,
            each_step=_failure_at(group, options.leave_at, silent=options.silent),
        )
    except (OSError, RuntimeError, ValueError) as error:
        # One call, with the newline: other ranks write to the same stream.
        sys.stderr.write(f"The training failed: {error}\n")
        sys.exit(1)
    ranks = group.size() if group else 1
    if not group or group.rank() == 0:
        named = f"{ranks} {'rank' if ranks == 1 else 'ranks'}"
        print(f"{named}, after {len(losses)} epochs: loss {losses[-1]:.12f}")
    if group:
        dist.destroy_process_group()


def _join_group(wait: float) -> tuple[Group | None, torch.device]:
    """Join the process group of the launcher, if any: NCCL on GPUs, gloo on CPUs."""
    gpu = torch.cuda.is_available()
    device = f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if gpu else "cpu"
    if not dist.is_torchelastic_launched():
        return None, torch.device(device)
    backend, limit = "nccl" if gpu else "gloo", timedelta(seconds=wait)
    dist.init_process_group(backend, timeout=limit)
    return dist.group.WORLD, torch.device(device)


def _failure_at(group: Group | None, step: int | None, *, silent: bool) -> Callable[[], None]:
    """Return a callback that lets the last rank die, or hang, after a step."""
    steps, last = count(1), group is None or group.rank() == group.size() - 1

    def each_step() -> None:
        if next(steps) == step and last:
            if silent:
                time.sleep(3600)  # hangs
            os._exit(7)  # like a killed process, without any cleanup

    return each_step


def _parser() -> argparse.ArgumentParser:
    parser = cli.make_parser(
        "", "Train a small language model, alone or as a rank of torch.distributed.run."
    )
    parser.prog = "python -m selfattn_book.experiments.train_ranks"
    add = parser.add_argument
    add("--epochs", type=cli.count, default=10, help="total epochs, resumed ones included")
    add("--walks", type=cli.count, default=Recipe().num_walks, help="number of training sequences")
    add("--checkpoint", help="file to write, and to resume from")
    add("--wait", type=float, default=WAIT, help="seconds to wait for another rank")
    add("--leave-at", type=int, help="step after which the last rank dies")
    add("--silent", action="store_true", help="the last rank hangs instead of dying")
    return parser


if __name__ == "__main__":
    main()
