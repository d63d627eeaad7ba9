"""Train the book's language model from the command line: ``python -m selfattn_book train text``."""

import argparse
import math
import sys

import torch
from torch import Tensor

from selfattn_book.experiments import model_file
from selfattn_book.experiments import options as cli
from selfattn_book.experiments.fit_text import fit_text
from selfattn_book.experiments.seeding import manual_seed
from selfattn_book.experiments.text import load_text, split_text, surprisal
from selfattn_book.language import LanguageModel, decoder_only
from selfattn_book.tokens import BPETokenizer, train_bpe

SIZES = {"d_model": 128, "num_layers": 2, "num_heads": 4, "context_length": 64}
DROPOUT, LR, LENGTH = 0.2, 0.003, 64
MERGES, STEPS = 768, 7500


def main(arguments: list[str] | None = None) -> None:
    """Train, and write a checkpoint and, at the end, a model file.

    The exit code is 0, 1 after a message if training fails or a file cannot be used,
    2 if an option is wrong, or 130 if training was interrupted.

    Example:
        >>> vars(_parser().parse_args([]))   # the defaults
        {'steps': 7500, 'seed': 0, 'checkpoint': ...Path('text.pt'),
        'model': ...Path('text.safetensors')}
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.model.resolve() == options.checkpoint.resolve():
        parser.error(f"--model and --checkpoint must be two files; got {options.model}")
    try:
        record = train(options)
    except KeyboardInterrupt:
        file, begins = options.checkpoint, "or begins again if it holds no epoch yet"
        print(f"\nInterrupted. The same command resumes from {file}, {begins}.", file=sys.stderr)
        sys.exit(cli.INTERRUPTED)
    except (OSError, ValueError) as error:
        sys.exit(f"\nThe training failed: {error}")
    loss = f"{record['held_out'] / math.log(2):.2f} bits per character on the held-out text"
    print(f"After {options.steps} steps: {loss}.")
    print(f"Wrote {options.checkpoint} and {options.model}. To generate text with it:")
    command = f"generate --weights {options.model} --prompt 'In the beginning'"
    print(f"python -m selfattn_book {command}")


def train(options: argparse.Namespace) -> model_file.Record:
    """Train, write the model, and return its training record."""
    torch.set_num_threads(1)  # faster for a model this small
    training_text, _ = split_text(load_text("stories"))
    tokens = BPETokenizer(train_bpe(training_text, MERGES))
    model = new_model(len(tokens), options.seed)
    fit_text(
        model,
        tokens.encode(training_text),
        steps=options.steps,
        seed=options.seed,
        lr=LR,
        length=LENGTH,
        file=options.checkpoint,
        progress=True,
    )
    return save_model(options, model, tokens)


def save_model(
    options: argparse.Namespace, model: LanguageModel, tokens: BPETokenizer
) -> model_file.Record:
    """Write a model with a record of its loss on the held-out text, as computed after rounding."""
    training_text, _ = split_text(load_text("stories"))
    record = {"text": "stories", "steps": options.steps, "seed": options.seed}
    record |= {"torch": torch.__version__, "characters": "".join(sorted(set(training_text)))}
    model_file.write(options.model, model, tokens, record)
    rounded, *_ = model_file.read(options.model)  # quantized to 8 bits
    record["held_out"] = held_out(rounded, tokens).item()
    model_file.write(options.model, model, tokens, record)
    return record


def new_model(vocab_size: int, seed: int) -> LanguageModel:
    """Return an untrained model of the book's sizes."""
    with torch.random.fork_rng(devices=[]):
        manual_seed(seed)
        return decoder_only(vocab_size, **SIZES, dropout=DROPOUT)


def held_out(model: LanguageModel, tokens: BPETokenizer) -> Tensor:
    """Return the surprisal of the held-out text, in nats per character."""
    training_text, held = split_text(load_text("stories"))
    before = tokens.encode(training_text)[-LENGTH:]
    numbers = torch.cat([before, tokens.encode(held)])
    return surprisal(model, numbers, LENGTH, length=LENGTH).sum() / len(held)


def _parser() -> argparse.ArgumentParser:
    parser = cli.make_parser(
        "train text",
        "Train the book's language model on Genesis, Ruth and First Samuel: about ten minutes on"
        " one processor. It may be interrupted: the same command resumes from the checkpoint,"
        " which must have the same seed and number of steps.",
    )
    add = parser.add_argument
    add("--steps", type=cli.count, default=STEPS, help="total steps, a multiple of 50")
    add("--seed", type=cli.seed, default=0, help="seed of the model and of the windows")
    add("--checkpoint", type=cli.file, default="text.pt", help="file to resume from")
    add("--model", type=cli.file, default="text.safetensors", help="output file of the model")
    return parser
