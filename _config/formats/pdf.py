"""Print pages as tagged PDF: the whole book with contents and page numbers, and each page by itself."""

import re
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import pikepdf
from playwright.sync_api import Page as Tab

from .pages import Book, Page, joined

DOCUMENT = """\
<!doctype html>
<html lang="{language}" data-theme="light" data-mode="light"><head><meta charset="utf-8">
<title>{title}</title>{styles}<style>{style}</style></head>
<body class="to-print"><div class="bd-main"><div class="bd-content"><div class="bd-article-container">
{body}</div></div></div></body></html>
"""
STYLES = re.compile(r'<link[^>]*rel="stylesheet"[^>]*href="([^"?]+)')
OWN_STYLE = Path(__file__).with_name("print.css")
PATHS, PAINTS = {"m", "re"}, {"f", "F", "f*", "B", "B*", "b", "b*", "S", "s"}
SHOWS = {"Tj", "TJ", "'", '"', "Do", "sh"}
ARTIFACT = ([pikepdf.Name.Artifact], pikepdf.Operator("BMC"))
END = ([], pikepdf.Operator("EMC"))


def print_book(book: Book, tab: Tab, file: Path) -> None:
    """Print the whole book twice: the second time, its contents know the numbers of pages."""
    body = joined(book.pages)
    numbers: dict[str, int] = {}
    for _ in range(2):
        show(tab, book, book.pages, front(book, numbers) + body, file)
        with pikepdf.open(file) as made:
            numbers = numbers_of_pages(made)
    finish(file, book, book.pages)


def print_page(book: Book, page: Page, tab: Tab, file: Path) -> None:
    """Print one page."""
    show(tab, book, [page], joined([page]), file)
    finish(file, book, [page])


def show(tab: Tab, book: Book, shown: list[Page], body: str, file: Path) -> None:
    """Let a browser lay a document out, and print it."""
    index = (book.site / "index.html").read_text("utf-8")
    styles = [(book.site / style).as_uri() for style in STYLES.findall(index)]
    text = DOCUMENT.format(
        language=book.facts["inLanguage"],
        title=escape(shown[0].title),  # that of the cover is the book's
        styles="".join(f'<link rel="stylesheet" href="{style}">' for style in styles),
        style=OWN_STYLE.read_text("utf-8") + "".join(running_head(book, page) for page in shown),
        body=body,
    )
    source = file.with_suffix(".html")
    source.write_text(text, "utf-8")
    tab.goto(source.as_uri())
    tab.evaluate("document.fonts.ready")
    tab.pdf(path=file, tagged=True, outline=True, prefer_css_page_size=True)
    source.unlink()


def running_head(book: Book, page: Page) -> str:
    """Return the style that puts the title of the book left above a page, and the page's own right."""
    left, right = (title.replace("\\", "").replace('"', "”") for title in (book.title, page.title))
    heads = f'@top-left {{ content: "{left}"; }} @top-right {{ content: "{right}"; }}'
    return f"@page {page.slug} {{ {heads} }} #{page.slug} {{ page: {page.slug}; }}\n"


def front(book: Book, numbers: dict[str, int]) -> str:
    """Return the title page and the contents, with the numbers of pages that are known."""
    parts = [
        f"<h3>{escape(part)}</h3><ol>{''.join(line(page, numbers) for page in pages)}</ol>"
        for part, pages in groupby(book.pages[1:], key=lambda page: page.part)
    ]
    facts = (book.authors, book.edition, f"License: {book.facts['license']}")
    said = "".join(f"<p>{escape(fact)}</p>" for fact in facts)
    return (
        f'<section class="title-page"><p class="title">{escape(book.title)}</p>{said}</section>'
        f'<nav class="book-contents"><h2>Contents</h2>{"".join(parts)}</nav>'
    )


def line(page: Page, numbers: dict[str, int]) -> str:
    """Return a line of the contents."""
    number = numbers.get(page.slug, 0)
    title = f'<a href="#{page.slug}">{escape(page.title)}</a>'
    return f'<li class="level{page.level}">{title}<span>{number}</span></li>'


def numbers_of_pages(made: pikepdf.Pdf) -> dict[str, int]:
    """Return on which page, counted from 1, each place of a document is that a link leads to."""
    order = {page.objgen: number for number, page in enumerate(made.pages, 1)}
    places = made.Root.get("/Dests", {})
    return {name.removeprefix("/"): order[place[0].objgen] for name, place in places.items()}


def finish(file: Path, book: Book, shown: list[Page]) -> None:
    """Say in a PDF what it is, whose, and in which language, and mend the names of its bookmarks."""
    with pikepdf.open(file, allow_overwriting_input=True) as made:
        with made.open_outline() as outline:
            mend(list(outline.root), shown)
        for page in made.pages:
            mark_artifacts(page, made)
            for link in page.get("/Annots", []):
                link.Contents = str(link.A.URI) if "/A" in link else "A place in this document"
        with made.open_metadata(set_pikepdf_as_editor=False) as facts:
            facts["dc:title"] = shown[0].title
            facts["dc:creator"] = [book.authors]
            facts["dc:language"] = {book.facts["inLanguage"]}
            facts["dc:rights"] = book.facts["license"]
        for when in ("/CreationDate", "/ModDate"):  # the same book gives the same file
            if when in made.docinfo:
                del made.docinfo[when]
        packed = pikepdf.ObjectStreamMode.generate
        made.save(file, deterministic_id=True, object_stream_mode=packed, recompress_flate=True)


def mark_artifacts(page: pikepdf.Page, made: pikepdf.Pdf) -> None:
    """Mark what is in no element of the structure, as the browser leaves the heads of pages."""
    marked: list[Any] = []
    depth, begin = 0, None  # of marked content; where the path began that is not painted yet
    for one in pikepdf.parse_content_stream(page):
        name = str(one.operator)
        depth += (name in ("BDC", "BMC")) - (name == "EMC")
        if name in PATHS and begin is None:
            begin = len(marked)
        marked.append(one)
        if depth == 0 and name in SHOWS | PAINTS:
            marked.insert(begin if name in PAINTS else -1, ARTIFACT)
            marked.append(END)
        if name in PAINTS | {"n"}:
            begin = None
    page.Contents = made.make_stream(pikepdf.unparse_content_stream(marked))


def mend(marks: list[pikepdf.OutlineItem], shown: list[Page]) -> None:
    """Name bookmarks as the headings are: the browser drops spaces, and says parts of one twice."""
    headings = (text for page in shown for text in page.headings)
    names = {"".join(heading.split()): heading for heading in headings}
    for mark in marks:
        found = "".join(mark.title.split())
        begins = [name for name in names if found.startswith(name)]
        mark.title = names[max(begins, key=len)] if begins else mark.title
        mend(list(mark.children), shown)
