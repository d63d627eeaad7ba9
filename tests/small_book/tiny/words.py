"""The answer in a sentence."""

from .numbers import answer


def sentence() -> str:
    """Return the answer in a sentence."""
    return f"The answer is {answer()}."
