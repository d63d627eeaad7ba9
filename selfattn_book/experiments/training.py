"""A training loop that knows no model: it is given one, data, and a loss."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from selfattn_book._arguments import check_finite, check_integer
from selfattn_book.experiments import checkpoint
from selfattn_book.experiments.chance import begin_at

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass
class History:
    """What a training has come to.

    Attributes:
        train: the mean loss over the batches of each epoch, each before it was learned.
        validation: the mean loss over the validation batches after each epoch, if there are any.
        best_epoch: the first epoch, counted from 0, with the least loss: of validation, if there
            is any.
        best_state: the model's state after that epoch.

    Example:
        >>> model, history = nn.Linear(1, 1), History()
        >>> for epoch, loss in enumerate([3.0, 1.0, 2.0]):
        ...     history.train.append(loss)
        ...     history.note(epoch, model)
        >>> history.best_epoch, history.best_state["weight"].equal(model.weight)
        (1, True)
    """

    train: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    best_epoch: int = -1
    # Left out of == and repr: tensors do not compare to one truth, and fill a page.
    best_state: dict[str, Tensor] = field(
        default_factory=dict, compare=False, repr=False
    )

    def note(self, epoch: int, model: nn.Module) -> None:
        """Keep the model's state if its epoch was the best so far."""
        *before, last = self.validation or self.train
        if last < min(before, default=math.inf):
            self.best_epoch, state = epoch, model.state_dict()
            self.best_state = {name: value.clone() for name, value in state.items()}


def fit(
    model: nn.Module,
    batches: Iterable[Sequence[Tensor]],
    loss: Loss,
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    seed: int,
    validation: Iterable[Sequence[Tensor]] | None = None,
    patience: int | None = None,
    file: str | Path | None = None,
    progress: bool = True,
) -> History:
    """Train a model epoch by epoch, and remember how it went.

    A batch is a sequence of tensors: what the model takes, and last the target.
    Every epoch seeds PyTorch's generator anew, from ``seed`` and its number, so that a training
    that was interrupted shuffles and drops as it would have done. A loader that shuffles must
    therefore draw from PyTorch's generator, as it does unless it is given another.

    Args:
        model: any module; it ends with its last state.
        batches: gone through once an epoch, such as a :class:`torch.utils.data.DataLoader`.
        loss: of the model's output and the target, a mean over the batch.
        optimizer: of the model's parameters.
        epochs: how many, counted from the very first.
        seed: of all chance in the training.
        validation: batches to measure on, and not to learn from.
        patience: stop after so many epochs in a row without a new least loss.
        file: of the checkpoint, written after each epoch, in a folder that is there;
            if it is there already, the training goes on from it.
        progress: show a bar.

    Returns:
        The history, with the best state.

    Raises:
        TypeError: ``seed``, ``epochs`` or ``patience`` is not an integer.
        ValueError: there are no batches, a loss is not finite, ``epochs`` or ``patience`` is
            below 1, ``seed`` below 0, or the file is no whole checkpoint of this seed, model and
            optimizer; then nothing has changed.
        FileNotFoundError: the folder of the checkpoint is not there.
        OSError: the checkpoint cannot be written.

    Example:
        >>> x = torch.linspace(-1, 1, 8).unsqueeze(1)
        >>> line, batches = nn.Linear(1, 1), [(x, 2 * x)]
        >>> adam = torch.optim.Adam(line.parameters(), lr=0.1)
        >>> history = fit(line.eval(), batches, nn.functional.mse_loss, adam,
        ...               epochs=300, seed=0, progress=False)
        >>> len(history.train), history.train[-1] < 1e-6, line.training
        (300, True, True)
        >>> def again(epochs, seed=0, **options):   # a line that drops, always the same start
        ...     _ = torch.manual_seed(0)
        ...     model = nn.Sequential(nn.Dropout(0.5), nn.Linear(1, 1))
        ...     adam = torch.optim.Adam(model.parameters(), lr=0.1)
        ...     recipe = {"epochs": epochs, "seed": seed, "progress": False}
        ...     return fit(model, batches, nn.functional.mse_loss, adam, **recipe, **options)
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:   # interrupted after 3 epochs, and gone on
        ...     kept = {"file": f"{folder}/line.pt"}
        ...     parts = [again(epochs, **kept) for epochs in (3, 9)]
        ...     again(9, seed=1, **kept)
        Traceback (most recent call last):
        ValueError: ...line.pt must be of a training with 'seed: 1'; got one with 'seed: 0'. Move ...
        >>> [len(part.train) for part in parts], parts[1].train == again(9).train
        ([3, 9], True)
        >>> again(9).train == again(9, seed=1).train   # the seed is that of the drops
        False
        >>> other = [(x, -2 * x)]   # what is learned makes this worse
        >>> stopped = again(9, validation=other, patience=1)
        >>> stopped.best_epoch, len(stopped.train), len(stopped.validation)
        (0, 2, 2)
        >>> again(0)
        Traceback (most recent call last):
        ValueError: epochs must be at least 1; got 0
        >>> fit(line, [], nn.functional.mse_loss, adam, epochs=1, seed=0, progress=False)
        Traceback (most recent call last):
        ValueError: there must be at least one batch; got none
    """
    seed = check_integer("seed", seed, least=0)
    check_integer("epochs", epochs, least=1)
    patience = (
        epochs if patience is None else check_integer("patience", patience, least=1)
    )
    recipe = _recipe(model, optimizer, seed, validation is not None)
    history = _resume(file, model, optimizer, recipe)
    begin = len(history.train)
    bar = tqdm(
        range(begin, epochs), disable=not progress, initial=begin, total=epochs
    )
    for epoch in bar:
        if epoch - history.best_epoch > patience:
            break
        with torch.random.fork_rng(devices=[]):
            begin_at(_epoch_seed(seed, epoch))
            history.train.append(_learn(model, batches, loss, optimizer))
            if validation is not None:
                history.validation.append(measure(model, validation, loss))
        history.note(epoch, model)
        bar.set_postfix(loss=history.train[-1], best=history.best_epoch)
        _keep(file, model, optimizer, history, recipe)
    return history


def measure(
    model: nn.Module, batches: Iterable[Sequence[Tensor]], loss: Loss
) -> float:
    """Return the mean loss of a model over batches, without learning from them.

    Args:
        model: left in the mode, training or not, in which it came.
        batches: as of :func:`fit`.
        loss: as of :func:`fit`.

    Raises:
        ValueError: there are no batches, or a loss is not finite.

    Example:
        >>> ones, model = torch.ones(4, 1), nn.Dropout(0.9)   # drops nothing while measured
        >>> measure(model, [(ones, ones + 1), (ones, ones + 3)], nn.functional.mse_loss)
        5.0
        >>> model.training
        True
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
    """Return the number from which an epoch of a seed draws, the same on every machine.

    Each seed has a million numbers of its own, one an epoch. The first million are left to what
    is drawn before a training, such as the weights, which begins at small numbers.

    >>> _epoch_seed(0, 0), _epoch_seed(0, 1), _epoch_seed(1, 0)
    (1000000, 1000001, 2000000)
    """
    # PyTorch's generator reads 32 bits, so after 4,294 seeds the numbers come round again. Modulo
    # a prime, the largest of 32 bits, they then fall between those of before.
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


def _keep(
    file: str | Path | None,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    history: History,
    recipe: list[str],
) -> None:
    """Write a checkpoint, if one is wanted."""
    if file is not None:
        states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        learned = checkpoint.outline("optimizer", states["optimizer"]["state"])
        content = {"recipe": recipe, "learned": learned, "history": vars(history)}
        checkpoint.save(file, {**content, **states})


def _resume(
    file: str | Path | None,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    recipe: list[str],
) -> History:
    """Go on from a checkpoint, if there is one."""
    if file is None:
        return History()
    if not Path(file).parent.is_dir():
        folder = Path(file).parent
        raise FileNotFoundError(f"{file} must be in a folder; got no {folder}")
    if not Path(file).exists():
        return History()
    kept = checkpoint.load(file)
    try:
        _check_states(file, kept, model, optimizer, recipe)
        history = _checked_history(file, kept)
    except (AttributeError, KeyError, TypeError) as error:
        rule = f"{file} must be a checkpoint of fit; got one of something else"
        raise ValueError(f"{rule}. {checkpoint.WAY_OUT}") from error
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])
    return history


def _recipe(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    seed: int,
    validated: bool,
) -> list[str]:
    """Write down, line by line, what a training must share with the one that it continues."""
    parameters = [
        f"{name}: {tuple(parameter.shape)}, {parameter.dtype}"
        for name, parameter in model.named_parameters()
    ]
    choices = [f"seed: {seed}", f"validation: {validated}"]
    text = "\n".join([*choices, *parameters, repr(model), repr(optimizer)])
    return [line.strip() for line in text.splitlines()]


def _check_states(
    file: str | Path,
    kept: dict[str, Any],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    recipe: list[str],
) -> None:
    """Raise unless a checkpoint is of this training, and whole."""
    checkpoint.check_same(file, recipe, kept["recipe"])
    ours = checkpoint.outline("model", model.state_dict())
    for state in (kept["model"], kept["history"]["best_state"]):
        checkpoint.check_same(file, ours, checkpoint.outline("model", state))
    groups, learned = (
        kept["optimizer"][part] for part in ("param_groups", "state")
    )
    options = [repr(group) for group in optimizer.state_dict()["param_groups"]]
    checkpoint.check_same(file, options, [repr(group) for group in groups])
    learned = checkpoint.outline("optimizer", learned)
    checkpoint.check_same(file, kept["learned"], learned)


def _checked_history(file: str | Path, kept: dict[str, Any]) -> History:
    """Return the history of a checkpoint, or raise unless its numbers fit each other."""
    told = {**kept["history"], "best_state": {}}  # which is compared with the model
    kinds = checkpoint.outline("history", vars(History()))
    checkpoint.check_same(file, kinds, checkpoint.outline("history", told))
    history = History(**kept["history"])
    epochs, measured = len(history.train), len(history.validation)
    validated = "validation: True" in kept["recipe"]
    finite = all(map(math.isfinite, history.train + history.validation))
    if not finite or epochs == 0 or measured != epochs * validated:
        rule = f"{file} must hold a finite loss of each epoch"
        got = f"{epochs} of training, {measured} of validation"
        raise ValueError(f"{rule}; got {got}. {checkpoint.WAY_OUT}")
    losses = history.validation or history.train
    if history.best_epoch != (best := losses.index(min(losses))):
        rule = f"{file} must name the best epoch, {best}"
        raise ValueError(f"{rule}; got {history.best_epoch}. {checkpoint.WAY_OUT}")
    return history
