"""Train a language model on windows of a text: AdamW, linear warm-up, cosine decay."""

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.experiments.text import Windows, next_token_loss
from selfattn_book.experiments.training import History, fit
from selfattn_book.language import LanguageModel

LOG_EVERY = 50  # steps to an entry of the history


def fit_text(
    model: LanguageModel,
    tokens: Tensor,
    *,
    steps: int,
    seed: int,
    lr: float = 0.01,
    length: int = 32,
    file: str | Path | None = None,
    progress: bool = False,
) -> History:
    """Train a language model on random windows of a text, 16 in each step.

    Args:
        model: language model.
        tokens: ``(N,)``, the text.
        steps: number of optimizer steps, a multiple of 50.
        seed: seed of the windows and of dropout.
        lr: peak learning rate.
        length: number of tokens in a window.
        file: checkpoint to write after every 50 steps, and to resume from.
        progress: whether to show a progress bar.

    Returns:
        The history, in which each 50 steps are one epoch; losses are in nats per token.

    Raises:
        ValueError: ``steps`` is not a multiple of 50, or :func:`.fit` raises.

    Example:
        >>> from selfattn_book.language import decoder_only
        >>> _ = torch.manual_seed(0)
        >>> model = decoder_only(8, d_model=16, num_layers=1, num_heads=2, context_length=8)
        >>> history = fit_text(model, torch.arange(80) % 8, steps=100, seed=0, length=8)
        >>> len(history.train), history.train[1] < 0.1 < history.train[0]
        (2, True)
    """
    epochs, rest = divmod(steps, LOG_EVERY)
    if rest:
        raise ValueError(f"steps must be a multiple of {LOG_EVERY}; got {steps}")
    return fit(
        model,
        Windows(tokens, length=length, batch_size=16, steps=LOG_EVERY),
        next_token_loss,
        adamw(model, lr=lr, steps=steps),
        epochs=epochs,
        seed=seed,
        file=file,
        progress=progress,
    )


def adamw(model: nn.Module, *, lr: float, steps: int) -> torch.optim.AdamW:
    """Return AdamW with linear warm-up for a twentieth of the steps, then cosine decay.

    The learning rate is computed from the optimizer's own step count, so a resumed training
    continues the schedule. Gradients are clipped to norm 1.

    Source:
        :cite:t:`loshchilov2019decoupled`; the rate, :cite:t:`loshchilov2017sgdr`.
    """
    group = {"params": list(model.parameters()), "steps": steps}
    optimizer = torch.optim.AdamW([group], lr=lr, betas=(0.9, 0.99), weight_decay=0.1, fused=True)

    def before(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            done = optimizer.state.get(group["params"][0], {}).get("step", 0)
            group["lr"] = lr * rate(int(done), steps)

    def after(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        for group in optimizer.param_groups:
            group["lr"] = lr  # the value that a checkpoint is compared with

    optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(after)
    return optimizer


def rate(done: int, steps: int) -> float:
    """Return the learning rate of a step, after ``done`` of ``steps``, as a fraction of the peak.

    Example:
        >>> [round(rate(done, 40), 3) for done in (0, 1, 20, 39)]
        [0.5, 0.999, 0.525, 0.051]
    """
    warmup = (done + 1) / max(1, steps // 20)
    decay = 0.05 + 0.95 * (1 + math.cos(math.pi * done / steps)) / 2
    return min(1.0, warmup) * decay
