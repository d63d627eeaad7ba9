"""Train the book's language model in several processes, with DDP or FSDP, on CPUs.

In one process::

    python -m selfattn_book.experiments.train_distributed

in two, with PyTorch's launcher::

    torchrun --standalone --nproc-per-node 2 -m selfattn_book.experiments.train_distributed

A batch consists of micro-batches, each with a seed for its dropout. Every rank draws all of them, so the
number of ranks changes only which rank computes which micro-batch. So the same command resumes from a
checkpoint on any number of ranks, with DDP or with FSDP.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import Tensor, nn
from torch.distributed import HashStore
from torch.distributed.checkpoint import state_dict as states
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from selfattn_book._arguments import check_finite
from selfattn_book.experiments import checkpoint
from selfattn_book.experiments import options as cli
from selfattn_book.experiments.fit_text import adamw
from selfattn_book.experiments.ranks import WAIT
from selfattn_book.experiments.seeding import manual_seed
from selfattn_book.experiments.text import load_text, next_token_loss, split_text
from selfattn_book.experiments.train_text import LENGTH, LR, MERGES, STEPS, new_model, save_model
from selfattn_book.language import LanguageModel
from selfattn_book.tokens import BPETokenizer, train_bpe

BATCH = 16  # windows in a step, over all ranks
Batch = list[tuple[Tensor, int]]  # micro-batches (B, T + 1), each with the seed of its dropout


def main(arguments: list[str] | None = None) -> None:
    """Train, alone or as a rank of ``torchrun``, and write checkpoints.

    The exit code is 0, 1 after a message if training fails, 2 if an option is wrong, or 130 if
    training was interrupted.
    """
    options, rank, failure, code = _parser().parse_args(arguments), 0, "", 1
    torch.set_num_threads(1)  # faster for a model this small
    try:
        if dist.is_torchelastic_launched():
            dist.init_process_group("gloo", timeout=timedelta(seconds=WAIT))
        else:  # a group of one
            dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
        rank = dist.get_rank()
        train(options)
    except KeyboardInterrupt:
        failure, code = "was interrupted", cli.INTERRUPTED
    except (OSError, RuntimeError, ValueError, dcp.CheckpointException) as error:
        failure = f"failed: {error}"
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    if failure:
        [last, *_] = [*complete_checkpoints(options.checkpoints), "none"]
        # One call, with the newlines: other ranks write to the same stream.
        sys.stderr.write(f"Rank {rank}: training {failure}\nLast checkpoint: {last}\n")
        sys.exit(code)


def train(options: argparse.Namespace) -> None:
    """Train from the last checkpoint, or the first step, to the last step."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    text, _ = split_text(load_text("stories"))
    tokenizer = BPETokenizer(train_bpe(text, MERGES))
    tokens, model = tokenizer.encode(text), new_model(len(tokenizer), options.seed)
    kept = ("steps", "seed", "micro_batch", "bf16")  # the same when training is resumed
    recipe = [f"{name}: {getattr(options, name)}" for name in kept] + checkpoint.shapes(model)
    replica = distribute(model, options.parallel)
    optimizer = adamw(model, lr=LR, steps=options.steps)
    begin, losses = resume(options.checkpoints, recipe, model, optimizer), []
    batches = islice(batches_of_rank(tokens, options), begin, None)
    for done, batch in enumerate(batches, start=begin + 1):
        losses.append(compute_gradient(replica, batch, bf16=options.bf16))
        optimizer.step()
        optimizer.zero_grad()
        if done % options.every == 0 or done == options.steps:
            loss = torch.stack(losses).mean() / ranks
            dist.all_reduce(loss)
            check_finite(loss, "in training")
            save(options.checkpoints, done, recipe, model, optimizer)
            if rank == 0:
                print(f"{options.parallel} x {ranks}, step {done}: loss {loss:.9f}", flush=True)
            losses = []
    if options.model:  # the shards are collected, and the first rank writes them to one file
        full = states.StateDictOptions(full_state_dict=True)
        state = states.get_model_state_dict(model, options=full)
        if rank == 0:
            model = new_model(len(tokenizer), options.seed)
            model.load_state_dict(state)
            save_model(options, model, tokenizer)


def batches_of_rank(tokens: Tensor, options: argparse.Namespace) -> Iterator[Batch]:
    """Draw random windows for each step, the same on all ranks, and yield this rank's part of them."""
    rank, ranks, size = dist.get_rank(), dist.get_world_size(), options.micro_batch
    if BATCH % (size * ranks):
        rule = f"micro-batch times ranks must divide the batch, {BATCH}"
        raise ValueError(f"{rule}; got {size} times {ranks}")
    chance = torch.Generator().manual_seed(options.seed)
    for _ in range(options.steps):
        begin = torch.randint(len(tokens) - LENGTH, (BATCH, 1), generator=chance)
        windows = tokens[begin + torch.arange(LENGTH + 1)].split(size)
        seeds = torch.randint(2**31, (len(windows),), generator=chance).tolist()
        yield list(zip(windows, seeds, strict=True))[rank::ranks]


def distribute(model: LanguageModel, parallel: str) -> nn.Module:
    """Replicate a model on all ranks (``ddp``), or shard its parameters in place (``fsdp``)."""
    if parallel == "ddp":
        return DistributedDataParallel(model)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def compute_gradient(replica: nn.Module, batch: Batch, *, bf16: bool = False) -> Tensor:
    """Add up the gradients of micro-batches, average over ranks, and return this rank's loss."""
    total = torch.zeros(())
    for index, (windows, seed) in enumerate(batch, start=1):
        last = index == len(batch)  # only then do the ranks communicate gradients
        if isinstance(replica, FSDPModule):
            replica.set_requires_gradient_sync(last)
        else:
            cast(DistributedDataParallel, replica).require_backward_grad_sync = last
        manual_seed(seed)
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = next_token_loss(replica(windows[:, :-1]), windows[:, 1:]) / len(batch)
        loss.backward()
        total += loss.detach()
    return total


def save(folder: Path, step: int, recipe: list[str], *trained: Any) -> None:
    """Write model and optimizer under a temporary name, rename it when complete, and keep two."""
    part, first = folder / "incomplete", dist.get_rank() == 0
    if first:
        shutil.rmtree(part, ignore_errors=True)
    dist.barrier()
    dcp.save({"recipe": "\n".join(recipe)} | state_of(*trained), checkpoint_id=part)
    if first:
        part.rename(folder / f"step-{step:08}")
        for old in complete_checkpoints(folder)[2:]:
            shutil.rmtree(old)
    dist.barrier()


def resume(folder: Path, recipe: list[str], *trained: Any) -> int:
    """Load model and optimizer from the last checkpoint, if any, and return its step.

    Load only what you have written yourself: a checkpoint can run code.

    Raises:
        ValueError: the checkpoint is of another training, or cannot be read.
    """
    if not (found := complete_checkpoints(folder)):
        return 0
    try:
        dcp.load(theirs := {"recipe": ""}, checkpoint_id=found[0])
        checkpoint.check_recipe(found[0], recipe, theirs["recipe"].splitlines())
        dcp.load(state := state_of(*trained), checkpoint_id=found[0])  # each rank, its shards
    except dcp.CheckpointException as error:
        [(reason, _), *_] = error.failures.values()
        rule = f"{found[0]} must be a whole checkpoint; got {reason}"
        raise ValueError(f"{rule}. Delete it, to resume from the one before.") from error
    states.set_state_dict(
        *trained, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
    return int(found[0].name[5:])


def state_of(model: nn.Module, optimizer: Optimizer) -> dict[str, Any]:
    """Return this rank's shards of the states of model and optimizer."""
    shards = states.get_state_dict(model, optimizer)
    return {"model": shards[0], "optimizer": shards[1]}


def complete_checkpoints(folder: Path) -> list[Path]:
    """Return the complete checkpoints of a folder, the last one first."""
    return sorted(folder.glob("step-" + 8 * "[0-9]"), reverse=True)


def _parser() -> argparse.ArgumentParser:
    parser = cli.make_parser("", "Train the book's language model, alone or as a rank of torchrun.")
    parser.prog = "python -m selfattn_book.experiments.train_distributed"
    add = parser.add_argument
    add("--parallel", choices=["ddp", "fsdp"], default="ddp", help="kind of data parallelism")
    add("--steps", type=cli.count, default=STEPS, help="total steps, resumed ones included")
    add("--seed", type=cli.seed, default=0, help="seed of the model, the windows and dropout")
    add("--micro-batch", type=cli.count, default=4, help=f"windows at a time, of {BATCH} in a step")
    add("--bf16", action="store_true", help="matrix products in bfloat16 (torch.autocast)")
    add("--checkpoints", type=_folder, default="checkpoints", help="folder to resume from")
    add("--every", type=cli.count, default=500, help="steps from one checkpoint to the next")
    add("--model", type=cli.file, help="output file of the model")
    return parser


def _folder(text: str) -> Path:
    folder = Path(text)
    if not folder.is_dir() and (folder.exists() or not folder.parent.is_dir()):
        raise argparse.ArgumentTypeError(f"must be a folder, or a new one in a folder; got {text}")
    return folder


if __name__ == "__main__":
    main()
