"""Write pages as an EPUB: formulas in MathML, pictures as they are, folds open."""

import re
import zipfile
from copy import deepcopy
from html import escape
from itertools import groupby
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement

from .pages import Book, Page, ids, lead

XHTML, SVG, MATH = (
    "http://www.w3.org/1999/xhtml",
    "http://www.w3.org/2000/svg",
    "http://www.w3.org/1998/Math/MathML",
)
CASED = {name.lower(): name for name in ("viewBox", "preserveAspectRatio", "clipPath", "textPath")}
VARIABLE = re.compile(r"var\(--[\w-]+,\s*(#\w+)\)")  # a color with the one to fall back on
STYLES = ("pygments.css",)
CONTAINER = """\
<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles>
<rootfile full-path="book/package.opf" media-type="application/oebps-package+xml"/>
</rootfiles>
</container>
"""
PACKAGE = """\
<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="{language}">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">{identifier}</dc:identifier><dc:title>{title}</dc:title>
<dc:language>{language}</dc:language><dc:creator>{authors}</dc:creator>
<dc:description>{description}</dc:description><dc:rights>{rights}</dc:rights>
<meta property="dcterms:modified">{day}T00:00:00Z</meta>
<meta property="schema:accessMode">textual</meta><meta property="schema:accessMode">visual</meta>
<meta property="schema:accessModeSufficient">textual</meta>
<meta property="schema:accessibilityFeature">alternativeText</meta>
<meta property="schema:accessibilityFeature">MathML</meta>
<meta property="schema:accessibilityFeature">tableOfContents</meta>
<meta property="schema:accessibilityHazard">none</meta>
</metadata>
<manifest><item id="contents" href="contents.xhtml" properties="nav" media-type="application/xhtml+xml"/>
<item id="style" href="style.css" media-type="text/css"/>
{items}</manifest>
<spine>{spine}</spine>
</package>
"""
ITEM = '<item id="{slug}" href="{slug}.xhtml"{properties} media-type="application/xhtml+xml"/>'
DOCUMENT = """\
<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"
  lang="{language}" xml:lang="{language}">
<head><title>{title}</title><link rel="stylesheet" href="style.css"/></head>
<body>{body}</body></html>
"""


def write_epub(book: Book, file: Path) -> None:
    """Write the whole book; the same book gives the same file."""
    places = ids(book.pages)
    files = {f"book/{page.slug}.xhtml": chapter(book, page, places) for page in book.pages}
    files["book/contents.xhtml"] = contents(book)
    style = [book.site / "_static" / name for name in STYLES]
    style.append(Path(__file__).with_name("epub.css"))
    files["book/style.css"] = "".join(part.read_text("utf-8") for part in style)
    files["book/package.opf"] = package(book, files)
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(zipfile.ZipInfo("mimetype"), "application/epub+zip")  # first, and stored
        for name, text in {"META-INF/container.xml": CONTAINER, **files}.items():
            packed.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)


def package(book: Book, files: dict[str, str]) -> str:
    """Return the list of all files with what the book says of itself."""
    items = []
    for page in book.pages:
        text = files[f"book/{page.slug}.xhtml"]
        holds = " ".join(name for name in ("svg", "mathml") if f"<{name[:4]}" in text)
        properties = f' properties="{holds}"' if holds else ""
        items.append(ITEM.format(slug=page.slug, properties=properties))
    facts = book.facts
    return PACKAGE.format(
        language=facts["inLanguage"],
        identifier=f"urn:book:{re.sub(r'[^a-z]+', '-', book.title.lower())}:{facts['version']}",
        title=escape(book.title),
        authors=escape(book.authors),
        description=escape(facts["description"]),
        rights=escape(facts["license"]),
        day=facts.get("datePublished", "2020-01-01"),
        items="\n".join(items),
        spine="".join(f'<itemref idref="{name}"/>' for name in spine(book)),
    )


def spine(book: Book) -> list[str]:
    """Return the order of reading: the cover, the contents, all other pages."""
    first, *others = (page.slug for page in book.pages)
    return [first, "contents", *others]


def contents(book: Book) -> str:
    """Return the table of contents, which readers also offer as a menu."""
    parts = []
    for part, pages in groupby(book.pages[1:], key=lambda page: page.part):
        rows = "".join(f'<li><a href="{p.slug}.xhtml">{escape(p.title)}</a></li>' for p in pages)
        parts.append(f"<li><span>{escape(part or 'At the end')}</span><ol>{rows}</ol></li>")
    body = f'<nav epub:type="toc"><h1>Contents</h1><ol>{"".join(parts)}</ol></nav>'
    return DOCUMENT.format(language=book.facts["inLanguage"], title="Contents", body=body)


def chapter(book: Book, page: Page, places: dict[str, set[str]]) -> str:
    """Return a page in XHTML."""
    page = deepcopy(page)
    lead(page, places, lambda slug, part: f"{slug}.xhtml" + (f"#{part}" if part else ""))
    for element in page.article.find_class("katex-html") + page.article.find_class("narrow"):
        element.drop_tree()
    for element in page.article.iter(etree.Element):
        plain(element)
    body = etree.tostring(page.article, encoding="unicode", with_tail=False)
    return DOCUMENT.format(
        language=book.facts["inLanguage"], title=escape(page.title), body=VARIABLE.sub(r"\1", body)
    )


def plain(element: HtmlElement) -> None:
    """Give an element what XML asks for, and take away what only scripts and a screen use."""
    element.tag = CASED.get(element.tag, element.tag)
    if element.tag in ("svg", "math"):
        element.set("xmlns", SVG if element.tag == "svg" else MATH)
    for name in list(element.attrib):
        if name in CASED:
            element.set(CASED[name], element.attrib.pop(name))
        elif name.startswith("data-") or name == "tabindex":
            del element.attrib[name]
