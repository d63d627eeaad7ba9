"""Cut a page into the cells of a notebook: what it says, and what it runs."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_exercise.nodes import solution_node

from ..html.elements import Tag
from ..html.places import is_cell
from ..words import _
from .markdown import block, within, written

Cell = dict[str, Any]
FOLD = "<details><summary>{}</summary>\n\n{}\n\n</details>"


def cells_of(page: nodes.Node) -> Iterator[Cell]:
    """Yield the cells of a page; texts that follow each other are one."""
    parts = (part for part in walked(page, 0) if part["source"].strip())
    for kind, run in groupby(parts, lambda part: part["cell_type"]):
        if kind == "code":
            yield from run
        else:
            yield text("\n\n".join(part["source"] for part in run))


def text(source: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": source.strip()}


def code(source: str, metadata: dict[str, Any]) -> Cell:
    """Make a cell that has not been run; a check says what it checks, and is folded."""
    options = {}
    if name := metadata.get("check"):
        source = f"# checks: {name.replace('-', ' ')}\n{source}"
    if name or "hide-input" in metadata.get("tags", ()):
        options = {"jupyter": {"source_hidden": True}}
    cell: Cell = {"cell_type": "code", "execution_count": None, "metadata": options}
    return {**cell, "outputs": [], "source": source}


def walked(node: nodes.Node, level: int) -> Iterator[Cell]:
    if isinstance(node, nodes.section):
        level += 1
    if isinstance(node, nodes.title) and isinstance(node.parent, nodes.section):
        yield text(f"{'#' * level} {within(node)}")
    elif is_cell(node):
        yield from cell(node)
    elif isinstance(node, Tag):
        yield from box(node, level)
    elif isinstance(node, solution_node):
        yield from solution(node, level)
    elif isinstance(node, nodes.Element) and "sd-dropdown" in node["classes"]:
        yield text(FOLD.format(_("Answer"), written(node.children[1:])))
    elif "claim" in getattr(node, "attributes", {}):
        yield text("> **" + _("Claim") + f".** {within(node.children[0])}")
    elif isinstance(node, (nodes.document, nodes.section)) or any(
        is_cell(part) or isinstance(part, Tag) for part in node.findall()
    ):
        yield from inside(node, level)
    else:
        yield text(block(node))


def solution(node: nodes.Element, level: int) -> Iterator[Cell]:
    """Yield a solution, or a place for the reader's own answer where it is kept back."""
    if not node.get("kept_back"):
        yield text("**" + _("Solution") + "**")
        yield from inside(node, level)
        return
    yield text("**" + _("Your answer") + "**")
    if any(is_cell(part) for part in node.findall()):
        yield code("...", {})


def inside(node: nodes.Node, level: int) -> Iterator[Cell]:
    for child in node.children:
        yield from walked(child, level)


def cell(node: nodes.Element) -> Iterator[Cell]:
    """Yield the code of a cell, and the captions of the pictures that it draws."""
    sources = (
        block
        for part in node.findall(nodes.container)
        if is_cell(part, "cell_code_source")
        for block in part.findall(nodes.literal_block)
    )
    for source in sources:
        yield code(source.astext(), node["cell_metadata"])
    for figure in node.findall(nodes.figure):
        yield text(written(part for part in figure if isinstance(part, nodes.caption)))


def box(tag: Tag, level: int) -> Iterator[Cell]:
    if 'class="commit"' in tag["open"] or tag["open"].startswith("summary"):
        return
    yield from inside(tag, level)


def numbered(app: Sphinx, pagename: str, doctree: nodes.document) -> nodes.document:
    """Return a copy of a page in which equations, figures and listings have their numbers."""
    page: nodes.document = doctree.deepcopy()
    numbers = app.env.toc_fignumbers.get(pagename, {})
    for equation in page.findall(nodes.math_block):
        found = [numbers.get("displaymath", {}).get(name) for name in equation["ids"]]
        equation["number"] = next((dotted(number) for number in found if number), None)
    for caption in page.findall(nodes.caption):
        for kind in ("figure", "code-block"):
            for name in caption.parent.get("ids", ()):
                if number := numbers.get(kind, {}).get(name):
                    named = app.config.numfig_format[kind] % dotted(number)
                    caption.insert(0, [nodes.strong("", f"{named}."), nodes.Text(" ")])
    complete_links(app, pagename, page)
    return page


def complete_links(app: Sphinx, pagename: str, page: nodes.document) -> None:
    """Let links to other pages lead to the site, if it is known where that is."""
    site = app.config.html_baseurl.rstrip("/")
    here = app.builder.get_target_uri(pagename)
    for link in page.findall(nodes.reference) if site else ():
        target = link.get("refuri") or f"#{link.get('refid', '')}"
        link["refuri"] = urljoin(f"{site}/{here}", target)


def dotted(number: tuple[int, ...]) -> str:
    return ".".join(map(str, number))
