"""How the book's language models learn: windows of a text, AdamW, a rate that rises and falls."""

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book._arguments import check_integer
from selfattn_book.experiments.text import Windows, next_token_loss
from selfattn_book.experiments.training import History, fit
from selfattn_book.language import LanguageModel

ROUND = 50  # steps, after which losses are noted


def fit_text(
    model: LanguageModel,
    tokens: Tensor,
    *,
    rounds: int,
    seed: int,
    lr: float = 0.01,
    length: int = 32,
    batch_size: int = 16,
    file: str | Path | None = None,
    progress: bool = False,
) -> History:
    """Train a language model on windows of a text.

    Args:
        model: what learns.
        tokens: ``(N,)``, the text.
        rounds: how many times 50 steps.
        seed: of the windows, and of what is dropped.
        lr: the highest learning rate.
        length: of a window.
        batch_size: windows a step.
        file: as of :func:`.fit`: of a checkpoint, from which the training goes on.
        progress: show a bar.

    Returns:
        The history; an epoch of it is a round, and its losses are in nats per token.

    Raises:
        ValueError: as of :func:`.fit` and :class:`.Windows`.

    Example:
        >>> from selfattn_book.language import decoder_only
        >>> _ = torch.manual_seed(0)
        >>> model = decoder_only(8, d_model=16, num_layers=1, num_heads=2, context=8)
        >>> history = fit_text(model, torch.arange(80) % 8, rounds=2, seed=0, length=8)
        >>> len(history.train), history.train[1] < 0.1 < history.train[0]
        (2, True)
    """
    rounds = check_integer("rounds", rounds, least=1)
    windows = Windows(tokens, length=length, batch_size=batch_size, steps=ROUND)
    optimizer = adamw(model, lr=lr, steps=rounds * ROUND)
    options: dict[str, Any] = {"file": file, "progress": progress}
    return fit(
        model,
        windows,
        next_token_loss,
        optimizer,
        epochs=rounds,
        seed=seed,
        **options,
    )


def adamw(model: nn.Module, *, lr: float, steps: int) -> torch.optim.AdamW:
    """Return AdamW whose rate rises for a twentieth of the steps, and then falls like a cosine.

    The rate is read off the steps that the optimizer itself has counted, so it goes on where a
    checkpoint ends. Gradients longer than 1 are cut to 1.

    Args:
        model: whose parameters learn.
        lr: the highest rate.
        steps: how many there will be.

    Source:
        :cite:t:`loshchilov2019decoupled`; the rate, :cite:t:`loshchilov2017sgdr`.

    Example:
        >>> optimizer = adamw(nn.Linear(1, 1), lr=0.1, steps=40)
        >>> optimizer.defaults["lr"], optimizer.defaults["weight_decay"]
        (0.1, 0.1)
    """
    group = {"params": list(model.parameters()), "steps": steps}
    optimizer = torch.optim.AdamW(
        [group], lr=lr, betas=(0.9, 0.99), weight_decay=0.1, fused=True
    )

    def before(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            done = optimizer.state.get(group["params"][0], {}).get("step", 0)
            group["lr"] = lr * rate(int(done), steps)

    def after(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        for group in optimizer.param_groups:
            group["lr"] = lr  # as a checkpoint is compared with it

    optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(after)
    return optimizer


def rate(done: int, steps: int) -> float:
    """Return which share of the highest rate a step takes, after so many others.

    Example:
        >>> [round(rate(done, 40), 3) for done in (0, 1, 20, 39)]
        [0.5, 0.999, 0.525, 0.051]
    """
    rising = (done + 1) / max(1, steps // 20)
    falling = 0.05 + 0.95 * (1 + math.cos(math.pi * done / steps)) / 2
    return min(1.0, rising) * falling
