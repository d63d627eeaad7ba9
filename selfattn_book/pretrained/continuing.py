"""Continue a text with a pretrained model and its own tokenizer."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from selfattn_book._arguments import check_integer
from selfattn_book.generation import Choice, generate, greedy
from selfattn_book.pretrained.files import read_json
from selfattn_book.pretrained.models import load
from selfattn_book.pretrained.tokenizer import read_tokenizer


def continue_text(
    path: str | Path, prompt: str, *, length: int = 40, select: Choice = greedy
) -> str:
    """Generate a continuation of a prompt, up to an end-of-text token, and return both.

    Args:
        path: folder with a model as :func:`~selfattn_book.pretrained.models.load` reads it and its
            tokenizer, ``tokenizer.json`` or GPT-2's ``vocab.json`` and ``merges.txt``; or path of
            the weights file in it.
        prompt: beginning of the text, at least one character.
        length: largest number of new tokens.
        select: function from logits ``(1, V)`` to the next token.

    Raises:
        FileNotFoundError: a file does not exist.
        TypeError, ValueError: a file is not valid, the prompt is empty, or prompt and continuation
            do not fit into the context window.
    """
    if not prompt:
        raise ValueError("prompt must have at least one character; got none")
    length = check_integer("length", length, least=0)
    path = Path(path)
    model, folder = load(path), path.parent if path.is_file() else path
    options = read_json(folder / "config.json")
    tokenizer = read_tokenizer(folder, is_gpt2=options["model_type"] == "gpt2")
    known, size = model.embedding.num_embeddings, tokenizer.get_vocab_size()
    if size > known:
        rule = f"the tokenizer must have at most {known} tokens, the vocabulary of the model"
        raise ValueError(f"{rule}; got {size}")
    tokens, window = _encode(tokenizer, prompt, folder, options), model.context_length
    if window is not None and len(tokens) + length > window:
        rule = f"prompt and continuation must fit into {window} tokens"
        raise ValueError(f"{rule}; got {len(tokens)} and {length}")
    ends = _end_tokens(folder, options)
    text = generate(model, torch.tensor([tokens]), length, select=select, ends=ends)[0].tolist()
    if len(text) > len(tokens) and text[-1] in ends:
        text.pop()
    # Some tokenizers drop the first space of a text: decoded alone, the new tokens would lose theirs.
    return prompt + tokenizer.decode(text).removeprefix(tokenizer.decode(tokens))


def _encode(tokenizer: Tokenizer, prompt: str, folder: Path, options: dict[str, Any]) -> list[int]:
    """Return the tokens of a prompt, after a beginning-of-text token if the tokenizer adds one."""
    tokens, begin = (
        tokenizer.encode(prompt, add_special_tokens=False).ids,
        options.get("bos_token_id"),
    )
    file = folder / "tokenizer_config.json"
    adds = read_json(file).get("add_bos_token") if file.exists() else None
    if adds is None:
        adds = begin is not None and tokenizer.encode(prompt).ids[: -len(tokens)] == [begin]
    if not adds:
        return tokens
    if begin is None:
        raise ValueError(
            "config.json must give bos_token_id, as add_bos_token is true; it does not"
        )
    return [check_integer("bos_token_id", begin, least=0), *tokens]


def _end_tokens(folder: Path, options: dict[str, Any]) -> list[int]:
    """Return the tokens that end a text; newer folders give them in a file of their own."""
    file = folder / "generation_config.json"
    ends = read_json(file).get("eos_token_id") if file.exists() else None
    ends = options.get("eos_token_id", []) if ends is None else ends
    ends = ends if isinstance(ends, list) else [ends]
    return [check_integer("eos_token_id", end, least=0) for end in ends if end is not None]
