"""The command ``python -m selfattn_book generate --weights FOLDER --prompt TEXT``."""

import argparse
import sys
from pathlib import Path

import torch

from selfattn_book._arguments import check_integer
from selfattn_book.generation import Choice, likeliest, sampler
from selfattn_book.pretrained.continuing import continue_text

WRONG = 2  # as argparse returns it


def main(arguments: list[str]) -> int:
    """Print a text with its continuation; return 0, or 2 with one line that says what is wrong.

    Without an option that asks for chance, the likeliest token is taken each time.
    """
    asked = _options(arguments)
    try:
        text = continue_text(
            asked.weights, asked.prompt, length=asked.length, choose=_choice(asked)
        )
    except (OSError, TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        return WRONG
    print(text)
    return 0


def _choice(asked: argparse.Namespace) -> Choice:
    """Return how the next token is chosen; by chance only if an option asks for it."""
    options = {
        name: getattr(asked, name) for name in ("temperature", "top_k", "top_p")
    }
    given = {name: value for name, value in options.items() if value is not None}
    if not given:
        return likeliest
    seed = check_integer("seed", asked.seed, least=0)
    if seed >= 2**63:
        raise ValueError(f"seed must be below 2**63; got {seed}")
    return sampler(torch.Generator().manual_seed(seed), **given)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m selfattn_book generate",
        description="Continue a text with a GPT-2 that you have downloaded.",
        epilog="The folder holds config.json, model.safetensors, vocab.json and merges.txt. "
        "Nothing in these files is run.",
    )
    parser.add_argument("--weights", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--prompt", required=True, help="how the text begins")
    parser.add_argument("--length", type=int, default=40, help="tokens to add")
    parser.add_argument("--temperature", type=float, help="above 0; 1 by default")
    parser.add_argument("--top-k", type=int, help="choose among the likeliest K")
    parser.add_argument("--top-p", type=float, help="among those with a share of P")
    parser.add_argument("--seed", type=int, default=0, help="of all chance")
    return parser.parse_args(arguments)
