"""Write pages as their readers want them, and tell machines what they are."""

from sphinx.application import Sphinx

PARTS = (
    *("addresses", "boxes", "captions", "changes", "citations", "citing", "cover"),
    *("edition", "editions", "folds", "lean", "mathematics", "minutes", "needed"),
    *("numbers", "outward", "past_editions", "pictures", "previews", "punctuation"),
    *("questions", "redirects", "route", "search", "sidebar", "tables", "tags", "wrong"),
)


def setup(app: Sphinx) -> None:
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
