"""A text continued by a model that somebody else has trained: GPT-2, with its own tokenizer."""

from pathlib import Path

import torch

from selfattn_book._arguments import check_integer
from selfattn_book.generation import Choice, generate, likeliest
from selfattn_book.pretrained.models import load
from selfattn_book.pretrained.tokenizer import GPT2Tokenizer, read_tokenizer


def continue_text(
    path: str | Path, prompt: str, *, length: int = 40, choose: Choice = likeliest
) -> str:
    """Return a text with its continuation.

    The model is GPT-2 or one of its kind. It ends before ``length`` if the model ends its text.

    Args:
        path: a folder with ``config.json``, ``model.safetensors``, ``vocab.json`` and
            ``merges.txt``, or the file of weights among them.
        prompt: how the text begins.
        length: how many tokens are added at most.
        choose: from logits ``(1, V)`` to the next token.

    Raises:
        FileNotFoundError: a file is missing.
        TypeError: ``length`` is not an integer.
        ValueError: a file is not what it should be, the prompt is empty, or it does not fit, with
            its continuation, into the positions that the model knows.
    """
    if not prompt:
        raise ValueError("prompt must have at least one letter; got none")
    length = check_integer("length", length, least=0)
    path = Path(path)
    model = load(path)
    if model.positions is None:
        rule = "the tokens must be GPT-2's, all that this book's code can read"
        raise ValueError(f"{rule}; the model in {path} is of another kind")
    tokenizer = read_tokenizer(path.parent if path.is_file() else path)
    known = model.embedding.num_embeddings
    if len(tokenizer.vocabulary) > known:
        rule = f"vocab.json must have at most {known} tokens, as the model has"
        raise ValueError(f"{rule}; got {len(tokenizer.vocabulary)}")
    tokens, context = tokenizer.encode(prompt), model.positions.num_embeddings
    if len(tokens) + length > context:
        rule = f"prompt and continuation must fit into {context} tokens"
        raise ValueError(f"{rule}; got {len(tokens)} and {length}")
    made = generate(model, torch.tensor([tokens]), length, choose=choose)
    return _up_to_the_end(tokenizer, made[0].tolist(), len(tokens))


def _up_to_the_end(tokenizer: GPT2Tokenizer, tokens: list[int], begun: int) -> str:
    """Return the text of tokens; behind the prompt the first end of a text ends it."""
    new = tokens[begun:]
    if tokenizer.end in new:
        new = new[: new.index(tokenizer.end)]
    return tokenizer.decode(tokens[:begun] + new)
