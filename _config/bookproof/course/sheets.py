"""Write a reading sheet for each chapter, one page of paper, from the page as it was written."""

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

from lxml import html
from sphinx.application import Sphinx
from sphinx.util import logging

from ..html.edition import edition
from ..html.places import number, on_a_site, title
from .facts import Facts, chapters

LOGGER = logging.getLogger(__name__)
FOLDER = "sheets"
SHEET = """\
<!doctype html>
<html lang="{language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reading sheet: {title}</title>
<link rel="stylesheet" href="../_static/katex/katex.min.css">
<link rel="stylesheet" href="../_static/sheet.css"></head>
<body><main>
<header><p>{book} <span>Reading sheet</span></p><h1>{number} <a href="{page}">{title}</a></h1>
<p class="takes">{takes}</p></header>
<div class="question">{question}</div>
<div class="figure">{opening}</div>
{sections}
<footer>{edition}</footer>
</main></body></html>
"""
Page = Any  # an element of lxml, which has no types


def place(doc: str) -> str:
    return f"{FOLDER}/{doc.rpartition('/')[2]}.html"


def offer(app: Sphinx, pagename: str, template: str, context: Any, doctree: Any) -> None:
    if doctree is not None and "course" in app.env.metadata[pagename]:
        address = context["pathto"](place(pagename), 1)
        link = f'<a href="{address}">Reading sheet, one page to print</a>'
        context["body"] += f'\n<p class="notebook">{link}</p>\n'


@on_a_site
def write(app: Sphinx) -> None:
    card = common_card(app)
    Path(app.outdir, FOLDER).mkdir(exist_ok=True)
    for doc, facts in chapters(app.env).items():
        Path(app.outdir, place(doc)).write_text(sheet(app, doc, facts, card), "utf-8")


def sheet(app: Sphinx, doc: str, facts: Facts, card: str) -> str:
    """Return the sheet of a chapter."""
    page = read(app, doc)
    needed = ", ".join(number(app.env, other) or title(app.env, other) for other in facts.needs)
    minutes = f"{facts.minutes['main']} minutes to read, {facts.minutes['exercises']} for exercises"
    asked = map(prediction, page.find_class("predict"))
    tasks = (
        f"<li>{escape(task.title)} <span>{escape(task.kind)}</span></li>"
        for task in facts.exercises
    )
    parts = [
        ("You will be able to", wrapped("p", [escape(facts.objectives)])),
        ("Predict before you look", wrapped("ol", asked)),
        ("Words", wrapped("dl", terms(app, doc, page))),
        ("To look up", card),
        ("Exercises", wrapped("ul", tasks)),
    ]
    return SHEET.format(
        language=app.config.language,
        book=escape(app.config.project),
        title=title(app.env, doc),
        number=number(app.env, doc),
        page=f"../{doc}.html",
        takes=f"{minutes}; builds on {needed}" if needed else minutes,
        question="".join(question(page)),
        opening=pictures(next(page.iter("figure"), None)),
        sections="".join(f"<section><h2>{h}</h2>{part}</section>" for h, part in parts if part),
        edition=f"{edition(app)}. {escape(app.config.copyright)}",
    )


def wrapped(tag: str, items: Iterable[str]) -> str:
    inner = "".join(items)
    return f"<{tag}>{inner}</{tag}>" if inner else ""


def read(app: Sphinx, doc: str) -> Page:
    page = html.fromstring(Path(app.outdir, f"{doc}.html").read_text("utf-8"))
    for link in page.find_class("headerlink"):
        link.drop_tree()
    return page


def question(page: Page) -> Iterator[str]:
    """Yield the paragraphs between the title and the first thing that is none."""
    for after in page.find(".//h1").itersiblings():
        if after.tag != "p":
            return
        after.attrib.pop("id", None)  # the address is on the page
        yield markup(after)


def prediction(box: Page) -> str:
    asked = [markup(part) for part in box.xpath("p[not(contains(@class, 'predict-title'))]")]
    choices = [inside(label) for label in box.xpath(".//label[input[@type='radio']]")]
    boxes = " ".join(f'<span class="choice">{choice}</span>' for choice in choices)
    return f"<li>{' '.join(asked)} <p class='commit'>{boxes or '&nbsp;'}</p></li>"


def terms(app: Sphinx, doc: str, page: Page) -> Iterator[str]:
    """Yield the terms of the page in their order, each with the first sentence on it."""
    links = page.xpath("//a[.//span[contains(@class, 'std-term')]]/@href")
    pages = {doc: page}
    for path, _, anchor in (link.partition("#") for link in dict.fromkeys(links)):
        there = normpath(PurePosixPath(doc).parent / path).removesuffix(".html") if path else doc
        if there not in pages:
            pages[there] = read(app, there)
        for term in pages[there].xpath(f"//dt[@id='{anchor}']"):
            yield f"<dt>{inside(term)}</dt><dd>{first_sentence(term.getnext())}</dd>"


def first_sentence(said: Page) -> str:
    first = said.find("p")
    return inside(first).split(".\n")[0].rstrip(".") + "." if first is not None else ""


def common_card(app: Sphinx) -> str:
    path, _, anchor = app.config.bookproof_sheet_card.partition("#")
    if not path:
        return ""
    found = read(app, path.removesuffix(".html")).get_element_by_id(anchor, None)
    if found is None:
        LOGGER.warning("bookproof_sheet_card: there is no %s#%s", path, anchor)
        return ""
    return markup(found)


def pictures(figure: Page | None) -> str:
    """Return the pictures of a figure, as they are on a desk."""
    found = [] if figure is None else figure.iter("svg")
    return "".join(markup(svg) for svg in found if "narrow" not in svg.get("class", "").split())


def markup(element: Page) -> str:
    """Write an element without its links."""
    for link in list(element.iter("a")):
        link.drop_tag()
    return html.tostring(element, encoding="unicode", with_tail=False)


def inside(element: Page) -> str:
    for part in [part for part in element if part.tag == "input"]:
        part.drop_tree()
    return markup(element).partition(">")[2].rpartition("<")[0].strip()


def setup(app: Sphinx) -> None:
    app.add_config_value("bookproof_sheet_card", "", "html")
    app.connect("html-page-context", offer, priority=410)
    app.connect("build-finished", write, priority=800)
