"""Write the nodes of a page as the Markdown that any notebook shows, formulas included."""

import re
from collections.abc import Callable, Iterable
from textwrap import indent

from docutils import nodes
from sphinx import addnodes

from ..html.elements import Tag

Writer = Callable[[nodes.Element], str]
LETTERS = re.compile(r"([\\`*_{}\[\]$<>])")  # that Markdown would take for its own


def written(children: Iterable[nodes.Node]) -> str:
    """Write nodes below each other, with an empty line between them."""
    return "\n\n".join(filter(None, (block(child).strip() for child in children)))


def block(node: nodes.Node) -> str:
    """Write a node in lines of its own; one of an unknown kind is what it holds."""
    for kind, write in BLOCKS.items():
        if isinstance(node, kind):
            return write(node)
    return written(node.children) if node.children else ""


def line(node: nodes.Node) -> str:
    """Write a node within a line."""
    if isinstance(node, nodes.Text):
        return LETTERS.sub(r"\\\1", " ".join(str(node).split("\n")))
    for kind, write in INLINE.items():
        if isinstance(node, kind):
            return write(node)
    return within(node)


def within(node: nodes.Node) -> str:
    return "".join(map(line, node.children))


# -- In lines of their own ----------------------------------------------------------


def formula(node: nodes.math_block) -> str:
    tag = f" \\tag{{{node['number']}}}" if isinstance(node.get("number"), str) else ""
    return f"$$\n{node.astext()}{tag}\n$$"


def code(node: nodes.literal_block) -> str:
    language = "python" if "python" in node.get("language", "") else ""
    return f"```{language}\n{node.astext()}\n```"


def listed(node: nodes.Element) -> str:
    numbered = isinstance(node, nodes.enumerated_list)
    items = []
    for number, item in enumerate(node.children, 1):
        mark = f"{number}. " if numbered else "* "
        items.append(mark + indent(written(item.children), " " * len(mark)).lstrip())
    return "\n".join(items)


def defined(node: nodes.definition_list) -> str:
    pairs = [(within(item[0]), written(item[-1].children)) for item in node.children]
    return "\n\n".join(f"**{term}**\n\n{meaning}" for term, meaning in pairs)


def table(node: nodes.table) -> str:
    """Write a table whose cells are lines."""
    rows = [[cell(entry) for entry in row] for row in node.findall(nodes.row)]
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def cell(entry: nodes.Node) -> str:
    return " ".join(within(part) for part in entry.children).replace("|", "\\|")


def quoted(node: nodes.Element) -> str:
    title, *rest = [part for part in node.children if not isinstance(part, nodes.raw)]
    named = isinstance(title, (nodes.title, nodes.rubric))
    parts = [f"**{within(title)}**", written(rest)] if named else [written(node.children)]
    return indent("\n\n".join(filter(None, parts)), "> ", lambda _: True)


def paragraph(node: nodes.Element) -> str:
    return f"**{within(node)}**" if "predict-title" in node["classes"] else within(node)


BLOCKS: dict[type[nodes.Node], Writer] = {
    nodes.paragraph: paragraph,
    nodes.math_block: formula,
    nodes.literal_block: code,
    nodes.bullet_list: listed,
    nodes.enumerated_list: listed,
    nodes.definition_list: defined,
    nodes.table: table,
    nodes.rubric: lambda node: f"**{within(node)}**",
    nodes.caption: within,
    nodes.Admonition: quoted,
    nodes.raw: lambda _: "",
    nodes.target: lambda _: "",
    nodes.comment: lambda _: "",
    addnodes.toctree: lambda _: "",
    nodes.Text: line,
}


# -- Within a line -------------------------------------------------------------------


def link(node: nodes.reference) -> str:
    words, address = within(node), node.get("refuri", "")
    return f"[{words}]({address})" if address.startswith("http") else words


def literal(node: nodes.Element) -> str:
    text = node.astext()
    return f"`` {text} ``" if "`" in text else f"`{text}`"


INLINE: dict[type[nodes.Node], Writer] = {
    nodes.math: lambda node: f"${node.astext()}$",
    nodes.literal: literal,
    nodes.emphasis: lambda node: f"*{within(node)}*",
    nodes.strong: lambda node: f"**{within(node)}**",
    nodes.reference: link,
    nodes.raw: lambda _: "",
    Tag: within,
}
