"""Continue a text with a pretrained model and its own tokenizer."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from selfattn_book._arguments import check_integer
from selfattn_book.generation import Select, generate, greedy
from selfattn_book.pretrained.files import read_json
from selfattn_book.pretrained.models import load
from selfattn_book.pretrained.tokenizer import read_tokenizer


def continue_text(
    path: str | Path, prompt: str, *, length: int = 40, select: Select = greedy
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
    is_gpt2 = read_json(folder / "config.json")["model_type"] == "gpt2"
    tokenizer = read_tokenizer(folder, is_gpt2=is_gpt2)
    known, size = model.embedding.num_embeddings, tokenizer.get_vocab_size()
    if size > known:
        rule = f"the tokenizer must have at most {known} tokens, the vocabulary of the model"
        raise ValueError(f"{rule}; got {size}")
    tokens, window = encode_prompt(tokenizer, prompt, folder), model.context_length
    if window is not None and len(tokens) + length > window:
        rule = f"prompt and continuation must fit into {window} tokens"
        raise ValueError(f"{rule}; got {len(tokens)} and {length}")
    eos_tokens = _end_tokens(folder)
    [row] = generate(model, torch.tensor([tokens]), length, select=select, eos_tokens=eos_tokens)
    text = row.tolist()
    if len(text) > len(tokens) and text[-1] in eos_tokens:
        text.pop()
    # Some tokenizers drop the first space of a text: decoded alone, the new tokens would lose theirs.
    return prompt + tokenizer.decode(text).removeprefix(tokenizer.decode(tokens))


def encode_prompt(tokenizer: Tokenizer, prompt: str, folder: Path) -> list[int]:
    """Return the tokens of a prompt, after a beginning-of-text token if the tokenizer adds one."""
    tokens = tokenizer.encode(prompt, add_special_tokens=False).ids
    settings = _read(folder / "tokenizer_config.json")
    adds, begin = settings.get("add_bos_token"), settings.get("bos_token")
    if adds is None:  # as tokenizer.json says
        first, *others = [*tokenizer.encode(prompt).ids, None]
        return [first, *tokens] if others[: len(tokens)] == tokens and others != tokens else tokens
    if not adds or begin is None:
        return tokens
    number = tokenizer.token_to_id(begin["content"] if isinstance(begin, dict) else begin)
    if number is None:
        raise ValueError(f"bos_token must be a token of tokenizer.json; got {begin!r}")
    return [number, *tokens]


def _end_tokens(folder: Path) -> list[int]:
    """Return the tokens that end a text; newer folders give them in a file of their own."""
    settings = [_read(folder / name) for name in ("generation_config.json", "config.json")]
    ends: Any = next((s["eos_token_id"] for s in settings if s.get("eos_token_id") is not None), [])
    ends = ends if isinstance(ends, list) else [ends]
    return [check_integer("eos_token_id", end, least=0) for end in ends]


def _read(file: Path) -> dict[str, Any]:
    """Return the options in a file, none if it does not exist."""
    return read_json(file) if file.exists() else {}
