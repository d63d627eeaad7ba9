"""Let the model that comes with the book write: ``python -m selfattn_book generate``."""

import argparse
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from selfattn_book.experiments import kept
from selfattn_book.generation import (
    Choice,
    generate,
    next_token_distribution,
    sampler,
)
from selfattn_book.pretrained import command as downloaded
from selfattn_book.tokens import BytePairs

WRONG, INTERRUPTED = 2, 130


def main(arguments: list[str] | None = None) -> int:
    """Print a prompt and its continuation, token by token.

    Args:
        arguments: of the command line.

    Returns:
        0, or 2 with one line that says what is wrong, or 130 if it was interrupted.

    Example:
        >>> main(["--prompt", "And God said", "--length", "0"])
        And God said
        0
        >>> main(["--prompt", "", "--length", "8"])
        2
    """
    options = _parser().parse_args(arguments)
    if options.weights is not None and is_downloaded(options.weights):
        return downloaded.main(sys.argv[2:] if arguments is None else arguments)
    torch.set_num_threads(1)
    try:
        write(options)
    except KeyboardInterrupt:
        print()
        return INTERRUPTED
    except (OSError, TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        return WRONG
    print()
    return 0


def is_downloaded(path: Path) -> bool:
    """Tell whether weights are somebody else's: those come with a description beside them.

    Example:
        >>> is_downloaded(Path("squares.pt"))
        False
    """
    folder = path if path.is_dir() else path.parent
    return path.is_dir() or (folder / "config.json").is_file()


def write(options: argparse.Namespace) -> None:
    """Print a prompt and its continuation.

    Once the text is longer than the model's context, the model reads only its end.

    Raises:
        OSError: the file of weights cannot be read.
        ValueError: the prompt is empty or has a character that the model has never read, an
            option is out of its range, or the file holds no model of this book.
    """
    model, tokens, record = (
        kept.writer() if options.weights is None else kept.read(options.weights)
    )
    prompt = checked_prompt(options.prompt, record.get("characters", ""))
    chosen: dict[str, Any] = {
        name: getattr(options, name) for name in ("temperature", "top_k", "top_p")
    }
    # An option out of its range is refused before anything is printed.
    next_token_distribution(torch.zeros(1, len(tokens)), **chosen)
    draw = sampler(torch.Generator().manual_seed(options.seed), **chosen)
    print(prompt, end="", flush=True)
    numbers = tokens.encode(prompt)[None]
    generate(model, numbers, options.length, choose=telling(draw, tokens))


def checked_prompt(prompt: str, known: str) -> str:
    """Return a prompt, or refuse what the model cannot go on from.

    Example:
        >>> checked_prompt("déjà", "abcdej")
        Traceback (most recent call last):
        ValueError: prompt must consist of characters that the model has read; got 'é', 'à'
        >>> checked_prompt("", "abc")
        Traceback (most recent call last):
        ValueError: prompt must have at least one character; got ''
    """
    if not prompt:
        raise ValueError("prompt must have at least one character; got ''")
    if foreign := [c for c in dict.fromkeys(prompt) if c not in known]:
        rule = "prompt must consist of characters that the model has read"
        raise ValueError(f"{rule}; got {', '.join(map(repr, foreign))}")
    return prompt


def telling(choose: Choice, tokens: BytePairs) -> Choice:
    """Return a choice that prints each token of the first row as it comes.

    Example:
        >>> from selfattn_book.generation import likeliest
        >>> choice = telling(likeliest, BytePairs([]))
        >>> _ = choice(torch.nn.functional.one_hot(torch.tensor([65]), 256).float())
        A
    """

    def choose_and_tell(logits: Tensor) -> Tensor:
        newest = choose(logits)
        print(tokens.decode(newest[:1]), end="", flush=True)
        return newest

    return choose_and_tell


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m selfattn_book generate",
        description="Continue a text with the language model that comes with the book, with one"
        " of `train text`, or with a GPT-2 that you have downloaded, in a folder with config.json,"
        " model.safetensors, vocab.json and merges.txt. Nothing in these files is run.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--prompt", required=True, help="how the text begins")
    add("--length", type=int, default=150, help="tokens to add")
    add("--temperature", type=float, default=0.8, help="above 0; lower is surer")
    add("--top-k", type=int, help="draw among the likeliest K alone")
    add("--top-p", type=float, help="among the likeliest that have a share of P")
    add("--seed", type=int, default=0, help="of all chance")
    add("--weights", type=Path, help="a model of `train text`, or a GPT-2's folder")
    return parser
