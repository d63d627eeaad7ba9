"""Write pages as their readers want them, and tell machines what they are."""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

ASSETS = Path(__file__).parents[1] / "assets"
PARTS = (
    *("addresses", "boxes", "changes", "citing", "cover", "edition", "elements", "figures"),
    *("folds", "languages", "lean", "mathematics", "minutes", "numbers", "outward", "previews"),
    *("policy", "questions", "redirects", "reference", "search", "sidebar"),
)


def add_assets(app: Sphinx, config: Config) -> None:
    """Put style sheets and scripts on the site, before the book's own of the same name."""
    config.html_static_path = [str(ASSETS), *config.html_static_path]


def setup(app: Sphinx) -> None:
    app.connect("config-inited", add_assets)
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
