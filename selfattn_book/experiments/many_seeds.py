"""Many trainings of one recipe, side by side, which differ in their seeds alone."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial

import torch
from torch import Tensor, nn
from torch.autograd import grad
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import trange

from selfattn_book._arguments import check_finite, check_integer
from selfattn_book.experiments.chance import begin_at
from selfattn_book.experiments.recording import Recorded, Results

Loss = Callable[[Tensor, Tensor], Tensor]

# One kernel for all parameters, which is what tiny models wait for.
Adam = partial(torch.optim.Adam, fused=True)


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
    method: Callable[..., torch.optim.Optimizer] = Adam,
    on_the_way: dict[int, list[nn.Module]] | None = None,
    progress: bool = True,
) -> tuple[Tensor, list[nn.Module]]:
    """Train one model per seed on the same data, side by side.

    The models share nothing but the recipe: their parameters are stacked, so that one step of
    one optimizer moves them all, and each moves as it would alone, up to rounding.
    This asks of the method that it treats every number by itself, as Adam and SGD do,
    and of the model and the loss that they do the same at every step: they are
    :class:`~selfattn_book.experiments.recording.Recorded`.

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
        on_the_way: lists by numbers of epochs below ``epochs``, to which copies of the models are
            added as they are after so many.
        progress: show a bar.

    Returns:
        The losses ``(epochs + 1, seeds)``: for each epoch the mean over its batches, each before
        it was learned, and last the loss on all of the data after training;
        and the trained models.

    Raises:
        ValueError: there are no seeds, ``epochs`` or ``batch_size`` is below 1, inputs and targets
            are not equally many, ``on_the_way`` names an epoch that is not on the way, or a loss is
            not finite.

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
        >>> after = {9: []}   # one training gives both, equal to the last digit
        >>> _ = fit_seeds(*given, seeds=[0, 1, 2], **recipe, on_the_way=after)
        >>> _, models = fit_seeds(*given, seeds=[0, 1, 2], **short)
        >>> [a.weight.equal(b.weight) for a, b in zip(after[9], models, strict=True)]
        [True, True, True]
        >>> fit_seeds(*given, seeds=[0], on_the_way={9: []}, **short)
        Traceback (most recent call last):
        ValueError: on_the_way must name epochs from 0 to 8; got [9]
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
    _check_seeds(seeds, epochs)
    copies = _check_on_the_way(on_the_way or {}, epochs)
    data = _examples(inputs, targets)
    models = [_make(make_model, seed) for seed in seeds]
    parameters, buffers = stack_module_state(models)
    losses_of_all = partial(_side_by_side(models[0], loss), parameters, buffers)
    chances = [torch.Generator().manual_seed(seed) for seed in seeds]
    optimizer = method(parameters.values(), lr=lr)
    learned_from = _learning(losses_of_all, parameters, batch_size is not None)
    history = []
    for epoch in trange(epochs, disable=not progress, leave=False):
        if epoch in copies:
            _hand_back(parameters, models)
            copies[epoch] += deepcopy(models)
        steps = []
        for batch in _deal(data, batch_size, chances):
            losses, *gradients = learned_from(*batch)
            steps.append(check_finite(losses, f"in epoch {epoch}"))
            _step(optimizer, gradients)
        history.append(torch.stack(steps).mean(dim=0))
    last = check_finite(losses_of_all(data, False), f"in epoch {epochs}")
    _hand_back(parameters, models)
    return torch.stack([*history, last]), models


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
    # Not on meta: there, two names of one parameter (tied weights) would come apart.
    skeleton = deepcopy(model)

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
        # vmap has no rule for the CPU's fused attention, and would run it model by model.
        with sdpa_kernel(SDPBackend.MATH):
            return vmap(loss_of_one, in_dims=dims)(parameters, buffers, batch)

    return losses_of_all


def _learning(
    losses_of_all: Callable[..., Tensor], parameters: dict[str, Tensor], own: bool
) -> Callable[..., Results]:
    """Return a function of a batch, which gives the losses, and the derivatives of their sum."""

    @Recorded  # from the third step on, what it called is called without it
    def learned_from(*batch: Tensor) -> Results:
        losses = losses_of_all(batch, own)  # (seeds,)
        # No model's loss depends on another's parameters.
        return losses, *_gradients(losses.sum(), parameters)

    return learned_from


def _gradients(
    total: Tensor, parameters: dict[str, Tensor]
) -> Iterator[Tensor | None]:
    """Give the derivatives by those that are not frozen, or ``None`` where one plays no part."""
    learned = [x for x in parameters.values() if x.requires_grad]
    for gradient in grad(total, learned, allow_unused=True):
        # Fused optimizers read numbers as they lie, and those of parameters lie in a row.
        yield None if gradient is None else gradient.contiguous()


def _step(
    optimizer: torch.optim.Optimizer, gradients: Sequence[Tensor | None]
) -> None:
    """Hand gradients to an optimizer, and let it move what is not frozen."""
    (group,) = optimizer.param_groups
    learned = (x for x in group["params"] if x.requires_grad)
    for parameter, gradient in zip(learned, gradients, strict=True):
        parameter.grad = gradient
    optimizer.step()


def _deal(
    data: tuple[Tensor, ...],
    batch_size: int | None,
    chances: list[torch.Generator],
) -> Iterator[tuple[Tensor, ...]]:
    """Give the batches of one epoch: all data, or for each model its own, ``(seeds, batch, ...)``."""
    if batch_size is None:
        yield data
        return
    size = check_integer("batch_size", batch_size, least=1)
    count = len(data[-1])
    order = torch.stack([torch.randperm(count, generator=g) for g in chances])
    for chosen in order.split(size, dim=1):  # (seeds, batch)
        yield tuple(tensor[chosen] for tensor in data)


def _make(make_model: Callable[[], nn.Module], seed: int) -> nn.Module:
    """Make a model from a seed, and leave PyTorch's generator as it was."""
    with torch.random.fork_rng(devices=[]):
        begin_at(seed)
        return make_model()


@torch.no_grad()
def _hand_back(stacked: dict[str, Tensor], models: list[nn.Module]) -> None:
    for name, values in stacked.items():
        for model, value in zip(models, values, strict=True):
            model.get_parameter(name).copy_(value)


def _check_seeds(seeds: Sequence[int], epochs: int) -> None:
    if len(seeds) == 0:
        raise ValueError("there must be at least one seed; got none")
    check_integer("epochs", epochs, least=1)


def _check_on_the_way(
    copies: dict[int, list[nn.Module]], epochs: int
) -> dict[int, list[nn.Module]]:
    if not all(0 <= epoch < epochs for epoch in copies):
        rule = f"on_the_way must name epochs from 0 to {epochs - 1}"
        raise ValueError(f"{rule}; got {list(copies)}")
    return copies
