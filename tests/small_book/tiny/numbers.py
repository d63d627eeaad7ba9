"""The answer."""


def answer() -> int:
    """Return the answer."""
    return 42
