"""Make of what chapters say what a course needs: objectives, a syllabus, reading sheets."""

from sphinx.application import Sphinx

PARTS = ("facts", "objectives", "syllabus", "sheets")


def setup(app: Sphinx) -> dict[str, bool]:
    """Set up all parts."""
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
