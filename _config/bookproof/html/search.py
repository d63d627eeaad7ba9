"""Write what the search page looks through, as one script, which also loads from a folder.

A section has its heading, the terms that it defines (in bold), its prose, and words beside the prose:
the names of letters and signs in its formulas, and of things in its code. Left out are checks, output,
solutions, folds that hide an answer, and what is marked `no-search`.
"""

import json
import keyword
import re
from collections.abc import Iterator
from posixpath import dirname, join, normpath
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from .formulas import names, plain, prose
from .places import around, on_a_site, reading_order

SCRIPT = "sections.js"
NAME = re.compile(r"[A-Za-z_]\w{2,}")
WORD = re.compile(r"[\w^]+")
ANSWERS = {"solution_node", "dropdown_main"}  # of sphinx-exercise and sphinx-design
CODE = (nodes.literal_block, nodes.doctest_block)
SILENT = (
    *CODE,
    addnodes.desc_signature,
    nodes.comment,
    nodes.image,
    nodes.math_block,
    nodes.raw,
    nodes.thead,
    nodes.title,
)
ASKED = ("details", "fieldset", "label")  # the fold of an answer, and the place to commit oneself
FRAMES = {"literal-block-wrapper", "toctree-wrapper"}


def begins(node: nodes.Node) -> bool:
    """Tell whether a node is a place of its own: a section, an object, a term of a glossary."""
    if isinstance(node, addnodes.desc | nodes.definition_list_item):
        return bool(anchors(node))
    return isinstance(node, nodes.section) and bool(node["ids"])


def anchors(node: nodes.Element) -> str:
    """Return the ids of a place, separated by spaces; links lead to the first."""
    owner = node if isinstance(node, nodes.section) else node[0]
    return " ".join(owner["ids"]) if isinstance(owner, nodes.Element) else ""


def hidden(node: nodes.Node) -> bool:
    """Tell whether a node is not searched: it checks, or it answers what a reader is asked."""
    if not isinstance(node, nodes.Element):
        return False
    answers = type(node).__name__ in ANSWERS or node.get("open", "").startswith(ASKED)
    return answers or "no-search" in node["classes"] or "check" in node.get("cell_metadata", {})


def unspoken(node: nodes.Node) -> bool:
    """Tell whether a node is no prose of the section around it."""
    if isinstance(node, SILENT) or hidden(node) or begins(node):
        return True
    inner = isinstance(node, nodes.Element)
    return inner and ("nb_element" in node or not FRAMES.isdisjoint(node["classes"]))


def within(node: nodes.Element) -> Iterator[nodes.Node]:
    for child in node.children:
        if not (hidden(child) or begins(child)):
            yield child
            yield from within(child) if isinstance(child, nodes.Element) else ()


def heading(node: nodes.Element) -> str:
    if isinstance(node, addnodes.desc):
        return str(node[0].get("fullname") or node[0].astext())
    return prose(node[0])


def words(node: nodes.Element, text: str) -> str:
    """Return the words of a section's formulas and code that are not in its prose."""
    found: set[str] = set()
    for part in within(node):
        if isinstance(part, nodes.math | nodes.math_block):
            found |= names(part.astext()) | set(WORD.findall(plain(part.astext())))
        if isinstance(part, CODE) and "output" not in part["classes"]:
            found |= set(NAME.findall(part.astext())) - set(keyword.kwlist)
    return " ".join(sorted(found - set(WORD.findall(text))))


def defined(node: nodes.Element) -> list[str]:
    """Return the terms that a section defines: those in bold, and the names of a term."""
    bold = [prose(part) for part in within(node) if isinstance(part, nodes.strong)]
    terms = [text for text in bold if text[-1:].isalnum()]  # and no beginning of a paragraph
    names = [prose(part) for part in node.children if isinstance(part, nodes.term)]
    return [*terms, *names]


def taught(node: nodes.Element, page: str) -> list[str]:
    """Return the addresses that the last paragraph of a term's entry links to."""
    if not isinstance(node, nodes.definition_list_item):
        return []
    links = [x["refuri"] for x in node[-1][-1].findall(nodes.reference) if "refuri" in x]
    return [normpath(join(dirname(page), link)) for link in links]


def section(node: nodes.Element, page: str) -> list[Any]:
    """Return what is known of a section: anchors, heading, terms, prose, words, links of a term."""
    text = prose(node, unspoken)
    links = taught(node, page)
    known = [anchors(node), heading(node), defined(node), text, words(node, text)]
    return [*known, links] if links else known


def keep_sections(app: Sphinx, docname: str, template: str, context: Any, tree: Any) -> None:
    if tree is not None:
        page = app.builder.get_target_uri(docname)
        found = [
            section(node, page)
            for node in tree.findall(begins)
            if not any(map(hidden, around(node)))
        ]
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        (app.doctreedir / f"{docname}.sections").write_text(text, "utf-8")


@on_a_site
def write_script(app: Sphinx) -> None:
    """Join the sections of all pages in one script."""
    pages, found = [], app.env.found_docs
    for docname in dict.fromkeys([*reading_order(app.env), *sorted(found)]):
        if docname not in found:
            continue
        kept = (app.doctreedir / f"{docname}.sections").read_text("utf-8")
        title = json.dumps(app.env.titles[docname].astext(), ensure_ascii=False)
        uri = json.dumps(app.builder.get_target_uri(docname))
        pages.append(f"[{uri},{title},{kept}]")
    (app.outdir / SCRIPT).write_text("var PAGES = [\n" + ",\n".join(pages) + "\n];\n", "utf-8")


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", keep_sections)
    app.connect("build-finished", write_script)
