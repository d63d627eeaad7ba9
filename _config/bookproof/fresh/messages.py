"""Messages of a build, and its end after a failure."""

import sys
from typing import NoReturn


def report(text: str) -> None:
    """Print at once, even with the option --quiet of Sphinx."""
    print(text, flush=True)


def fail(why: str) -> NoReturn:
    """End the build without a book."""
    # Any other exception would be buried under a report on Sphinx itself.
    sys.exit(f"\n{why}\n\nThe book is not built.")
