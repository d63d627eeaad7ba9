"""Training loops that know no model: they are given one, data, and a loss."""

from collections.abc import Callable, Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from tqdm.auto import trange

from selfattn_book.checks import check_integer

Loss = Callable[[Tensor, Tensor], Tensor]


def fit_seeds(
    make_model: Callable[[], nn.Module],
    inputs: Tensor,
    targets: Tensor,
    loss: Loss,
    *,
    seeds: Sequence[int],
    epochs: int,
    lr: float = 0.01,
    method: Callable[..., torch.optim.Optimizer] = torch.optim.Adam,
    progress: bool = True,
) -> tuple[Tensor, list[nn.Module]]:
    """Train one model per seed on all of the data at once, side by side.

    The models share nothing but the recipe: their parameters are stacked, so that one step of
    one optimizer moves them all, and each moves as it would alone, up to rounding.
    This asks of the method that it treats every number by itself, as Adam and SGD do.

    Args:
        make_model: makes a model, whose parameters are drawn as PyTorch draws.
        inputs: all inputs, as the model takes them.
        targets: all targets, as the loss takes them.
        loss: of the model's output and the targets, a number.
        seeds: one a model; PyTorch's generator is seeded with it before the model is made.
        epochs: how many steps, each on all of the data.
        lr: the learning rate.
        method: an optimizer of ``torch.optim``.
        progress: show a bar.

    Returns:
        The losses ``(epochs + 1, seeds)``, before the first step and after each,
        and the trained models.

    Raises:
        ValueError: there are no seeds, ``epochs`` is below 1, or a loss is not finite.

    Example:
        >>> x = torch.linspace(-1, 1, 8).unsqueeze(1)
        >>> make = lambda: nn.Linear(1, 1)
        >>> losses, models = fit_seeds(make, x, 2 * x, nn.functional.mse_loss,
        ...                            seeds=[0, 1, 2], epochs=500, lr=0.1, progress=False)
        >>> losses.shape, losses[-1] < 1e-6
        (torch.Size([501, 3]), tensor([True, True, True]))
        >>> models[0].weight.item()
        2.00
        >>> slow, _ = fit_seeds(make, x, 2 * x, nn.functional.mse_loss, seeds=[0], epochs=500,
        ...                     lr=0.1, method=torch.optim.SGD, progress=False)
        >>> slow[0] == losses[0, 0], slow[-1] < 1e-6   # the same start, another way
        (tensor([True]), tensor([True]))
    """
    _check_recipe(seeds, epochs)
    models = [_make(make_model, seed) for seed in seeds]
    parameters, buffers = stack_module_state(models)
    skeleton = deepcopy(models[0]).to("meta")

    def loss_of_one(
        parameters: dict[str, Tensor], buffers: dict[str, Tensor]
    ) -> Tensor:
        output = functional_call(skeleton, (parameters, buffers), (inputs,))
        return loss(output, targets)

    losses_of_all = vmap(loss_of_one)
    optimizer = method(parameters.values(), lr=lr)
    history = []
    for epoch in trange(epochs, disable=not progress, leave=False):
        losses = losses_of_all(parameters, buffers)  # (seeds,)
        history.append(_finite(losses, epoch))
        optimizer.zero_grad()
        losses.sum().backward()  # no model's loss depends on another's parameters
        optimizer.step()
    with torch.no_grad():
        history.append(_finite(losses_of_all(parameters, buffers), epochs))
    _hand_back(parameters, models)
    return torch.stack(history), models


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


def _finite(losses: Tensor, epoch: int) -> Tensor:
    """Return losses without their gradient, or raise."""
    if not losses.isfinite().all():
        raise ValueError(
            f"losses must be finite; got {losses.tolist()} in epoch {epoch}"
        )
    return losses.detach()
