"""The training commands with a smaller model, as processes of their own.

`text OPTION ...` is `train text`. A rank of `torchrun`, in float64: `train OPTION ...` trains;
`killed OPTION ...` too, until the last rank is killed while the third checkpoint is written;
`gradients FILE OPTION ...` too, after it has written the gradients of one step.
"""

import os
import signal
import sys
from itertools import count, product

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

from selfattn_book.experiments import fit_text, train_distributed, train_text

SIZES = {"d_model": 16, "num_layers": 2, "num_heads": 2, "context_length": 8}
SMALLER = [
    (train_text, "SIZES", SIZES),
    (train_text, "LENGTH", 8),
    (train_text, "MERGES", 4),
    (train_distributed, "LENGTH", 8),
    (train_distributed, "MERGES", 4),
    (fit_text, "LOG_EVERY", 2),
]
VOCABULARY, BATCH = 260, train_distributed.BATCH
KINDS, MICRO, DROPOUT = ("ddp", "fsdp"), (1, 4, 8), (True, False)


def windows():
    """Return the windows of a batch, the same on all ranks."""
    return torch.randint(VOCABULARY, (BATCH, 9), generator=torch.Generator().manual_seed(1))


def new_model(dropout):
    """Return a model in which every parameter is drawn."""
    model = train_text.new_model(VOCABULARY, 0).train(dropout)
    chance = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=chance))
    return model


def gradients():
    """Return the gradient of a batch, for each kind, size of micro-batch, and with dropout or not."""
    rank, ranks, found = dist.get_rank(), dist.get_world_size(), {}
    for kind, size, dropout in product(KINDS, MICRO, DROPOUT):
        model = new_model(dropout)
        replica = train_distributed.distribute(model, kind)
        batch = [(part, seed) for seed, part in enumerate(windows().split(size))][rank::ranks]
        train_distributed.compute_gradient(replica, batch)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter.grad)
        options = StateDictOptions(full_state_dict=True)
        found[kind, size, dropout] = get_model_state_dict(model, options=options)
    return found


def kill_in_checkpoint(number):
    """Let the last rank be killed while a checkpoint is written."""
    saved, state_of = count(1), train_distributed.state_of

    def killed(*trained):
        if next(saved) == number and dist.get_rank() == dist.get_world_size() - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return state_of(*trained)

    train_distributed.state_of = killed


def write_gradients_before_training(file):
    train = train_distributed.train

    def after_gradients(options):
        found = gradients()
        if dist.get_rank() == 0:
            torch.save(found, file)
        train(options)

    train_distributed.train = after_gradients


def main(what, *options):
    for module, name, value in SMALLER:
        setattr(module, name, value)
    if what == "text":
        return train_text.main(list(options))
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    if what == "gradients":
        file, *options = options
        write_gradients_before_training(file)
    if what == "killed" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        kill_in_checkpoint(3)
        # The launcher would end the others, perhaps before they have seen why.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return train_distributed.main(list(options))


if __name__ == "__main__":
    main(*sys.argv[1:])
