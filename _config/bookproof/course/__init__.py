"""Make of what chapters say what a course needs: objectives, a syllabus, reading sheets."""

from sphinx.application import Sphinx

PARTS = ("facts", "syllabus", "sheets")


def setup(app: Sphinx) -> None:
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
