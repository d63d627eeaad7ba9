"""Write pages as their readers want them, and tell machines what they are."""

from sphinx.application import Sphinx

PARTS = (
    *("addresses", "boxes", "captions", "changes", "citing", "cover", "edition", "editions"),
    *("elements", "folds", "lean", "mathematics", "minutes", "needed", "numbers", "outward"),
    *(
        "pictures",
        "previews",
        "questions",
        "redirects",
        "reference",
        "route",
        "search",
        "sidebar",
        "wrong",
    ),
)


def setup(app: Sphinx) -> None:
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
