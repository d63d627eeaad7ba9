"""Train the model that writes, from the command line: ``python -m selfattn_book train text``."""

import argparse
import sys
from pathlib import Path

import torch
from torch import Tensor

from selfattn_book.experiments import kept as keeping
from selfattn_book.experiments.chance import begin_at
from selfattn_book.experiments.fit_text import fit_text
from selfattn_book.experiments.options import count, file, kept, seed
from selfattn_book.experiments.text import nine_tenths, surprise, text_of
from selfattn_book.language import LanguageModel, decoder_only
from selfattn_book.tokens import BytePairs, learn_merges

SIZES = {"d_model": 128, "num_layers": 2, "num_heads": 4, "context": 64}
DROPOUT, LR, LENGTH = 0.2, 0.003, 64
MERGES, ROUNDS = 768, 150


def main(arguments: list[str] | None = None) -> None:
    """Train, and write a checkpoint and, at the end, the model in a file of numbers.

    The exit code is 0, 1 with the reason if training fails or a file cannot be used,
    2 if an option is wrong, or 130 with a word on what is kept if it was interrupted.

    Args:
        arguments: of the command line.

    Example:
        >>> vars(_parser().parse_args([]))   # what is left out
        {'rounds': 150, 'seed': 0, 'checkpoint': ...Path('text.pt'),
        'model': ...Path('text.safetensors')}
    """
    options = _options(arguments)
    try:
        record = train(options)
    except KeyboardInterrupt:
        print(
            f"\nInterrupted. {kept(options.checkpoint, 'round')}", file=sys.stderr
        )
        sys.exit(130)
    except (OSError, ValueError) as error:
        sys.exit(f"\nThe training failed: {error}")
    loss = f"{record['held_out']:.3f} nats per character on the text held out"
    print(f"After {options.rounds} rounds of 50 steps: {loss}.")
    print(f"See {options.checkpoint} and {options.model}. To let it write:")
    command = f"generate --weights {options.model} --prompt 'In the beginning'"
    print(f"python -m selfattn_book {command}")


def train(options: argparse.Namespace) -> keeping.Record:
    """Train as the options say, write the model, and return the record of it."""
    torch.set_num_threads(1)  # more would only wait for each other
    learned, _ = nine_tenths(text_of("stories"))
    tokens = BytePairs(learn_merges(learned, MERGES))
    model = new_model(len(tokens), options.seed)
    fit_text(
        model,
        tokens.encode(learned),
        rounds=options.rounds,
        seed=options.seed,
        lr=LR,
        length=LENGTH,
        file=options.checkpoint,
        progress=True,
    )
    record = {
        "text": "stories",
        "rounds": options.rounds,
        "seed": options.seed,
        "torch": torch.__version__,
        "characters": "".join(sorted(set(learned))),
    }
    return keep(options.model, model, tokens, record)


def keep(
    file: Path, model: LanguageModel, tokens: BytePairs, record: keeping.Record
) -> keeping.Record:
    """Write a model, and into its record what it then loses on the text held out."""
    keeping.write(file, model, tokens, record)
    rounded, *_ = keeping.read(
        file
    )  # to 8 bits, which is the model that others get
    record = record | {"held_out": held_out(rounded, tokens).item()}
    keeping.write(file, model, tokens, record)
    return record


def new_model(vocabulary: int, seed: int) -> LanguageModel:
    """Return a model of the recipe that has learned nothing yet.

    Example:
        >>> sum(parameter.numel() for parameter in new_model(1024, 0).parameters())
        536064
    """
    with torch.random.fork_rng(devices=[]):
        begin_at(seed)
        return decoder_only(vocabulary, **SIZES, dropout=DROPOUT)


def held_out(model: LanguageModel, tokens: BytePairs) -> Tensor:
    """Return the surprise on the text held out, in nats per character."""
    learned, held = nine_tenths(text_of("stories"))
    before = tokens.encode(learned)[-LENGTH:]
    numbers = torch.cat([before, tokens.encode(held)])
    return surprise(model, numbers, LENGTH, length=LENGTH).sum() / len(held)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.model.resolve() == options.checkpoint.resolve():
        parser.error(
            f"--model and --checkpoint must be two files; got {options.model}"
        )
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m selfattn_book train text",
        description="Train the language model that writes, on Genesis, Ruth and First Samuel:"
        " about ten minutes of one processor. Interrupt it when you like: the same command goes"
        " on where the checkpoint ends, with the seed and the number of rounds it began with.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--rounds", type=count, default=ROUNDS, help="of 50 steps, in all")
    add("--seed", type=seed, default=0, help="of the model and of the windows")
    add("--checkpoint", type=file, default="text.pt", help="file to go on from")
    add("--model", type=file, default="text.safetensors", help="file for the model")
    return parser
