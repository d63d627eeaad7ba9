"""Continue a text with a pretrained GPT-2 and its own tokenizer."""

from pathlib import Path

import torch
from tokenizers import Tokenizer

from selfattn_book._arguments import check_integer
from selfattn_book.generation import Choice, generate, greedy
from selfattn_book.pretrained.models import load
from selfattn_book.pretrained.tokenizer import END, read_tokenizer


def continue_text(
    path: str | Path, prompt: str, *, length: int = 40, select: Choice = greedy
) -> str:
    """Generate a continuation of a prompt, up to the end-of-text token, and return both.

    Args:
        path: folder with ``config.json``, ``model.safetensors``, ``vocab.json`` and
            ``merges.txt``, or path of the weights file in it.
        prompt: beginning of the text, at least one character.
        length: largest number of new tokens.
        select: function from logits ``(1, V)`` to the next token.

    Raises:
        FileNotFoundError: a file does not exist.
        ValueError: a file is not valid, the prompt is empty, or prompt and continuation do not fit
            into the context window.
    """
    if not prompt:
        raise ValueError("prompt must have at least one character; got none")
    length = check_integer("length", length, least=0)
    path = Path(path)
    model = load(path)
    if model.positions is None:
        raise ValueError(f"the model must be GPT-2, with its tokenizer; got Llama in {path}")
    tokenizer = read_tokenizer(path.parent if path.is_file() else path)
    known, size = model.embedding.num_embeddings, tokenizer.get_vocab_size()
    if size > known:
        rule = f"vocab.json must have at most {known} tokens, the vocabulary of the model"
        raise ValueError(f"{rule}; got {size}")
    tokens, window = tokenizer.encode(prompt).ids, model.positions.num_embeddings
    if len(tokens) + length > window:
        rule = f"prompt and continuation must fit into {window} tokens"
        raise ValueError(f"{rule}; got {len(tokens)} and {length}")
    generated = generate(model, torch.tensor([tokens]), length, select=select)[0].tolist()
    return prompt + _until_the_end(tokenizer, generated[len(tokens) :])


def _until_the_end(tokenizer: Tokenizer, tokens: list[int]) -> str:
    """Decode tokens up to the first end-of-text token."""
    end = tokenizer.token_to_id(END)
    return tokenizer.decode(tokens[: tokens.index(end)] if end in tokens else tokens)
