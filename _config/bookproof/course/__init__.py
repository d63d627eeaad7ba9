"""Make of what chapters say what a course needs: objectives, a syllabus, reading sheets."""

from sphinx.application import Sphinx

from ..translations import original

PARTS = ("facts", "syllabus", "sheets")


def setup(app: Sphinx) -> None:
    for part in PARTS[:-1] if original(app.srcdir) else PARTS:  # sheets are of the original
        app.setup_extension(f"{__name__}.{part}")
