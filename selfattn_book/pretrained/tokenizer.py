"""The tokenizer of a pretrained model, read by the library ``tokenizers``."""

from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from selfattn_book.pretrained.files import LARGEST_TEXT, check_file

END = "<|endoftext|>"


def read_tokenizer(folder: str | Path, *, is_gpt2: bool = True) -> Tokenizer:
    """Read a tokenizer from ``tokenizer.json``, or GPT-2's from ``vocab.json`` and ``merges.txt``.

    For GPT-2, a text is split into words, numbers and other characters; the bytes of each piece are
    merged into tokens. Every text can be encoded, as each byte is a token. ``<|endoftext|>`` is one
    token.

    Raises:
        FileNotFoundError: a file does not exist.
        ValueError: a file is too large or not valid, or a byte has no token.

    Source:
        :cite:t:`radford2019language`, section 2.2; BPE, :cite:t:`sennrich2016neural`.

    Example:
        >>> from selfattn_book.experiments.tiny_models import tiny_model
        >>> tokenizer = read_tokenizer(tiny_model("tiny-gpt2"))
        >>> [tokenizer.decode([token]) for token in tokenizer.encode("It's number").ids]
        ['I', 't', "'", 's', ' number']
    """
    whole = Path(folder) / "tokenizer.json"
    if whole.exists() or not is_gpt2:
        check_file(whole, LARGEST_TEXT)
        try:
            tokenizer = Tokenizer.from_file(str(whole))
        except Exception as error:  # the library raises nothing more specific
            raise ValueError(f"tokenizer.json must be a tokenizer; {error}") from None
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer
    files = [Path(folder) / name for name in ("vocab.json", "merges.txt")]
    for file in files:
        check_file(file, LARGEST_TEXT)
    try:
        model = models.BPE.from_file(*map(str, files))
    except Exception as error:  # the library raises nothing more specific
        raise ValueError(f"vocab.json and merges.txt must be a BPE tokenizer; {error}") from None
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    _check_vocabulary(tokenizer.get_vocab(), pre_tokenizers.ByteLevel.alphabet())
    if tokenizer.token_to_id(END) is not None:
        tokenizer.add_special_tokens([END])
    return tokenizer


def _check_vocabulary(vocabulary: dict[str, int], alphabet: list[str]) -> None:
    """Raise unless ids are 0, 1, 2, ... and each byte has one; the library drops other bytes."""
    ids = sorted(vocabulary.values())
    if ids != list(range(len(ids))):
        raise ValueError(f"token ids must be 0 to {len(ids) - 1}, each once; got {str(ids)[:80]}")
    if missing := sorted(set(alphabet) - vocabulary.keys()):
        raise ValueError(f"each byte must have a token; got none for {missing[0]!r}")
