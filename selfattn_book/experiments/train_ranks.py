"""Train a small language model on one machine or on several: the same file, the same numbers.

Alone::

    python -m selfattn_book.experiments.train_ranks

and as two ranks, with PyTorch's own launcher::

    python -m torch.distributed.run --standalone --nproc-per-node 2 \
        -m selfattn_book.experiments.train_ranks

The model reads walks around a clock, so that the least loss to expect on new ones is known: ln 2.
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

from selfattn_book.experiments.data_parallel import Recipe, train
from selfattn_book.experiments.ranks import WAIT, Group
from selfattn_book.experiments.walks import new_model


def main(arguments: list[str] | None = None) -> None:
    """Train as the command line says; under ``torch.distributed.run``, as one of its ranks.

    The exit code is 0, 1 with the reason if training fails or a file cannot be used, 2 if an option
    is wrong.

    Args:
        arguments: of the command line.

    Example:
        >>> main(["--epochs", "2", "--walks", "32"])
        1 rank, after 2 epochs: loss ...
    """
    options = _parser().parse_args(arguments)
    torch.set_num_threads(1)
    recipe = Recipe(options.walks, options.batch, options.seed, options.rate)
    try:
        group, device = _meet(options.wait)
        losses = train(
            new_model(options.seed).to(device),
            recipe,
            options.epochs,
            group=group,
            file=options.checkpoint,
            each_step=_leaving(group, options.leave_at, silent=options.silent),
        )
    except (OSError, RuntimeError, ValueError) as error:
        # In one piece, line end and all: other ranks write to the same place.
        sys.stderr.write(f"The training failed: {error}\n")
        sys.exit(1)
    ranks = group.size() if group else 1
    if not group or group.rank() == 0:
        named = f"{ranks} {'rank' if ranks == 1 else 'ranks'}"
        print(f"{named}, after {len(losses)} epochs: loss {losses[-1]:.12f}")
    if group:
        dist.destroy_process_group()


def _meet(wait: float) -> tuple[Group | None, torch.device]:
    """Join the other ranks, if a launcher has started this one: NCCL joins GPUs, gloo the rest."""
    gpu = torch.cuda.is_available()
    device = f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if gpu else "cpu"
    if not dist.is_torchelastic_launched():
        return None, torch.device(device)
    backend, limit = "nccl" if gpu else "gloo", timedelta(seconds=wait)
    dist.init_process_group(backend, timeout=limit)
    return dist.group.WORLD, torch.device(device)


def _leaving(
    group: Group | None, step: int | None, *, silent: bool
) -> Callable[[], None]:
    """Return what is done after each step: nothing, or once, on the last rank, an accident."""
    steps, last = count(1), group is None or group.rank() == group.size() - 1

    def each_step() -> None:
        if next(steps) == step and last:
            if silent:
                time.sleep(3600)  # there, and not heard
            os._exit(7)  # as of a process that is killed: nothing is tidied up

    return each_step


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m selfattn_book.experiments.train_ranks",
        description="Train a small language model, alone or as a rank of torch.distributed.run.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add, own = parser.add_argument, Recipe()
    add("--epochs", type=int, default=10, help="in all, resumed ones included")
    add("--walks", type=int, default=own.walks, help="to learn from")
    add("--batch", type=int, default=own.batch, help="of a step, on all ranks")
    add("--seed", type=int, default=own.seed, help="of walks, weights and order")
    add("--rate", type=float, default=own.rate, help="learning rate of Adam")
    add("--checkpoint", help="file to write, and to go on from")
    add("--wait", type=float, default=WAIT, help="seconds for a rank to answer")
    add("--leave-at", type=int, help="step after which the last rank is lost")
    add(
        "--silent", action="store_true", help="the lost rank hangs, and is not gone"
    )
    return parser


if __name__ == "__main__":
    main()
