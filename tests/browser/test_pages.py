"""Every page in a real browser, light and dark, wide and narrow, from a server and from a folder."""

import gzip
import json
import re
from urllib.parse import unquote, urlsplit

import pytest

from tests.book.pages import CHAPTERS, DOCS, SITE, built_pages
from tests.browser import looks
from tests.browser.looks import OTHER, axe, drawn, in_theme, names, text_and_pictures

MOVED = {f"{page}.html" for page in json.loads((SITE / ".redirects").read_text("utf-8"))}
# Sheets are paper, which has one color; a page that moved only redirects.
PAGES = [name for name in built_pages() if not name.startswith("sheets/") and name not in MOVED]
# One directive makes all pages of the reference: the first of each folder stands for all, and every
# eighth, or all, are asked for their width.
REFERENCE = [name for name in PAGES if "/reference/" in name]
FIRST = {name.rpartition("/")[0]: name for name in reversed(REFERENCE)}
SEEN = [name for name in PAGES if name not in REFERENCE] + sorted(FIRST.values())
LOOKS = ((320, "dark", looks.IN_THE_HAND), (1280, "light", looks.ON_A_DESK))

MOST = 350  # kB that a chapter may take, compressed as a good server would
TEXT = (".html", ".css", ".js", ".svg")
ASKED = "[location.href, ...performance.getEntriesByType('resource').map(e => e.name)]"


def weight(page):
    """Return how many kB a page has asked for since it was opened, less the headers."""
    asked = (urlsplit(address) for address in page.evaluate(ASKED))
    files = {SITE / unquote(to.path).lstrip("/") for to in asked if to.scheme != "data"}
    contents = [(file.suffix in TEXT, file.read_bytes()) for file in files]
    return sum(len(gzip.compress(c, 6) if is_text else c) for is_text, c in contents) / 1000


def test_no_page_shows_the_address_of_an_object():
    """As it does where the last line of a cell returns an axis, and no semicolon hides it."""
    shown = [name for name in PAGES if " at 0x" in (SITE / name).read_text("utf-8")]
    assert not shown


@pytest.mark.parametrize("name", SEEN)
def test_a_page_is_clean(name, origin, open_page, every_look):
    """Each in the hand, where there is least room; every third on a desk, too, and asked by axe."""
    noticed = []
    # A color that changes at once need not be waited for.
    look = {"width": 400, "theme": "dark", "reduced_motion": "reduce"}
    page = open_page(f"{origin}/{name}", noticed=noticed, **look)
    first_visit = weight(page) if name.startswith("chapters/") else 0
    page.evaluate(looks.OPEN_FOLDS)
    page.wait_for_load_state("load")
    found = [*text_and_pictures(page), *names(page), *drawn(page, looks.IN_THE_HAND)]
    whole = every_look or SEEN.index(name) % 3 == 0
    for width, theme, faults in LOOKS if whole else LOOKS[:1]:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        found += [*in_theme(page, theme), *drawn(page, faults)]
        if every_look:
            found += axe(page, every_rule=True)
            page.emulate_media(color_scheme=OTHER[theme])
            found += in_theme(page, OTHER[theme])
    if whole and not every_look:
        found += axe(page, every_rule=False)
    found += noticed
    assert not found, "\n".join(found)
    assert first_visit <= MOST


# Pages with live figures are opened from a folder in `test_live`, and these stand for the others.
@pytest.mark.parametrize("name", ["index.html", "chapters/masks.html", "search.html", REFERENCE[0]])
def test_a_page_opens_from_a_folder(name, open_page):
    noticed = []
    page = open_page((SITE / name).as_uri(), width=320, theme="dark", noticed=noticed)
    page.wait_for_load_state("load")
    content, window = page.evaluate(looks.WIDTHS)
    assert content <= window
    assert noticed == []


def test_no_page_of_the_reference_is_wider_than_a_phone(open_page, pytestconfig):
    asked = REFERENCE if pytestconfig.getoption("every_look") else REFERENCE[::8]
    page = open_page((SITE / asked[0]).as_uri(), width=320, scripts=False)
    wide = []
    for name in asked:
        page.goto((SITE / name).as_uri())
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(name)
    assert len(asked) > 15
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
