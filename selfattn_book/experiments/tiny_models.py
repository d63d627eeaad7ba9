"""Two tiny models that ``transformers`` has saved, with the logits that it computed for them.

``tests/pretrained/make_tiny_models.py`` made them. A GPT-2 has memorized one sentence, and a
Llama is untrained; ``data/README-tiny.md`` tells more.
"""

from hashlib import sha256
from pathlib import Path

import torch
from torch import Tensor

from selfattn_book.language import LanguageModel
from selfattn_book.pretrained.models import load
from selfattn_book.pretrained.weights import read_weights

DATA = Path(__file__).parents[1] / "data"
# With the digests a page's results are known to be of these files: other files are other code.
DIGESTS = {
    "tiny-gpt2/config.json": "73b3e69ec990d902081fc5027983ea4c",
    "tiny-gpt2/merges.txt": "5153272447e11b3e2af136d9206a7f2c",
    "tiny-gpt2/model.safetensors": "a4794757995d12ef19cb03a8346896f4",
    "tiny-gpt2/recorded.safetensors": "9843ccef161dccdd657c3ad6821d030c",
    "tiny-gpt2/vocab.json": "5fc5d8bd48bd8c555bff8e39790ca9e7",
    "tiny-llama/config.json": "b2ddc1187684d416d58e339486c0c54a",
    "tiny-llama/model.safetensors": "81d79559c91c4852dc62be04514be67e",
    "tiny-llama/recorded.safetensors": "4ffaa16b4bef5958232b5f94283254a1",
}


def tiny_model(name: str) -> Path:
    """Return the folder of ``tiny-gpt2`` or ``tiny-llama``, after its digests were verified.

    Raises:
        ValueError: a file is not as it was made.

    Example:
        >>> sorted(file.name for file in tiny_model("tiny-llama").iterdir())
        ['config.json', 'model.safetensors', 'recorded.safetensors']
    """
    for file, digest in DIGESTS.items():
        if file.startswith(f"{name}/"):
            found = sha256((DATA / file).read_bytes()).hexdigest()[:32]
            if found != digest:
                rule = f"{file} must be as it was made, {digest}"
                raise ValueError(f"{rule}; got {found}")
    return DATA / name


def as_recorded(name: str) -> tuple[LanguageModel, Tensor, Tensor]:
    """Return a tiny model in this book's code in float64, tokens ``(B, T)``, and recorded logits.

    Example:
        >>> model, tokens, logits = as_recorded("tiny-gpt2")
        >>> tokens.shape, logits.shape   # (B, T), (B, T, V)
        (torch.Size([2, 10]), torch.Size([2, 10, 281]))
    """
    folder = tiny_model(name)
    recorded = read_weights(folder / "recorded.safetensors")
    model = load(folder, dtype=torch.float64)
    return model, recorded["tokens"], recorded["logits"]
