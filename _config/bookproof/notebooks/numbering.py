"""Write numbers into a page that its HTML would get as it is written."""

from urllib.parse import urljoin

from docutils import nodes
from sphinx.application import Sphinx


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
