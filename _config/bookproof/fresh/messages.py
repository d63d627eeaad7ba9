"""Messages of a build, and its end after a failure."""

import sys
from typing import NoReturn


def say(text: str) -> None:
    """Print at once, even with the option --quiet of Sphinx."""
    print(text, flush=True)


def stop(why: str) -> NoReturn:
    """End the build without a book."""
    # Any other exception would be buried under a report on Sphinx itself.
    sys.exit(f"\n{why}\n\nThe book is not built.")
