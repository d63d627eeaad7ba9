"""Train the model of Part III from the command line: ``python -m selfattn_book.training``."""

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from selfattn_book.curves import lines
from selfattn_book.encoder_decoder import EncoderDecoder
from selfattn_book.figure import DescribedFigure
from selfattn_book.squares import halves, square_sequences
from selfattn_book.training import fit


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


def main(arguments: list[str] | None = None) -> None:
    """Train, and write a checkpoint and a picture of the losses.

    Args:
        arguments: of the command line.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     files = ["--checkpoint", f"{folder}/some.pt", "--plot", f"{folder}/some.svg"]
        ...     main(["--epochs", "3", *files])
        ...     drawn = Path(folder, "some.svg").read_text("utf-8")
        training loss 0.8147, validation loss 0.7997,
        the best in epoch 2; see ...some.pt and ...some.svg
        >>> "Curves over 0 to 2. training: from" in drawn
        True
        >>> vars(_parser().parse_args([]))   # what is left out
        {'epochs': 100, 'seed': 23, 'lr': 0.01, 'positions': False,
        'checkpoint': ...Path('squares.pt'), 'plot': ...Path('squares.svg')}
    """
    options = _parser().parse_args(arguments)
    # The model is tiny; more threads would only wait for each other.
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    model = EncoderDecoder(positions=options.positions)
    history = fit(
        model,
        loader(128, seed=13),
        nn.functional.mse_loss,
        torch.optim.Adam(model.parameters(), lr=options.lr),
        epochs=options.epochs,
        seed=options.seed,
        validation=loader(128, seed=19, shuffle=False),
        file=options.checkpoint,
    )
    curves = {"training": history.train, "validation": history.validation}
    ax = lines(
        range(len(history.train)), curves, log=True, x_title="epoch", y_title="loss"
    )
    assert isinstance(ax.figure, DescribedFigure)
    options.plot.write_text(ax.figure.to_svg(), "utf-8")
    last = history.train[-1], history.validation[-1]
    print("training loss {:.4f}, validation loss {:.4f},".format(*last))
    files = f"{options.checkpoint} and {options.plot}"
    print(f"the best in epoch {history.best_epoch}; see {files}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m selfattn_book.training",
        description="Train the encoder-decoder of Part III on squares. Interrupt it when you like:"
        " the same command goes on where the checkpoint ends.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--epochs", type=int, default=100, help="in all, resumed ones included"
    )
    parser.add_argument(
        "--seed", type=int, default=23, help="of the model and of the shuffling"
    )
    parser.add_argument(
        "--lr", type=float, default=0.01, help="learning rate of Adam"
    )
    parser.add_argument(
        "--positions", action="store_true", help="add sine and cosine positions"
    )
    parser.add_argument(
        "--checkpoint", type=Path, default="squares.pt", help="file to go on from"
    )
    parser.add_argument(
        "--plot", type=Path, default="squares.svg", help="SVG file for the losses"
    )
    return parser


if __name__ == "__main__":
    main()
