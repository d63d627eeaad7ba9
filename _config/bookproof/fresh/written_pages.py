"""Know the pages of the site as they were written: remove what has no source, mistrust the rest."""

import json
from pathlib import Path

from sphinx.application import Sphinx

from .keys import fingerprint

LIST = ".pages"  # lies in the site


def as_written(app: Sphinx, docname: str) -> bool:
    """Tell whether a page and its tree are what the last build has written."""
    page, tree = files(app, docname)
    return tree.is_file() and pages_written(app.outdir).get(docname) == fingerprint(page)


def tidy(app: Sphinx) -> None:
    """Remove the pages whose source is gone, and note what the others are."""
    for docname in pages_written(app.outdir).keys() - app.env.found_docs:
        for file in files(app, docname):
            file.unlink(missing_ok=True)
    noted = {name: fingerprint(files(app, name)[0]) for name in sorted(app.env.found_docs)}
    (app.outdir / LIST).write_text(json.dumps(noted, indent=0), "utf-8")


def pages_written(site: Path) -> dict[str, str]:
    """Return the fingerprints of a site's pages, as the last build has noted them."""
    try:
        return dict(json.loads((site / LIST).read_text("utf-8")))
    except (OSError, ValueError):
        return {}


def files(app: Sphinx, docname: str) -> tuple[Path, Path]:
    return app.outdir / f"{docname}.html", app.doctreedir / f"{docname}.doctree"
