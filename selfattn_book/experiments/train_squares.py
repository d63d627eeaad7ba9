"""Train the encoder-decoder of Part III from the command line: ``python -m selfattn_book train``."""

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from selfattn_book.draw.curves import lines
from selfattn_book.draw.style import DescribedFigure
from selfattn_book.encoder_decoder import COURSE_SIZES, EncoderDecoder
from selfattn_book.experiments import options as cli
from selfattn_book.experiments.checkpoint import write_whole
from selfattn_book.experiments.squares import halves, square_sequences
from selfattn_book.experiments.training import History, fit


def loader(n: int, *, seed: int, shuffle: bool = True) -> DataLoader[tuple[Tensor, ...]]:
    """Return batches of 16 squares: source of two corners, shifted target, target of two corners."""
    examples = halves(square_sequences(n, seed=seed))
    return DataLoader(examples, batch_size=16, shuffle=shuffle)


def adam(model: nn.Module, lr: float = 0.01) -> torch.optim.Adam:
    """Return Adam with one fused kernel for all parameters, which is faster for a tiny model."""
    return torch.optim.Adam(model.parameters(), lr=lr, fused=True)


def main(arguments: list[str] | None = None) -> None:
    """Train, and write a checkpoint and a plot of the losses.

    The exit code is 0, 1 after a message if training fails or a file cannot be used,
    2 if an option is wrong, or 130 if training was interrupted.

    Example:
        >>> vars(_parser().parse_args([]))   # the defaults
        {'epochs': 100, 'seed': 23, 'lr': 0.01, 'positions': False,
        'checkpoint': ...Path('squares.pt'), 'plot': ...Path('squares.svg')}
    """
    options = cli.parse_two_files(_parser(), arguments, "plot", "checkpoint")
    with cli.exit_with_message(options.checkpoint):
        history = train(options)
        draw(history, options.plot)
    epochs, best = len(history.train), history.best_epoch
    last = f"{history.train[-1]:.4f}, validation loss {history.validation[-1]:.4f}"
    print(f"After {epochs} epochs: training loss {last}, the best in epoch {best}.")
    print(f"Wrote {options.checkpoint} and {options.plot}.")


def train(options: argparse.Namespace) -> History:
    """Train with the options of the command line."""
    torch.set_num_threads(1)  # faster for a model this small
    torch.manual_seed(options.seed)
    model = EncoderDecoder(**COURSE_SIZES, positions=options.positions)
    return fit(
        model,
        loader(128, seed=13),
        nn.functional.mse_loss,
        adam(model, lr=options.lr),
        epochs=options.epochs,
        seed=options.seed,
        validation=loader(128, seed=19, shuffle=False),
        file=options.checkpoint,
    )


def draw(history: History, file: Path) -> None:
    """Plot the losses in an SVG file."""
    curves = {"training": history.train, "validation": history.validation}
    epochs = range(len(history.train))
    one = len(epochs) == 1  # a line through one point is invisible
    ax = lines(epochs, curves, log=True, markers=one, x_title="epoch", y_title="loss")
    assert isinstance(ax.figure, DescribedFigure)
    write_whole(file, ax.figure.to_svg().encode())


def _parser() -> argparse.ArgumentParser:
    parser = cli.make_parser(
        "train",
        "Train the encoder-decoder of Part III on squares. It may be interrupted: the same command"
        " resumes from the checkpoint, which must have the same seed, learning rate and model.",
    )
    add = parser.add_argument
    add("--epochs", type=cli.count, default=100, help="total epochs, resumed ones included")
    add("--seed", type=cli.seed, default=23, help="seed of the model and of the shuffling")
    add("--lr", type=cli.rate, default=0.01, help="learning rate of Adam")
    add("--positions", action="store_true", help="add sinusoidal positions")
    add("--checkpoint", type=cli.file, default="squares.pt", help="file to resume from")
    add("--plot", type=cli.file, default="squares.svg", help="SVG file of the losses")
    return parser
