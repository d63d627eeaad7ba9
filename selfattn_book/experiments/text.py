"""Texts of the book, random windows of them, and the surprisal of a model.

Shape letters: ``B`` batch, ``T`` window length, ``N`` number of tokens, ``V`` vocabulary size.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from selfattn_book.language import LanguageModel

DATA = Path(__file__).parents[1] / "data"
DIGESTS = {
    "stories": "5c9ff0e789655d0ce448dc5be79f1e1b9f731d81e43a46176d83c8984beaad9e",
    "jonah": "e64a640b2ed8aac6ef2ea13e0b45f63b5d75537ce49cc4e070eb126a8d923c41",
    "gpt": "2cca5c58fb63265e324fd210f3ada54be7373b4dd15280072e19658bdb9b37f4",
}


def load_text(name: str) -> str:
    """Return a text that ships with the book; ``data/README.md`` says where it comes from.

    Args:
        name: ``stories``, which are Genesis, Ruth and the First Book of Samuel, ``jonah``, or
            ``gpt``, the file ``gpt.py`` of this package.

    Raises:
        ValueError: the file has been changed.

    Example:
        >>> stories = load_text("stories")
        >>> print(stories[:54], len(stories), len(set(stories)))
        In the beginning God created the heaven and the earth. 339169 61
    """
    file = DATA.parent / "gpt.py" if name == "gpt" else DATA / f"{name}.txt"
    content = file.read_bytes()
    # The digest is part of this code, so that a changed text changes the keys of its pages.
    if (got := hashlib.sha256(content).hexdigest()) != DIGESTS[name]:
        rule = f"{file.name} must have the digest {DIGESTS[name]}"
        raise ValueError(f"{rule}; got {got}")
    return content.decode()


def split_text(text: str) -> tuple[str, str]:
    """Split a text into its first nine tenths, for training, and its last tenth, held out."""
    end = len(text) * 9 // 10
    return text[:end], text[end:]


class Windows:
    """Batches of random windows of a text ``(N,)``, each with its next tokens.

    Iteration draws from PyTorch's global generator, as a
    :class:`torch.utils.data.DataLoader` that shuffles does.

    Example:
        >>> windows = Windows(torch.arange(20), length=4, batch_size=3, steps=2)
        >>> for tokens, following in windows:
        ...     print(tokens.shape, following.equal(tokens + 1))
        torch.Size([3, 4]) True
        torch.Size([3, 4]) True
    """

    def __init__(self, tokens: Tensor, *, length: int, batch_size: int, steps: int) -> None:
        self.tokens, self.length, self.batch_size, self.steps = tokens, length, batch_size, steps

    def __len__(self) -> int:
        """Return the number of batches."""
        return self.steps

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Draw the batches, each of tokens and next tokens ``(B, T)``."""
        inside = torch.arange(self.length + 1)
        for _ in range(self.steps):
            begin = torch.randint(len(self.tokens) - self.length, (self.batch_size, 1))
            rows = self.tokens[begin + inside]  # (B, T + 1)
            yield rows[:, :-1], rows[:, 1:]


def next_token_loss(logits: Tensor, following: Tensor) -> Tensor:
    r"""Return the mean cross-entropy of logits ``(B, T, V)`` for the next tokens ``(B, T)``, in nats.

    .. math:: -\frac{1}{BT} \sum_{b,t} \ln p(x_{b,t+1} \mid x_{b,1}, \dots, x_{b,t})

    Example:
        >>> next_token_loss(torch.zeros(5, 3, 8), torch.ones(5, 3, dtype=torch.int64)).exp()
        tensor(8.)
    """
    return F.cross_entropy(logits.flatten(0, 1), following.flatten())


@torch.no_grad()
def surprisal(model: LanguageModel, tokens: Tensor, first: int, *, length: int) -> Tensor:
    r"""Return the surprisal of each token, :math:`-\ln p`, in nats.

    Windows overlap by half, so that each token is predicted from at least half a window.

    Args:
        model: language model, evaluated without dropout.
        tokens: ``(N,)``.
        first: index of the first predicted token; at least ``length``.
        length: number of tokens in a window.

    Returns:
        ``(N - first,)``.

    Raises:
        ValueError: ``first`` is below ``length``, or there is nothing to predict.
    """
    if not length <= first < len(tokens):
        rule = f"first must be from length, {length}, to the last token, {len(tokens) - 1}"
        raise ValueError(f"{rule}; got {first}")
    step = length - length // 2  # of each window, the last so many answers count
    count = -(-(len(tokens) - first) // step)
    padded = F.pad(tokens, (0, step))  # a causal model does not see what comes later
    begin = first - 1 - length // 2 + step * torch.arange(count)[:, None]
    rows = padded[begin + torch.arange(length + 1)]  # (count, length + 1)
    was_training = model.training
    model.eval()
    losses = [
        F.cross_entropy(model(part[:, :-1])[:, -step:].mT, part[:, -step:], reduction="none")
        for part in rows.split(64)
    ]
    model.train(was_training)
    return torch.cat(losses).flatten()[: len(tokens) - first]


def longest_copy(text: str, source: str) -> int:
    """Return the length of the longest substring that two texts share.

    Example:
        >>> longest_copy("and it came to nothing", "so it came to pass")   # " it came to "
        12
        >>> longest_copy("", "abc"), longest_copy("abc", ""), longest_copy("xab", "abx")
        (0, 0, 2)
    """
    longest = 0
    for start in range(len(text)):
        while start + longest < len(text) and text[start : start + longest + 1] in source:
            longest += 1
    return longest
