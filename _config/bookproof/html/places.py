"""Where pages are in the book: their numbers, titles, links and order, and what is in them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node


def number(env: BuildEnvironment, doc: str) -> str:
    """Return the number or the letter of a page, or an empty string."""
    return ".".join(map(str, env.toc_secnumbers.get(doc, {}).get("", ())))


def title(env: BuildEnvironment, doc: str) -> str:
    """Return the title of a page as HTML."""
    return escape(env.titles[doc].astext())


def link(app: Sphinx, here: str, doc: str) -> str:
    """Return the title of a page as a link to it, as HTML."""
    return f'<a href="{app.builder.get_relative_uri(here, doc)}">{title(app.env, doc)}</a>'


def is_written(config: Config, page: str) -> bool:
    """Return whether a page is neither the cover nor one that the build makes of the package."""
    return not page.startswith((config.root_doc, config.bookproof_reference or config.root_doc))


def reading_order(env: BuildEnvironment) -> list[str]:
    """Return the pages in the order of the table of contents."""
    order, queue = [], [env.config.root_doc]
    while queue:
        doc = queue.pop(0)
        order.append(doc)
        queue = env.toctree_includes.get(doc, []) + queue
    return order


def on_a_site(work: Callable[[Sphinx], None]) -> Callable[[Sphinx, Exception | None], None]:
    """Return a handler of `build-finished` that works on the pages of a build that went well."""

    @wraps(work)
    def handle(app: Sphinx, error: Exception | None) -> None:
        if error is None and app.builder.format == "html":
            work(app)

    return handle


def pages_as_written(app: Sphinx) -> dict[str, str]:
    """Return the HTML of each page of the book, by its name."""
    files = {page: Path(app.outdir, f"{page}.html") for page in app.env.found_docs}
    return {page: file.read_text("utf-8") for page, file in files.items() if file.is_file()}


def exercises(doctree: nodes.document) -> Iterator[nodes.Element]:
    """Yield the exercises of a page."""
    return doctree.findall(lambda n: isinstance(n, exercise_node | exercise_enumerable_node))


def containers(doctree: nodes.document, attribute: str) -> list[nodes.container]:
    """Return the places that a directive has left under an attribute, to be replaced."""
    return [node for node in doctree.findall(nodes.container) if attribute in node]


def around(node: nodes.Node) -> Iterator[nodes.Element]:
    """Yield a node and those that hold it, from the innermost."""
    holder = node if isinstance(node, nodes.Element) else node.parent
    while holder is not None:
        yield holder
        holder = holder.parent


def is_cell(node: nodes.Node, part: str = "cell_code") -> bool:
    """Return whether a node is a code cell of myst-nb, or the part of one that is named."""
    return isinstance(node, nodes.container) and node.get("nb_element") == part


def table(
    kind: str, heads: Sequence[str], rows: Iterable[list[nodes.entry]], widths: Sequence[int] = ()
) -> nodes.table:
    """Return a table of a class, with a row of heads."""
    head = [entry(nodes.Text(head)) for head in heads]
    group = nodes.tgroup(cols=len(heads))
    group += [nodes.colspec(colwidth=width) for width in widths or [1] * len(heads)]
    group += nodes.thead("", nodes.row("", *head))
    group += nodes.tbody("", *(nodes.row("", *row) for row in rows))
    return nodes.table("", group, classes=[kind])


def entry(*words: nodes.Node) -> nodes.entry:
    """Return a cell of a table, a paragraph of some words."""
    return nodes.entry("", nodes.paragraph("", "", *words))
