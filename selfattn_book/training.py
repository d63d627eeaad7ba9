"""Training loops that know no model: they are given one, data, and a loss."""

import runpy
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from tqdm import tqdm, trange

from selfattn_book import checkpoint
from selfattn_book.checks import check_integer

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass
class History:
    """What a training has come to.

    Attributes:
        train: the mean loss over the batches of each epoch, each before it was learned.
        validation: the mean loss over the validation batches after each epoch, if there are any.
        best_epoch: the epoch, counted from 0, with the least loss: of validation, if there is any.
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
    best_state: dict[str, Tensor] = field(default_factory=dict)

    def note(self, epoch: int, model: nn.Module) -> None:
        """Keep the model's state if its epoch was the best so far."""
        losses = self.validation or self.train
        if losses[-1] <= min(losses):
            self.best_epoch, self.best_state = epoch, deepcopy(model.state_dict())


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
    that was interrupted shuffles and drops as it would have done.

    Args:
        model: any module; it ends with its last state.
        batches: gone through once an epoch, such as a :class:`torch.utils.data.DataLoader`.
        loss: of the model's output and the target, a mean over the batch.
        optimizer: of the model's parameters.
        epochs: how many, counted from the very first.
        seed: of all chance in the training.
        validation: batches to measure on, and not to learn from.
        patience: stop after so many epochs in a row without a new least loss.
        file: of the checkpoint, written after each epoch;
            if it is there already, the training goes on from it.
        progress: show a bar.

    Returns:
        The history, with the best state.

    Raises:
        ValueError: there are no batches, a loss is not finite, ``epochs`` or ``patience`` is
            below 1, or the checkpoint is of another seed.

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
        ValueError: ...line.pt must be of seed 1; got one of seed 0
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
    check_integer("epochs", epochs, least=1)
    patience = (
        epochs if patience is None else check_integer("patience", patience, least=1)
    )
    history = _resume(file, model, optimizer, seed)
    begin = len(history.train)
    bar = tqdm(
        range(begin, epochs), disable=not progress, initial=begin, total=epochs
    )
    for epoch in bar:
        if epoch - history.best_epoch > patience:
            break
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(hash((seed, epoch)))
            history.train.append(_learn(model, batches, loss, optimizer))
            if validation is not None:
                history.validation.append(measure(model, validation, loss))
        history.note(epoch, model)
        bar.set_postfix(loss=history.train[-1], best=history.best_epoch)
        _keep(file, model, optimizer, history, seed)
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
    with torch.no_grad():
        losses = [loss(model(*inputs), target) for *inputs, target in batches]
    model.train(was_training)
    return _mean(losses)


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
        losses.append(_finite(batch_loss, "in training"))
        optimizer.zero_grad()
        batch_loss.backward()
        optimizer.step()
    return _mean(losses)


def _mean(losses: list[Tensor]) -> float:
    if not losses:
        raise ValueError("there must be at least one batch; got none")
    return _finite(torch.stack(losses).mean(), "over the batches").item()


def _keep(
    file: str | Path | None,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    history: History,
    seed: int,
) -> None:
    """Write a checkpoint, if one is wanted."""
    if file is not None:
        states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        checkpoint.save(file, {"seed": seed, "history": asdict(history), **states})


def _resume(
    file: str | Path | None,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    seed: int,
) -> History:
    """Go on from a checkpoint, if there is one."""
    if file is None or not Path(file).exists():
        return History()
    kept = checkpoint.load(file)
    if kept["seed"] != seed:
        raise ValueError(
            f"{file} must be of seed {seed}; got one of seed {kept['seed']}"
        )
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])
    return History(**kept["history"])


def fit_seeds(
    make_model: Callable[[], nn.Module],
    inputs: Tensor | Sequence[Tensor],
    targets: Tensor,
    loss: Loss,
    *,
    seeds: Sequence[int],
    epochs: int,
    batch_size: int | None = None,
    lr: float = 0.01,
    method: Callable[..., torch.optim.Optimizer] = torch.optim.Adam,
    progress: bool = True,
) -> tuple[Tensor, list[nn.Module]]:
    """Train one model per seed on the same data, side by side.

    The models share nothing but the recipe: their parameters are stacked, so that one step of
    one optimizer moves them all, and each moves as it would alone, up to rounding.
    This asks of the method that it treats every number by itself, as Adam and SGD do.

    Args:
        make_model: makes a model, whose parameters are drawn as PyTorch draws.
        inputs: all inputs, as the model takes them; several tensors for several arguments.
        targets: all targets, as the loss takes them.
        loss: of the model's output and the targets, a number.
        seeds: one a model; PyTorch's generator is seeded with it before the model is made, and
            the one that shuffles its data.
        epochs: how many times the data are gone through.
        batch_size: how many examples a step, in another order each epoch and for each seed;
            all of them at once when left out.
        lr: the learning rate.
        method: an optimizer of ``torch.optim``.
        progress: show a bar.

    Returns:
        The losses ``(epochs + 1, seeds)``: for each epoch the mean over its batches, each before
        it was learned, and last the loss on all of the data after training;
        and the trained models.

    Raises:
        ValueError: there are no seeds, ``epochs`` or ``batch_size`` is below 1, inputs and targets
            are not equally many, or a loss is not finite.

    Example:
        >>> x = torch.linspace(-1, 1, 8).unsqueeze(1)
        >>> make = lambda: nn.Linear(1, 1)
        >>> given = make, x, 2 * x, nn.functional.mse_loss
        >>> recipe = {"epochs": 500, "lr": 0.1, "progress": False}
        >>> losses, models = fit_seeds(*given, seeds=[0, 1, 2], **recipe)
        >>> losses.shape, losses[-1] < 1e-6
        (torch.Size([501, 3]), tensor([True, True, True]))
        >>> len(losses[0].unique()), [round(model.weight.item(), 2) for model in models]
        (3, [2.0, 2.0, 2.0])
        >>> alone, _ = fit_seeds(*given, seeds=[1], **recipe)
        >>> losses[:, [1]].allclose(alone, atol=1e-5)
        True
        >>> short = {**recipe, "epochs": 9}
        >>> batched, _ = fit_seeds(*given, seeds=[0, 1, 2], batch_size=3, **short)
        >>> batched[0] == losses[0]   # the first step has seen a part of the data
        tensor([False, False, False])
        >>> alone, _ = fit_seeds(*given, seeds=[1], batch_size=3, **short)   # shuffled alike
        >>> batched[:, [1]].allclose(alone, atol=1e-5)
        True
        >>> class Product(nn.Linear):
        ...     def forward(self, one, other):
        ...         return super().forward(one * other)
        >>> def of_two(inputs):
        ...     given = lambda: Product(1, 1), inputs, x * x, nn.functional.mse_loss
        ...     return fit_seeds(*given, seeds=[0], batch_size=1, **short)[0]
        >>> of_two((x, x))[-1] < 0.01   # two inputs, one example a step
        tensor([True])
        >>> of_two((x, x[1:]))
        Traceback (most recent call last):
        ValueError: inputs and targets must be equally many; got [8, 7, 8]
        >>> slow, _ = fit_seeds(*given, seeds=[1], method=torch.optim.SGD, **recipe)
        >>> slow[0] == losses[0, 1], slow[-1] < 1e-6   # the same start, another way
        (tensor([True]), tensor([True]))
        >>> slow.equal(losses[:, [1]])
        False
        >>> usual, _ = fit_seeds(*given, seeds=[1], epochs=9, progress=False)
        >>> usual.equal(fit_seeds(*given, seeds=[1], epochs=9, lr=0.01, progress=False)[0])
        True
        >>> fit_seeds(*given, seeds=[], **recipe)
        Traceback (most recent call last):
        ValueError: there must be at least one seed; got none
        >>> fit_seeds(*given, seeds=[0], epochs=0)
        Traceback (most recent call last):
        ValueError: epochs must be at least 1; got 0
        >>> fit_seeds(*given, seeds=[0], epochs=1, lr=1e30, progress=False)
        Traceback (most recent call last):
        ValueError: losses must be finite; got [inf] in epoch 1
    """
    _check_recipe(seeds, epochs)
    data = _examples(inputs, targets)
    models = [_make(make_model, seed) for seed in seeds]
    parameters, buffers = stack_module_state(models)
    losses_of_all = _side_by_side(models[0], loss)
    chances = [torch.Generator().manual_seed(seed) for seed in seeds]
    optimizer = method(parameters.values(), lr=lr)
    history = []
    for epoch in trange(epochs, disable=not progress, leave=False):
        steps = []
        for batch, own in _deal(data, batch_size, chances):
            losses = losses_of_all(parameters, buffers, batch, own)  # (seeds,)
            steps.append(_finite(losses, f"in epoch {epoch}"))
            optimizer.zero_grad()
            losses.sum().backward()  # no model's loss depends on another's parameters
            optimizer.step()
        history.append(torch.stack(steps).mean(dim=0))
    with torch.no_grad():
        losses = losses_of_all(parameters, buffers, data, False)
    history.append(_finite(losses, f"in epoch {epochs}"))
    _hand_back(parameters, models)
    return torch.stack(history), models


def _examples(
    inputs: Tensor | Sequence[Tensor], targets: Tensor
) -> tuple[Tensor, ...]:
    """Put what belongs together into one tuple, the targets last."""
    data = (*((inputs,) if isinstance(inputs, Tensor) else inputs), targets)
    counts = [len(tensor) for tensor in data]
    if len(set(counts)) > 1:
        raise ValueError(f"inputs and targets must be equally many; got {counts}")
    return data


def _side_by_side(model: nn.Module, loss: Loss) -> Callable[..., Tensor]:
    """Return a function of stacked states and a batch, which gives the loss of each model."""
    skeleton = deepcopy(model).to("meta")

    def loss_of_one(
        parameters: dict[str, Tensor],
        buffers: dict[str, Tensor],
        batch: tuple[Tensor, ...],
    ) -> Tensor:
        *inputs, targets = batch
        output = functional_call(skeleton, (parameters, buffers), tuple(inputs))
        return loss(output, targets)

    def losses_of_all(
        parameters: dict[str, Tensor],
        buffers: dict[str, Tensor],
        batch: tuple[Tensor, ...],
        own: bool,  # each model has a batch of its own, or all have the same
    ) -> Tensor:
        dims = (0, 0, 0 if own else None)
        return vmap(loss_of_one, in_dims=dims)(parameters, buffers, batch)

    return losses_of_all


def _deal(
    data: tuple[Tensor, ...],
    batch_size: int | None,
    chances: list[torch.Generator],
) -> Iterator[tuple[tuple[Tensor, ...], bool]]:
    """Give the batches of one epoch, and whether each model has its own, ``(seeds, batch, ...)``."""
    if batch_size is None:
        yield data, False
        return
    size = check_integer("batch_size", batch_size, least=1)
    count = len(data[-1])
    order = torch.stack([torch.randperm(count, generator=g) for g in chances])
    for chosen in order.split(size, dim=1):  # (seeds, batch)
        yield tuple(tensor[chosen] for tensor in data), True


def _make(make_model: Callable[[], nn.Module], seed: int) -> nn.Module:
    """Make a model from a seed, and leave PyTorch's generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make_model()


@torch.no_grad()
def _hand_back(stacked: dict[str, Tensor], models: list[nn.Module]) -> None:
    for name, values in stacked.items():
        for model, value in zip(models, values, strict=True):
            model.get_parameter(name).copy_(value)


def _check_recipe(seeds: Sequence[int], epochs: int) -> None:
    if len(seeds) == 0:
        raise ValueError("there must be at least one seed; got none")
    check_integer("epochs", epochs, least=1)


def _finite(losses: Tensor, where: str) -> Tensor:
    """Return losses without their gradient, or raise."""
    if not losses.isfinite().all():
        raise ValueError(f"losses must be finite; got {losses.tolist()} {where}")
    return losses.detach()


if __name__ == "__main__":
    # Not an import: what uses this module does not reach the model of the command line.
    runpy.run_module("selfattn_book.train_squares", run_name="__main__")
