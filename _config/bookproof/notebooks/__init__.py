"""Make a notebook of each page whose code a reader can see, beside the site, as it is written.

It needs the book's package and Jupyter alone. Its first cell installs its edition from a wheel beside
the notebook, or from the site, where the address of that is known; a package that is there is left
alone, and one of another edition is named.
In place of each solution there is a cell for the reader's own, except in the edition for instructors.
The page offers it to be downloaded and, where the repository is at GitHub, to be opened at Colab and
Binder, which find it under the tag `notebooks-v1.0` of its version.
"""

import json
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_exercise.nodes import solution_node

from ..html.edition import folder
from ..translations import original
from ..words import _
from .cells import cells_of, code, numbered

FOLDER = "notebooks"
GITHUB = "https://github.com/"
INSTALL = """\
try:  # the code of the book, in the edition that this notebook belongs to
    from {package} import __version__ as edition
except ModuleNotFoundError:
    from pathlib import Path

    if Path("{wheel}").exists():  # beside this notebook
        %pip install --quiet {options}{wheel}
    else:
        {elsewhere}
else:
    if edition != "{version}":
        print(f"This notebook belongs to edition {version} of {package}; this is {{edition}}.")"""
FROM_SITE = "%pip install --quiet {options}{address}"
BY_HAND = """\
raise ModuleNotFoundError(
            "This notebook needs edition {version} of {package}."
            " Put {wheel} beside it, and run this cell again."
        ) from None"""


def notebook(app: Sphinx, pagename: str, doctree: nodes.document) -> dict[str, Any] | None:
    """Return the notebook of a page, or nothing where a reader would have nothing to run."""
    page = numbered(app, pagename, doctree)
    for solution in page.findall(solution_node):
        solution["kept_back"] = app.config.bookproof_edition != "instructors"
    cells = list(cells_of(page))
    if not any(cell["cell_type"] == "code" for cell in cells):
        return None
    config = app.config
    package, version = config.bookproof_package, config.release
    install = installing(package, version, config.html_baseurl, config.bookproof_pip)
    cells.insert(1, code(install, {"tags": ["hide-input"]}))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "book": config.project, "version": version}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def installing(package: str, version: str, site: str, options: str = "") -> str:
    """Return the code that installs a package where it is missing.

    Args:
        package: its name.
        version: its edition, which is that of the notebook.
        site: the address of the book, or an empty string: no index has the package, and a stranger
            may call something else so there.
        options: options and other packages for pip.
    """
    words = {"package": package, "version": version, "options": f"{options} " if options else ""}
    words["wheel"] = wheel(package, version)
    address = f"{site}{folder(version)}{words['wheel']}"
    elsewhere = (FROM_SITE if site else BY_HAND).format(address=address, **words)
    return INSTALL.format(elsewhere=elsewhere, **words)


def wheel(package: str, version: str) -> str:
    """Return the name of a package's wheel, which is beside its edition of the site."""
    return f"{package}-{version}-py3-none-any.whl"


def place(pagename: str) -> str:
    return f"{FOLDER}/{pagename.rpartition('/')[2]}.ipynb"


def links(app: Sphinx, pagename: str, context: dict[str, Any]) -> str:
    name = place(pagename)
    here = context["pathto"](name, 1)
    words = _("Download this page as a notebook")
    offered = [f'<a href="{here}" download>{words}</a>']
    if original(app.srcdir):  # the tag has the notebooks of the original
        return f'\n<p class="notebook">{offered[0]}.</p>\n'
    if (repository := app.config.bookproof_repository.rstrip("/")).startswith(GITHUB):
        project, file = repository.removeprefix(GITHUB), Path(name).name
        where = f"{FOLDER}-v{app.config.release}"  # a tag
        colab = f"https://colab.research.google.com/github/{project}/blob/{where}/{file}"
        binder = f"https://mybinder.org/v2/gh/{project}/{where}?labpath={file}"
        offered += [f'<a href="{colab}">open it in Colab</a>', f'<a href="{binder}">in Binder</a>']
    return f'\n<p class="notebook">{", ".join(offered)}.{command(app, name, context)}</p>\n'


def command(app: Sphinx, name: str, context: dict[str, Any]) -> str:
    """Say how to check the page on one's own machine, where `bookproof_run` knows it."""
    if not app.config.bookproof_run:
        return ""
    line, page, anchor = app.config.bookproof_run
    run_it = f"<code>{escape(line.format(page=Path(name).stem))}</code>"
    where = context["pathto"](page).rstrip("#")  # a page's path to itself
    how = f'<a href="{where}#{anchor}">how to install it</a>'
    return f" On your machine, {run_it} runs its checks ({how})."


def write(app: Sphinx, pagename: str, template: str, context: Any, doctree: Any) -> None:
    if doctree is None or (made := notebook(app, pagename, doctree)) is None:
        return
    file = Path(app.outdir, place(pagename))
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")
    context["body"] += links(app, pagename, context)


def setup(app: Sphinx) -> None:
    app.setup_extension(f"{__name__}.quiz")
    # A command with {page} in it, and the page and the anchor that say how to install it.
    app.add_config_value("bookproof_pip", "", "html", str)  # options of pip, in notebooks
    app.add_config_value("bookproof_run", [], "html", list)
    app.connect("html-page-context", write, priority=400)
