"""Train one recipe from many seeds, side by side."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import trange

from selfattn_book._arguments import check_finite
from selfattn_book.experiments.seeding import manual_seed

Loss = Callable[[Tensor, Tensor], Tensor]
State = dict[str, Tensor]

# One fused kernel for all parameters, which is faster for tiny models.
Adam = partial(torch.optim.Adam, fused=True)


def scheduled(factor: Callable[[int], float]) -> Callable[..., torch.optim.Optimizer]:
    """Return a method for :func:`fit_seeds`: Adam with a learning rate that changes in each step.

    In step ``t``, counted from 0, the rate is ``lr * factor(t)``.

    Example:
        >>> warm_up = scheduled(lambda step: min(1, (step + 1) / 4))
        >>> adam, rates = warm_up([torch.ones(2, requires_grad=True)], lr=0.1), []
        >>> for _ in range(5):
        ...     rates.append(round(adam.param_groups[0]["lr"], 3))
        ...     adam.step()
        >>> rates
        [0.025, 0.05, 0.075, 0.1, 0.1]
    """

    def method(parameters: Any, lr: float) -> torch.optim.Optimizer:
        adam = Adam(parameters, lr=lr)
        schedule = torch.optim.lr_scheduler.LambdaLR(adam, factor)
        adam.register_step_post_hook(lambda *_: schedule.step())
        return adam

    return method


def fit_seeds(
    make_model: Callable[[], nn.Module],
    inputs: Tensor | Sequence[Tensor],
    targets: Tensor,
    loss: Loss,
    *,
    seeds: Sequence[int],
    epochs: int,
    batch_size: int | None = None,
    lr: float | Sequence[float] = 0.01,
    method: Callable[..., torch.optim.Optimizer] = Adam,
    snapshots: dict[int, list[nn.Module]] | None = None,
    progress: bool = True,
) -> tuple[Tensor, list[nn.Module]]:
    """Train one model per seed on the same data, side by side.

    The models' parameters are stacked, so that one step of one optimizer updates all models, each
    as if it were trained alone, up to rounding. This requires that the optimizer treats every number
    independently, as Adam and SGD do.

    Args:
        make_model: function that makes a model, with parameters drawn by PyTorch.
        inputs: all inputs of the model; a sequence of tensors for several arguments.
        targets: all targets.
        loss: function of the model's output and the targets, which returns a scalar.
        seeds: one seed for each model's initialization and for the shuffling of its data.
        epochs: number of passes over the data.
        batch_size: number of examples in a step, shuffled in each epoch and for each seed;
            all examples by default.
        lr: learning rate, or one for each model, so that several rates are compared side by side.
        method: optimizer class of ``torch.optim``, or what :func:`scheduled` returns.
        snapshots: lists, keyed by a number of epochs below ``epochs``, to which copies of the
            models after that many epochs are appended.
        progress: whether to show a progress bar.

    Returns:
        The losses ``(epochs + 1, seeds)``: in row ``i`` the mean over the batches of epoch ``i``,
        each before its own step, and in the last row the loss on all data after training;
        and the trained models.

    Raises:
        ValueError: a loss is not finite, or there are not as many learning rates as seeds.

    Example:
        >>> x = torch.linspace(-1, 1, 8).unsqueeze(1)
        >>> losses, models = fit_seeds(
        ...     lambda: nn.Linear(1, 1), x, 2 * x, nn.functional.mse_loss,
        ...     seeds=[0, 1, 2], epochs=500, lr=0.1, progress=False)
        >>> losses.shape, [round(model.weight.item(), 2) for model in models]
        (torch.Size([501, 3]), [2.0, 2.0, 2.0])
    """
    copies = snapshots or {}
    data = (*((inputs,) if isinstance(inputs, Tensor) else inputs), targets)
    rates = list(lr) if isinstance(lr, Sequence) else [lr] * len(seeds)
    if len(rates) != len(seeds):
        raise ValueError(f"there must be a learning rate for each of {len(seeds)} seeds; got {lr}")
    models = [_make(make_model, seed) for seed in seeds]
    buffers = stack_module_state(models)[1]
    # Models that follow each other and have the same rate are one parameter group.
    runs = [
        (rate, stack_module_state([model for _, model in run])[0])
        for rate, run in groupby(zip(rates, models, strict=True), key=itemgetter(0))
    ]
    parameters = [run for _, run in runs]
    losses_of_all = partial(_side_by_side(models[0], loss), parameters, buffers)
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    groups = [{"params": list(run.values()), "lr": rate} for rate, run in runs]
    optimizer = method(groups, lr=rates[0])
    history = []
    for epoch in trange(epochs, disable=not progress, leave=False):
        if epoch in copies:
            _copy_back(parameters, models)
            copies[epoch] += deepcopy(models)
        steps = []
        for batch in _batches(data, batch_size, generators):
            losses = losses_of_all(batch, own=batch_size is not None)  # (seeds,)
            steps.append(check_finite(losses.detach(), f"in epoch {epoch}"))
            optimizer.zero_grad()
            losses.sum().backward()  # no model's loss depends on another's parameters
            optimizer.step()
        history.append(torch.stack(steps).mean(dim=0))
    last = check_finite(losses_of_all(data, own=False).detach(), f"in epoch {epochs}")
    _copy_back(parameters, models)
    return torch.stack([*history, last]), models


def _side_by_side(model: nn.Module, loss: Loss) -> Callable[..., Tensor]:
    """Return a function of stacked states and a batch that computes the loss of each model."""
    # Not on the meta device, where tied weights would become two parameters.
    skeleton = deepcopy(model)

    def loss_of_one(parameters: State, buffers: State, batch: tuple[Tensor, ...]) -> Tensor:
        *inputs, targets = batch
        output = functional_call(skeleton, (parameters, buffers), tuple(inputs))
        return loss(output, targets)

    def losses_of_all(
        parameters: list[State], buffers: State, batch: tuple[Tensor, ...], own: bool
    ) -> Tensor:
        state = _together(parameters)
        dims = (0, 0, 0 if own else None)  # whether each model has a batch of its own
        # vmap has no batching rule for the CPU's fused attention.
        with sdpa_kernel(SDPBackend.MATH):
            return vmap(loss_of_one, in_dims=dims)(state, buffers, batch)

    return losses_of_all


def _batches(
    data: tuple[Tensor, ...], batch_size: int | None, generators: list[torch.Generator]
) -> Iterator[tuple[Tensor, ...]]:
    """Yield the batches of one epoch: all data, or one batch a model, ``(seeds, batch, ...)``."""
    if batch_size is None:
        yield data
        return
    order = torch.stack([torch.randperm(len(data[-1]), generator=g) for g in generators])
    for chosen in order.split(batch_size, dim=1):  # (seeds, batch)
        yield tuple(tensor[chosen] for tensor in data)


def _make(make_model: Callable[[], nn.Module], seed: int) -> nn.Module:
    """Make a model from a seed, and restore PyTorch's global generator."""
    with torch.random.fork_rng(devices=[]):
        manual_seed(seed)
        return make_model()


def _together(parameters: list[State]) -> State:
    """Concatenate the stacked parameters of all groups."""
    if len(parameters) == 1:
        return parameters[0]
    return {name: torch.cat([part[name] for part in parameters]) for name in parameters[0]}


@torch.no_grad()
def _copy_back(parameters: list[State], models: list[nn.Module]) -> None:
    for name, values in _together(parameters).items():
        for model, value in zip(models, values, strict=True):
            model.get_parameter(name).copy_(value)
