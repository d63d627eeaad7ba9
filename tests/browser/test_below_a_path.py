"""The site works below any path of any server: each link and each file that a page asks for is there.

It is read as it was built, at `/some/where/`, with the small pages that lead on to others.
"""

import re
from functools import cache
from html import unescape
from pathlib import PurePosixPath
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
from playwright.sync_api import expect
from sphinx.util.inventory import InventoryFile

from tests.book.pages import ROOT, SITE, built_pages
from tests.browser.site import served

BELOW = "some/where"
ASKED = re.compile(r'\b(?:href|src|action|poster)="([^"]*)"')
REFRESH = re.compile(r'http-equiv="refresh" content="0; url=([^"]*)"')
IN_CSS = re.compile(r"url\(\"?([^\")]+)\"?\)")
MOVED = "chapters/attention-without-weights.html#again-and-again"


@pytest.fixture(scope="module")
def below(tmp_path_factory):
    """The address of the site below a path."""
    root = tmp_path_factory.mktemp("server")
    place = root / BELOW
    place.parent.mkdir(parents=True)
    place.symlink_to(SITE, target_is_directory=True)
    with served(root) as origin:
        yield f"{origin}/{BELOW}/"


@cache
def ids(file):
    return set(re.findall(r'\b(?:id|name)="([^"]+)"', file.read_text("utf-8")))


def missing(page, text, pattern):
    """Yield what a file asks for that is not there, as a server below a path would look for it."""
    here = f"/{BELOW}/{page}"
    for asked in map(unescape, pattern.findall(text)):
        address, anchor = urldefrag(urljoin(here, asked))
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:  # another site, or what stands in the link itself
            continue
        path = PurePosixPath(unquote(parts.path))
        if not path.is_relative_to(f"/{BELOW}"):
            yield f"{asked} leaves the site"
            continue
        file = SITE / path.relative_to(f"/{BELOW}")
        if file.is_dir():
            file = file / "index.html"
        if not file.is_file():
            yield f"{asked} is not there"
        elif anchor and file.suffix == ".html" and unquote(anchor) not in ids(file):
            yield f"{asked} has no such place"


@pytest.mark.parametrize("page", built_pages())
def test_everything_that_a_page_asks_for_is_there(page):
    text = (SITE / page).read_text("utf-8")
    assert [*missing(page, text, ASKED), *missing(page, text, REFRESH)] == []
    assert text.count('http-equiv="Content-Security-Policy"') == 1


def test_everything_that_a_style_sheet_asks_for_is_there():
    sheets = [file.relative_to(SITE).as_posix() for file in SITE.rglob("*.css")]
    assert sheets
    for sheet in sheets:
        text = (SITE / sheet).read_text("utf-8")
        assert list(missing(sheet, text, IN_CSS)) == [], sheet


@pytest.mark.parametrize("page", ["index.html", "chapters/masks.html", "search.html"])
def test_a_browser_gets_everything_below_a_path(open_page, below, page):
    noticed = []
    tab = open_page(below + page, noticed=noticed)
    tab.wait_for_load_state("networkidle")
    assert noticed == []


def test_a_page_runs_no_script_that_it_was_not_built_with(open_page, below):
    page = "chapters/masks.html"
    slipped_in = '<script>document.title = "slipped in"</script></body>'
    text = (SITE / page).read_text("utf-8").replace("</body>", slipped_in)
    tab = open_page(below + page)
    tab.route("**/masks.html", lambda route: route.fulfill(body=text, content_type="text/html"))
    tab.reload()
    assert slipped_in.removesuffix("</body>") in tab.content()
    assert tab.title().startswith("5.")
    assert tab.evaluate("document.documentElement.dataset.theme") == "light"


@pytest.mark.parametrize("scripts", [True, False])
def test_an_old_address_shows_where_its_part_is_now(open_page, below, scripts):
    tab = open_page(below + MOVED, scripts=scripts)
    said = tab.locator("div.moved > p:visible")
    expect(said).to_have_count(1)
    expect(said).to_be_in_viewport()
    said.get_by_role("link").click()
    assert tab.url == f"{below}chapters/repeated-averaging.html#again-and-again"


def test_who_was_sent_nowhere_sees_nothing_of_what_moved(open_page, below):
    tab = open_page(below + MOVED.partition("#")[0])
    expect(tab.locator("div.moved > p:visible")).to_have_count(0)


def test_bibtex_is_copied_by_a_button(open_page, below):
    tab = open_page(f"{below}chapters/masks.html")
    tab.locator("details.cite > summary").click()
    button = tab.locator("details.cite button.copybtn")
    expect(button).to_have_count(1)
    target = button.get_attribute("data-clipboard-target")
    assert tab.locator(target).inner_text().startswith("@incollection{")


def test_the_names_that_other_projects_link_to_by_intersphinx_lead_to_their_places():
    readme = (ROOT / "README.md").read_text("utf-8")
    named = dict(re.findall(r"\{(doc|ref|py:func)\}`attention:([^`]+)`", readme))
    kinds = {"doc": "std:doc", "ref": "std:label", "py:func": "py:function"}
    assert named.keys() == kinds.keys()
    listed = InventoryFile.loads((SITE / "objects.inv").read_bytes(), uri="").data
    for role, name in named.items():
        file, place = urldefrag(listed[kinds[role]][name].uri.removeprefix("/"))
        page = (SITE / file).read_text("utf-8")
        assert not place or f'id="{place}"' in page, name
