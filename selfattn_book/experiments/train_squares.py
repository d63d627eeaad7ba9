"""Train the model of Part III from the command line: ``python -m selfattn_book train``."""

import argparse
import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from selfattn_book.draw.curves import lines
from selfattn_book.draw.style import DescribedFigure
from selfattn_book.encoder_decoder import EncoderDecoder
from selfattn_book.experiments.options import count, file, kept, rate, seed
from selfattn_book.experiments.squares import halves, square_sequences
from selfattn_book.experiments.training import History, fit


def loader(
    n: int, *, seed: int, batch_size: int = 16, shuffle: bool = True
) -> DataLoader[tuple[Tensor, ...]]:
    """Return batches of squares: two corners, the shifted target, and the other two corners.

    Args:
        n: how many squares.
        seed: of the squares.
        batch_size: how many squares a batch.
        shuffle: put them into another order each time.

    Example:
        >>> source, shifted, target = next(iter(loader(128, seed=13)))
        >>> source.shape, shifted.shape, target.shape
        (torch.Size([16, 2, 2]), torch.Size([16, 2, 2]), torch.Size([16, 2, 2]))
        >>> shifted[:, 0].equal(source[:, 1]), shifted[:, 1].equal(target[:, 0])
        (True, True)
    """
    examples = halves(square_sequences(n, seed=seed))
    return DataLoader(examples, batch_size=batch_size, shuffle=shuffle)


def adam(model: nn.Module, lr: float = 0.01) -> torch.optim.Adam:
    """Return Adam with one kernel for all parameters, which is what a tiny model waits for most.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> adam(model).defaults["lr"], adam(model).defaults["fused"]
        (0.01, True)
    """
    return torch.optim.Adam(model.parameters(), lr=lr, fused=True)


def main(arguments: list[str] | None = None) -> None:
    """Train, and write a checkpoint and a picture of the losses.

    The exit code is 0, 1 with the reason if training fails or a file cannot be used,
    2 if an option is wrong, or 130 with a word on what is kept if it was interrupted.

    Args:
        arguments: of the command line.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     files = ["--checkpoint", f"{folder}/some.pt", "--plot", f"{folder}/some.svg"]
        ...     main(["--epochs", "3", *files])
        ...     drawn = Path(folder, "some.svg").read_text("utf-8")
        After 3 epochs: training loss ..., validation loss ..., the best in epoch ...
        See ...some.pt and ...some.svg.
        >>> "Curves over 0 to 2. training: from" in drawn
        True
        >>> vars(_parser().parse_args([]))   # what is left out
        {'epochs': 100, 'seed': 23, 'lr': 0.01, 'positions': False,
        'checkpoint': ...Path('squares.pt'), 'plot': ...Path('squares.svg')}
    """
    options = _options(arguments)
    try:
        history = train(options)
        draw(history, options.plot)
    except KeyboardInterrupt:
        print(f"\nInterrupted. {kept(options.checkpoint)}", file=sys.stderr)
        sys.exit(130)
    except (OSError, ValueError) as error:
        sys.exit(f"\nThe training failed: {error}")
    epochs, best = len(history.train), history.best_epoch
    last = f"{history.train[-1]:.4f}, validation loss {history.validation[-1]:.4f}"
    print(f"After {epochs} epochs: training loss {last}, the best in epoch {best}.")
    print(f"See {options.checkpoint} and {options.plot}.")


def train(options: argparse.Namespace) -> History:
    """Train as the options say."""
    # The model is tiny; more threads would only wait for each other.
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    model = EncoderDecoder(positions=options.positions)
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
    """Draw the losses into an SVG file."""
    curves = {"training": history.train, "validation": history.validation}
    epochs = range(len(history.train))
    one = len(epochs) == 1  # and a line through one point is not seen
    ax = lines(
        epochs, curves, log=True, markers=one, x_title="epoch", y_title="loss"
    )
    assert isinstance(ax.figure, DescribedFigure)
    try:
        file.write_text(ax.figure.to_svg(), "utf-8")
    except OSError as error:
        rule = f"{file} must be a file that can be written; got '{error.strerror}'"
        raise OSError(f"{rule}. Make room, or name another file.") from error


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.plot.resolve() == options.checkpoint.resolve():
        parser.error(
            f"--plot and --checkpoint must be two files; got {options.plot}"
        )
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m selfattn_book train",
        description="Train the encoder-decoder of Part III on squares. Interrupt it when you like:"
        " the same command goes on where the checkpoint ends. It goes on with what it began with:"
        " a checkpoint of another seed, rate or model is refused.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--epochs", type=count, default=100, help="in all, resumed ones included")
    add("--seed", type=seed, default=23, help="of the model and of the shuffling")
    add("--lr", type=rate, default=0.01, help="learning rate of Adam")
    add("--positions", action="store_true", help="add sine and cosine positions")
    add("--checkpoint", type=file, default="squares.pt", help="file to go on from")
    add("--plot", type=file, default="squares.svg", help="SVG file for the losses")
    return parser
