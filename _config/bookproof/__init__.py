"""An executable book whose every claim is checked by its build; see README.md beside this file."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `bookproof.verify` runs without Sphinx
    from sphinx.application import Sphinx

PARTS = ("claims", "fresh", "listing", "layers", "html", "notebooks", "course")


def setup(app: "Sphinx") -> dict[str, int]:
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
    # A new version, when what is kept of a page changes, reads all pages again.
    return {"parallel_read_safe": False, "parallel_write_safe": True, "env_version": 2}
