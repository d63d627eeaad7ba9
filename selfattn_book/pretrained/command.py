"""The command ``python -m selfattn_book generate --weights FOLDER --prompt TEXT``."""

import argparse
import sys
from pathlib import Path

import torch

from selfattn_book._arguments import check_integer
from selfattn_book.generation import Choice, greedy, make_sampler
from selfattn_book.pretrained.continuing import continue_text

WRONG = 2  # as argparse returns it


def main(arguments: list[str]) -> int:
    """Print a prompt with its continuation; return 0, or 2 after a message of one line.

    Decoding is greedy unless an option for sampling is given.
    """
    options = _parse(arguments)
    try:
        text = continue_text(
            options.weights, options.prompt, length=options.length, select=_choice(options)
        )
    except (OSError, TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        return WRONG
    print(text)
    return 0


def _choice(options: argparse.Namespace) -> Choice:
    """Return greedy decoding, or a sampler if an option for sampling is given."""
    names = "temperature", "top_k", "top_p"
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if not given:
        return greedy
    seed = check_integer("seed", options.seed, least=0)
    if seed >= 2**63:
        raise ValueError(f"seed must be below 2**63; got {seed}")
    return make_sampler(torch.Generator().manual_seed(seed), **given)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m selfattn_book generate",
        description="Continue a text with a GPT-2 that you have downloaded.",
        epilog="The folder holds config.json, model.safetensors, vocab.json and merges.txt. "
        "No code in these files is run.",
    )
    parser.add_argument("--weights", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--prompt", required=True, help="beginning of the text")
    parser.add_argument("--length", type=int, default=40, help="largest number of new tokens")
    parser.add_argument("--temperature", type=float, help="above 0; 1 by default")
    parser.add_argument("--top-k", type=int, help="sample from the K most likely tokens")
    parser.add_argument(
        "--top-p", type=float, help="from the most likely tokens of total probability P"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the sampling")
    return parser.parse_args(arguments)
