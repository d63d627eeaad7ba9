"""Every page in a real browser, light and dark, wide and narrow, from a server and from a folder."""

import gzip
import json
import re
from urllib.parse import unquote, urlsplit

import pytest

from tests.book.pages import CHAPTERS, DOCS, SITE, built_pages
from tests.browser import looks
from tests.browser.looks import drawn, wrong

MOVED = {f"{page}.html" for page in json.loads((SITE / ".redirects").read_text("utf-8"))}
# Sheets are paper, which has one color; a page that moved only redirects.
PAGES = [name for name in built_pages() if not name.startswith("sheets/") and name not in MOVED]
# One directive makes all pages of the reference: on a desk, where there is room, one stands for all.
ON_A_DESK = [
    name for name in PAGES if "/reference/" not in name or name.endswith("/multi_head.html")
]
# In the hand, the first page of each room does; every fourth, or all, are asked for their width.
REFERENCE = [name for name in PAGES if "/reference/" in name]
FIRST = {name.rpartition("/")[0]: name for name in reversed(REFERENCE)}
IN_THE_HAND = [name for name in PAGES if name not in REFERENCE] + sorted(FIRST.values())

MOST = 350  # kB that a chapter may take, compressed as a good server would
TEXT = (".html", ".css", ".js", ".svg")
ASKED = "[location.href, ...performance.getEntriesByType('resource').map(e => e.name)]"


def weight(page):
    """Return how many kB a page has asked for since it was opened, less the headers."""
    asked = (urlsplit(address) for address in page.evaluate(ASKED))
    files = {SITE / unquote(to.path).lstrip("/") for to in asked if to.scheme != "data"}
    contents = [(file.suffix in TEXT, file.read_bytes()) for file in files]
    return sum(len(gzip.compress(c, 6) if is_text else c) for is_text, c in contents) / 1000


@pytest.mark.parametrize("name", ON_A_DESK)
def test_a_page_is_clean_on_a_desk(name, origin, open_page, every_look):
    noticed = []
    page = open_page(f"{origin}/{name}", width=1280, theme="light", noticed=noticed)
    first_visit = weight(page)
    found = wrong(page, noticed, "light", every_look=every_look)
    found += drawn(page, looks.ON_A_DESK)
    assert not found, "\n".join(found)
    assert first_visit <= MOST or not name.startswith("chapters/")


@pytest.mark.parametrize("name", IN_THE_HAND)
def test_a_page_is_clean_from_a_folder_in_the_hand(name, open_page, every_look):
    noticed = []
    address = (SITE / name).as_uri()
    page = open_page(address, width=320, theme="dark", noticed=noticed)
    # On a desk axe has read the same page: what depends on its width, the looks tell sooner.
    options = {"every_look": every_look, "with_axe": every_look}
    found = wrong(page, noticed, "dark", **options)
    found += drawn(page, looks.IN_THE_HAND)
    page.set_viewport_size({"width": 400, "height": 800})
    found += drawn(page, looks.IN_THE_HAND)
    assert not found, "\n".join(found)


def test_no_page_of_the_reference_is_wider_than_a_phone(open_page, pytestconfig):
    asked = REFERENCE if pytestconfig.getoption("every_look") else REFERENCE[::4]
    page = open_page((SITE / asked[0]).as_uri(), width=320, scripts=False)
    wide = []
    for name in asked:
        page.goto((SITE / name).as_uri())
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(name)
    assert len(asked) > 30
    assert wide == []


@pytest.mark.parametrize("name", PAGES)
def test_the_sidebar_leads_to_every_page_and_marks_the_one_that_is_open(name):
    html = (SITE / name).read_text("utf-8")
    sidebar = re.search(r'<nav class="bd-links.*?</nav>', html, re.DOTALL)[0]
    pages = re.findall(r'<li class="toctree-l1.*?<a[^>]* href="([^"]*)"', sidebar)
    here = sidebar.count('aria-current="page"')
    assert here == pages.count("#") <= 1
    led = {(SITE / name).parent.joinpath(page).resolve() for page in pages if page != "#"}
    led |= {SITE / name} if here else set()
    code = name.partition("/")[0]
    is_translation = (DOCS / "languages" / code).is_dir()
    folder = SITE / code if is_translation else SITE
    chapters = {folder / f"chapters/{chapter.stem}.html" for chapter in CHAPTERS}
    assert {page for page in chapters if page.is_file() or not is_translation} <= led
    assert all(page.is_file() for page in led)


def test_a_chapter_works_without_scripts(open_page):
    address = (SITE / "chapters" / "masks.html").as_uri()
    page = open_page(address, scripts=False)
    assert page.locator(".katex-html").count() > 10
    fold = page.locator("details.solution").first
    assert not fold.locator("pre").first.is_visible()
    fold.locator("summary").click()
    assert fold.locator("pre").first.is_visible()
    picture = page.locator("article .picture svg:visible").first
    picture.scroll_into_view_if_needed()
    assert picture.bounding_box()["height"] > 50


def test_code_can_be_copied(origin, open_page):
    page = open_page(f"{origin}/chapters/masks.html")
    assert page.locator("div.cell_input button.copybtn").count() > 10
