"""Make a notebook of each page whose code a reader can see, beside the site, as it is written.

It has what the page says and the code that the page runs, and needs the book's package and Jupyter
alone: its first cell installs the edition that it belongs to. A page of an edition without solutions
makes a notebook without them. The page says where it can be had: to be downloaded, and, where the
repository is known, to be opened at Colab and Binder, which find it in the branch `notebooks`.
"""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .cells import cells_of
from .numbering import numbered

FOLDER = "notebooks"
INSTALL = """\
try:  # the code of the book, in the edition that this notebook belongs to
    import {package}
except ModuleNotFoundError:
    %pip install --quiet {wheel}"""


def notebook(app: Sphinx, pagename: str, doctree: nodes.document) -> dict[str, Any] | None:
    """Return the notebook of a page, or nothing where a reader would have nothing to run."""
    cells = list(cells_of(numbered(app, pagename, doctree)))
    if not any(cell["cell_type"] == "code" for cell in cells):
        return None
    cells.insert(1, install(app))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "book": app.config.project, "version": app.config.release}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def install(app: Sphinx) -> dict[str, Any]:
    """Return the cell that installs the package of this edition."""
    package, version = app.config.bookproof_package, app.config.release
    wheel = f"{package.replace('_', '-')}=={version}"
    if site := app.config.html_baseurl.rstrip("/"):
        wheel = f"{site}/{package}-{version}-py3-none-any.whl"
    source = INSTALL.format(package=package, wheel=wheel)
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"jupyter": {"source_hidden": True}},
        "outputs": [],
        "source": source,
    }


def place(pagename: str) -> str:
    """Return where the notebook of a page lies in the site."""
    return f"{FOLDER}/{pagename.rpartition('/')[2]}.ipynb"


def links(app: Sphinx, pagename: str, context: dict[str, Any]) -> str:
    """Return the line that offers a notebook."""
    name = place(pagename)
    offered = [
        f'<a href="{context["pathto"](name, 1)}" download>Download this page as a notebook</a>'
    ]
    if repository := app.config.bookproof_repository.rstrip("/"):
        project, file = repository.removeprefix("https://github.com/"), Path(name).name
        colab = f"https://colab.research.google.com/github/{project}/blob/{FOLDER}/{file}"
        binder = f"https://mybinder.org/v2/gh/{project}/{FOLDER}?labpath={file}"
        offered += [f'<a href="{colab}">open it in Colab</a>', f'<a href="{binder}">in Binder</a>']
    return f'\n<p class="notebook">{", ".join(offered)}</p>\n'


def write(app: Sphinx, pagename: str, template: str, context: Any, doctree: Any) -> None:
    """Write the notebook of a page, and offer it at the foot of the page."""
    if doctree is None:
        return
    made = notebook(app, pagename, doctree)
    if made is None:
        return
    file = Path(app.outdir, place(pagename))
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")
    context["body"] += links(app, pagename, context)


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen to pages as they are written, before their foot is."""
    app.setup_extension(f"{__name__}.quiz")
    app.connect("html-page-context", write, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
