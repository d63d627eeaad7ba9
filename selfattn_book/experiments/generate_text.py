"""Generate text from the command line: ``python -m selfattn_book generate``."""

import argparse
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from selfattn_book._arguments import check_integer
from selfattn_book.experiments import model_file
from selfattn_book.experiments.options import INTERRUPTED, make_parser, seed
from selfattn_book.generation import (
    Select,
    generate,
    greedy,
    make_sampler,
    next_token_distribution,
)
from selfattn_book.pretrained.continuing import continue_text
from selfattn_book.tokens import BPETokenizer

WRONG = 2  # as argparse returns it


def main(arguments: list[str] | None = None) -> int:
    """Print a prompt and its continuation.

    Returns:
        0, or 2 after a message of one line, or 130 if generation was interrupted.

    Example:
        >>> main(["--prompt", "And God said", "--length", "0"])
        And God said
        0
    """
    options = _parser().parse_args(arguments)
    names = "temperature", "top_k", "top_p"
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    try:
        write_pretrained(options, given) if _is_pretrained(options) else write(options, given)
    except KeyboardInterrupt:
        print()
        return INTERRUPTED
    except (OSError, TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        return WRONG
    print()
    return 0


def write(options: argparse.Namespace, given: dict[str, Any]) -> None:
    """Print a prompt and its continuation by a model of this book, token by token."""
    torch.set_num_threads(1)
    model, tokens, record = (
        model_file.load_bundled_model()
        if options.weights is None
        else model_file.read(options.weights)
    )
    prompt = _checked_prompt(options.prompt, record.get("characters", ""))
    chosen = {"temperature": 0.8, **given}
    length = 150 if options.length is None else check_integer("length", options.length, least=0)
    next_token_distribution(torch.zeros(1, len(tokens)), **chosen)  # checks the options
    sample = make_sampler(torch.Generator().manual_seed(options.seed), **chosen)
    print(prompt, end="", flush=True)
    generate(model, tokens.encode(prompt)[None], length, select=_printing(sample, tokens))


def write_pretrained(options: argparse.Namespace, given: dict[str, Any]) -> None:
    """Print a prompt and its continuation by a downloaded model, greedy without an option."""
    generator = torch.Generator().manual_seed(options.seed)
    select = make_sampler(generator, **given) if given else greedy
    length = 40 if options.length is None else options.length
    print(continue_text(options.weights, options.prompt, length=length, select=select), end="")


def _is_pretrained(options: argparse.Namespace) -> bool:
    """Return whether weights are a downloaded model, which has a ``config.json`` beside them."""
    path = options.weights
    return path is not None and (path.is_dir() or (path.parent / "config.json").is_file())


def _checked_prompt(prompt: str, known: str) -> str:
    """Return a prompt, or raise unless it is a nonempty string of known characters."""
    if not prompt:
        raise ValueError("prompt must have at least one character; got ''")
    if foreign := [c for c in dict.fromkeys(prompt) if c not in known]:
        rule = "prompt must consist of characters of the training text"
        raise ValueError(f"{rule}; got {', '.join(map(repr, foreign))}")
    return prompt


def _printing(select: Select, tokens: BPETokenizer) -> Select:
    """Wrap a choice of tokens so that it prints each token of the first row."""

    def choose_and_print(logits: Tensor) -> Tensor:
        newest = select(logits)
        print(tokens.decode(newest[:1]), end="", flush=True)
        return newest

    return choose_and_print


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "generate",
        "Continue a text with the book's language model, with one of `train text`, or with a GPT-2,"
        " Llama 2 or 3, Mistral, Qwen 2 or Qwen 3 that you have downloaded, in a folder with"
        " config.json, weights in the format safetensors, and tokenizer.json (or vocab.json and"
        " merges.txt of a GPT-2). No code in these files is run.",
    )
    add = parser.add_argument
    add("--prompt", required=True, help="beginning of the text")
    add("--length", type=int, help="tokens to add; 150, or up to 40 by a downloaded model")
    less = "above 0; lower is less random; 0.8, or greedy by a downloaded model"
    add("--temperature", type=float, help=less)
    add("--top-k", type=int, help="sample from the K most likely tokens")
    add("--top-p", type=float, help="from the most likely tokens of total probability P")
    add("--seed", type=seed, default=0, help="seed of the sampling")
    add("--weights", type=Path, help="a model of `train text`, or the folder of a downloaded model")
    return parser
