"""Say at the end of the cover, and of each numbered page, how to cite it: in words and as BibTeX."""

from dataclasses import dataclass
from datetime import date
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from ..words import _
from .edition import lasting
from .outward import address

NAMES = {
    "\\": "backslash",
    "{": "braceleft",
    "}": "braceright",
    "~": "asciitilde",
    "^": "asciicircum",
}
LATEX = str.maketrans(
    {sign: rf"\text{name}{{}}" for sign, name in NAMES.items()} | {s: f"\\{s}" for s in "&%$#_"}
)
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
BOX = """
<details class="fold cite no-search"><summary>{what}</summary>
<p>{words}</p>
<pre class="bibtex">{bibtex}</pre>
</details>
"""


@dataclass
class Cited:
    """What is cited: the book, or the page with a title and a number in it."""

    key: str
    author: str
    book: str
    version: str
    published: date | None
    address: str
    title: str = ""
    number: str = ""
    doi: str = ""


def in_words(cited: Cited) -> str:
    year = f" ({cited.published.year})" if cited.published else ""
    version = _("version") + " " + escape(cited.version)
    book = f"<em>{escape(cited.book)}</em>, {version}."
    if cited.title:
        title = cited.title + ("" if cited.title[-1] in "?!" else ".")
        part = _("Appendix") if cited.number.isalpha() else _("Chapter")
        place = _("{part} {number} of").format(part=part, number=cited.number)
        book = f"{escape(title)} {place} {book}"
    where = f' <a href="{escape(cited.address)}">{escape(cited.address)}</a>'
    return f"{escape(cited.author)}{year}. {book}{where if cited.address else ''}"


def in_bibtex(cited: Cited) -> str:
    r"""Return a citation as an entry of BibTeX.

    Example:
        >>> cited = Cited("small", "A & B", "A book", "1.0", date(2026, 5, 4), "", doi="10.1/small")
        >>> print(in_bibtex(cited))
        @book{small,
          author = {{A \& B}},
          title = {{A book}},
          edition = {Version 1.0},
          year = {2026},
          month = may,
          doi = {10.1/small},
        }
    """
    inside = cited.title != ""
    fields = {
        "author": braced(cited.author),
        "title": braced(cited.title if inside else cited.book),
        "booktitle": braced(cited.book if inside else ""),
        "chapter": f"{{{cited.number}}}" if cited.number else "",
        "edition": f"{{Version {cited.version.translate(LATEX)}}}",
        "year": f"{{{cited.published.year}}}" if cited.published else "",
        "month": MONTHS[cited.published.month - 1] if cited.published else "",
        "doi": f"{{{cited.doi}}}" if cited.doi else "",
        "url": f"{{{cited.address}}}" if cited.address else "",
    }
    lines = [f"  {name} = {said},\n" for name, said in fields.items() if said]
    kind = "incollection" if inside else "book"
    return f"@{kind}{{{cited.key},\n{''.join(lines)}}}"


def braced(text: str) -> str:
    """Return a text in braces that keep its capitals, and a name with commas one name."""
    return f"{{{{{text.translate(LATEX)}}}}}" if text else ""


def cited(app: Sphinx, pagename: str) -> Cited | None:
    """Return the citation of a page: the book for the cover, and none for a page without a number."""
    config, number = app.config, app.env.toc_secnumbers.get(pagename, {}).get("")
    published = config.bookproof_book.get("datePublished", "")
    book = Cited(
        nodes.make_id(config.project),
        config.author[:1].upper() + config.author[1:],
        config.project,
        config.release,
        date.fromisoformat(published) if published else None,
        lasting(app, address(app, pagename)),
        doi=config.bookproof_book.get("identifier", "").removeprefix("https://doi.org/"),
    )
    if pagename == config.root_doc:
        return book
    if not number:
        return None
    book.key += f"-{nodes.make_id(pagename.rpartition('/')[2])}"
    book.title, book.number = app.env.titles[pagename].astext(), str(number[0])
    return book


def add_box(app: Sphinx, pagename: str, template: str, context: Any, doctree: Any) -> None:
    if doctree is None or (found := cited(app, pagename)) is None:
        return
    if not found.title:
        what = _("Cite this book")
    else:
        what = _("Cite this page") if found.number.isalpha() else _("Cite this chapter")
    bibtex = escape(in_bibtex(found), quote=False)
    context["body"] += BOX.format(what=what, words=in_words(found), bibtex=bibtex)


def setup(app: Sphinx) -> None:
    app.setup_extension(f"{__package__}.edition")
    app.connect("html-page-context", add_box, priority=480)
