"""A training loop for any model, data and loss, with validation and checkpoints."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm import tqdm

from selfattn_book._arguments import check_finite
from selfattn_book.experiments import checkpoint
from selfattn_book.experiments.seeding import manual_seed

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass
class History:
    """Losses of a training run.

    Attributes:
        train: mean training loss of each epoch, over its batches, each before its own step.
        validation: mean validation loss after each epoch, if there are validation batches.
    """

    train: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)


def fit(
    model: nn.Module,
    batches: Iterable[Sequence[Tensor]],
    loss: Loss,
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    seed: int,
    validation: Iterable[Sequence[Tensor]] | None = None,
    file: str | Path | None = None,
    progress: bool = True,
) -> History:
    """Train a model, and return the history of its losses.

    A batch is a sequence of tensors: the model's arguments, then the target.
    Every epoch seeds PyTorch's global generator with ``seed`` and the epoch's number, so that an
    interrupted training resumes with the same shuffling and dropout. A loader that shuffles must
    therefore draw from the global generator, as it does by default.

    Args:
        model: module to train; it ends in its last state.
        batches: iterable of batches, such as a :class:`torch.utils.data.DataLoader`.
        loss: function of the model's output and the target, a mean over the batch.
        optimizer: optimizer of the model's parameters.
        epochs: total number of epochs, including those of a resumed checkpoint.
        seed: seed of shuffling and dropout.
        validation: batches on which to evaluate after each epoch.
        file: checkpoint to write after each epoch, and to resume from if it exists.
        progress: whether to show a progress bar.

    Raises:
        ValueError: there are no batches, a loss is not finite, or the file is not a checkpoint
            of this seed, model and optimizer; then both are unchanged.
        FileNotFoundError: the folder of the checkpoint does not exist.
        OSError: the checkpoint cannot be written.

    Example:
        >>> x = torch.linspace(-1, 1, 8).unsqueeze(1)
        >>> line, batches = nn.Linear(1, 1), [(x, 2 * x)]
        >>> adam = torch.optim.Adam(line.parameters(), lr=0.1)
        >>> history = fit(line, batches, nn.functional.mse_loss, adam,
        ...               epochs=300, seed=0, progress=False)
        >>> len(history.train), history.train[-1] < 1e-6
        (300, True)
    """
    recipe = _recipe(model, optimizer, seed, validation is not None)
    content = checkpoint.resume_training(file, recipe, model, optimizer)
    history = History(**content.get("history", {}))
    begin = len(history.train)
    bar = tqdm(range(begin, epochs), disable=not progress, initial=begin, total=epochs)
    for epoch in bar:
        with torch.random.fork_rng(devices=[]):
            manual_seed(_epoch_seed(seed, epoch))
            history.train.append(_learn(model, batches, loss, optimizer))
            if validation is not None:
                history.validation.append(evaluate(model, validation, loss))
        bar.set_postfix(loss=history.train[-1])
        if file is not None:
            checkpoint.save_training(file, recipe, model, optimizer, history=vars(history))
    return history


def evaluate(model: nn.Module, batches: Iterable[Sequence[Tensor]], loss: Loss) -> float:
    """Return the mean loss of a model over batches, in evaluation mode.

    Raises:
        ValueError: there are no batches, or a loss is not finite.

    Example:
        >>> ones = torch.ones(4, 1)
        >>> batches = [(ones, ones + 1), (ones, ones + 3)]
        >>> evaluate(nn.Dropout(0.9), batches, nn.functional.mse_loss)
        5.0
    """
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            losses = [loss(model(*inputs), target) for *inputs, target in batches]
    finally:
        model.train(was_training)
    return _mean(losses)


def _epoch_seed(seed: int, epoch: int) -> int:
    """Return the seed of one epoch: each training seed has a million of its own, one an epoch."""
    # PyTorch's generator reads 32 bits, so after 4,294 seeds the numbers repeat. Modulo the largest
    # 32-bit prime, they then fall between the earlier ones.
    return ((seed + 1) * 1_000_000 + epoch) % 4_294_967_291


def _learn(
    model: nn.Module,
    batches: Iterable[Sequence[Tensor]],
    loss: Loss,
    optimizer: torch.optim.Optimizer,
) -> float:
    model.train()
    losses = []
    for *inputs, target in batches:
        batch_loss = loss(model(*inputs), target)
        losses.append(check_finite(batch_loss, "in training"))
        optimizer.zero_grad()
        batch_loss.backward()
        optimizer.step()
    return _mean(losses)


def _mean(losses: list[Tensor]) -> float:
    if not losses:
        raise ValueError("there must be at least one batch; got none")
    return check_finite(torch.stack(losses).mean(), "over the batches").item()


def _recipe(
    model: nn.Module, optimizer: torch.optim.Optimizer, seed: int, validated: bool
) -> list[str]:
    """Describe, in lines, the settings that a resumed training must have in common."""
    lines = [f"seed: {seed}", f"validation: {validated}", *checkpoint.shapes(model)]
    lines += f"{model!r}\n{optimizer!r}".splitlines()
    return [line.strip() for line in lines]
