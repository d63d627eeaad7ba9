"""Make the card of each page, which is shown where others link to it: its title and its first figure."""

import re
from html import escape
from io import BytesIO
from pathlib import Path

from lxml import html
from lxml.html import HtmlElement
from PIL import Image
from playwright.sync_api import Page as Tab

from .pages import Book, Page

WIDTH, HEIGHT = 1200, 630  # what sites that show cards ask for
FOLDER = Path("_static", "cards")
STYLES = ("book.css", "figure-colors.css")
OWN_STYLE = Path(__file__).with_name("card.css")
WITH_HYPHEN = re.compile(r"\w+-\w+")  # stays in one line
COLORS = 192  # enough for flat areas and the edges of letters, in a third of the bytes
LINK = '<link rel="stylesheet" href="{}">'
DOCUMENT = """\
<!doctype html>
<html lang="{language}" data-theme="light" data-mode="light"><head><meta charset="utf-8">
<title>{book}</title>{styles}</head>
<body class="{layout}">
<header><p class="book"><img src="{mark}" alt="">{book}</p><h1>{title}</h1></header>
{shown}</body></html>
"""


def make_cards(book: Book, tab: Tab) -> None:
    """Make the cards of all pages but the cover, which has its own."""
    (book.site / FOLDER).mkdir(exist_ok=True)
    tab.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    for page in book.pages[1:]:
        make_card(book, page, tab, book.site / FOLDER / f"{page.slug}.png")


def make_card(book: Book, page: Page, tab: Tab, file: Path) -> None:
    """Let a browser lay a card out, and take its picture."""
    tree = html.fromstring((book.site / f"{page.name}.html").read_text("utf-8"))
    layout, shown = first_figure(tree) or ("words", f"<p>{escape(description(tree))}</p>")
    styles = [book.site / "_static" / name for name in STYLES]
    text = DOCUMENT.format(
        language=book.facts["inLanguage"],
        title=WITH_HYPHEN.sub(r"<span>\g<0></span>", escape(page.title)),
        book=escape(book.title),
        mark=(book.site / "_static" / "mark.svg").as_uri(),
        styles="".join(LINK.format(style.as_uri()) for style in [*styles, OWN_STYLE]),
        layout=layout,
        shown=shown,
    )
    source = file.with_suffix(".html")
    source.write_text(text, "utf-8")
    tab.goto(source.as_uri())
    tab.evaluate("document.fonts.ready")
    source.unlink()
    if tab.evaluate("document.documentElement.scrollHeight") > HEIGHT:
        raise ValueError(f"The words of a card must fit on it; those of {page.name} do not")
    taken = Image.open(BytesIO(tab.screenshot())).convert("RGB")
    taken.quantize(COLORS).save(file, optimize=True)


def first_figure(tree: HtmlElement) -> tuple[str, str] | None:
    """Return where the first figure of a page has most room, and its panels where they were drawn."""
    pictures = tree.find_class("picture")
    if not pictures:
        return None
    panels = pictures[0].xpath("svg[not(@class = 'narrow')]")
    boxes = [[float(number) for number in panel.get("viewbox").split()] for panel in panels]
    left, top = (min(box[side] for box in boxes) for side in (0, 1))
    width, height = (max(box[i] + box[i + 2] for box in boxes) - (left, top)[i] for i in (0, 1))
    for panel, (x, y, *_) in zip(panels, boxes, strict=True):
        panel.attrib.update({"x": f"{x:g}", "y": f"{y:g}"})
    drawn = "".join(html.tostring(panel, encoding="unicode", with_tail=False) for panel in panels)
    layout = "beside" if height > 0.58 * width else "below"
    return layout, f'<svg viewBox="{left:g} {top:g} {width:g} {height:g}">{drawn}</svg>'


def description(tree: HtmlElement) -> str:
    """Return what a page says of itself."""
    return "".join(tree.xpath("//meta[@name='description']/@content"))
