"""Write some elements otherwise than Sphinx does, and elements that docutils has no node for."""

from collections import Counter

from docutils import nodes
from pybtex.plugin import find_plugin, register_plugin
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

# Each time they are looked for among all installed packages, unless they are registered.
PLUGINS = {
    "pybtex.backends": ("docutils", "plaintext"),
    "pybtex.style.labels": ("alpha",),
    "pybtex.style.names": ("last", "plain"),
    "pybtex.style.sorting": ("author_year_title",),
}
MARKS = ".,;:!?)"
LONGEST = 24  # a longer formula may have to break by itself on a narrow screen


class Tag(nodes.General, nodes.Element):
    """An element of HTML; its attribute ``open`` is the opening tag without its brackets."""


class Anchor(nodes.Inline, nodes.Element):
    """A link within a line that shows nothing of its own; ``open`` is as that of a tag."""


def tag(opening: str, *children: nodes.Node) -> Tag:
    return Tag("", *children, open=opening)


def open_tag(self: HTML5Translator, node: Tag | Anchor) -> None:
    self.body.append(f"<{node['open']}>")


def close_tag(self: HTML5Translator, node: Tag | Anchor) -> None:
    name = node["open"].split()[0]
    self.body.append("" if name == "input" else f"</{name}>")


def open_cell(self: HTML5Translator, node: nodes.entry) -> None:
    """Say of a header of a table whether it is one of a column or of a row; an empty one is none."""
    place = len(self.body)
    HTML5Translator.visit_entry(self, node)
    if not node.astext().strip():
        self.body[place] = self.body[place].replace("<th", "<td", 1)
        self.context[-1] = self.context[-1].replace("</th", "</td")
    scope = "col" if isinstance(node.parent.parent, nodes.thead) else "row"
    self.body[place] = self.body[place].replace("<th", f'<th scope="{scope}"', 1)


def open_citation(self: HTML5Translator, node: nodes.citation) -> None:
    """Write the bibliography as a list without labels: the text cites by author and year."""
    if not isinstance(node.previous_sibling(), nodes.citation):
        self.body.append('<ul class="citation-list">\n')
    node.children = [child for child in node if not isinstance(child, nodes.label)]
    self.body.append(self.starttag(node, "li", classes=["citation"]))


def close_citation(self: HTML5Translator, node: nodes.citation) -> None:
    self.body.append("</li>\n")
    if not isinstance(node.next_node(descend=False, siblings=True), nodes.citation):
        self.body.append("</ul>\n")


def glue_punctuation(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put each short formula and the mark behind it into one unbreakable span.

    Rendered mathematics is a box, and a browser may break the line behind any box.
    """
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        place = parent.index(formula)
        text = parent[place + 1] if place + 1 < len(parent) else None
        if not isinstance(text, nodes.Text) or len(formula.astext()) > LONGEST:
            continue
        if mark := text[: len(text) - len(text.lstrip(MARKS))]:
            span = nodes.inline("", "", formula.deepcopy(), nodes.Text(mark), classes=["nobr"])
            parent[place : place + 2] = [span, nodes.Text(text[len(mark) :])]


def shorten_titles(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Let a link that reads as the whole title of a page end before the colon of that title.

    Where several titles begin alike, a link to one of them reads as all of it.
    """
    titles = {title.astext() for title in app.env.titles.values()}
    count = Counter(title.partition(": ")[0] for title in titles)
    for link in doctree.findall(nodes.reference):
        whole = link.astext()
        start = whole.partition(": ")[0]
        if link.get("internal") and whole in titles and count[start] == 1:
            text = next(link.findall(nodes.Text))
            text.parent.replace(text, nodes.Text(start))


def setup(app: Sphinx) -> None:
    for group, names in PLUGINS.items():
        for name in names:
            register_plugin(group, name, find_plugin(group, name), force=True)
    app.add_node(Tag, html=(open_tag, close_tag))
    app.add_node(Anchor, html=(open_tag, close_tag))
    app.add_node(nodes.entry, override=True, html=(open_cell, None))
    app.add_node(nodes.citation, override=True, html=(open_citation, close_citation))
    app.connect("doctree-resolved", glue_punctuation)
    app.connect("doctree-resolved", shorten_titles)
