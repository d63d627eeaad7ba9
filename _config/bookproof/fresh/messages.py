"""What a build says on its way, and how it ends where there can be no book."""

import sys
from typing import NoReturn


def say(text: str) -> None:
    """Print at once, even when Sphinx is told to be quiet."""
    print(text, flush=True)


def stop(why: str) -> NoReturn:
    """End the build without a book."""
    # Any other exception would be buried under a report on Sphinx itself.
    sys.exit(f"\n{why}\n\nThe book is not built.")
