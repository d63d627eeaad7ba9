"""Every page in a real browser, light and dark, wide and narrow."""

import re

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from tests.book.pages import SITE

FILES = sorted(p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html"))
PAGES = [
    name for name in FILES if not name.startswith("_")
]  # templates lie in _static
CONTENT = [page for page in PAGES if page not in {"search.html", "genindex.html"}]
LOOKS = [(width, mode) for width in (1280, 320) for mode in ("light", "dark")]

every_look = pytest.mark.parametrize(
    ("width", "mode"), LOOKS, ids=[f"{width}-{mode}" for width, mode in LOOKS]
)
every_page = pytest.mark.parametrize("name", PAGES)
every_content_page = pytest.mark.parametrize("name", CONTENT)

# Text that a reader sees as prose: code, and TeX kept for screen readers, do not count.
READ_PROSE = """() => {
    const copy = document.querySelector('article').cloneNode(true);
    copy.querySelectorAll('pre, code, script, .katex').forEach(e => e.remove());
    return copy.textContent;
}"""
BROKEN_IMAGES = """() => [...document.querySelectorAll('article img')]
    .filter(i => getComputedStyle(i).display !== 'none')
    .filter(i => !i.complete || i.naturalWidth === 0).map(i => i.src)"""
SILENT_IMAGES = """() => [...document.querySelectorAll('article img')]
    .filter(i => !i.alt || i.alt.includes(i.src.split('/').pop())).map(i => i.src)"""
RUN_AXE = """async () => {
    document.querySelectorAll('details').forEach(d => d.open = true);
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
    const found = await axe.run({runOnly: tags});
    return found.violations.flatMap(v => v.nodes.map(n => v.id + ': ' + n.html.slice(0, 200)));
}"""


def test_there_is_a_site():
    assert "chapters/masks.html" in PAGES


@every_look
@every_page
def test_a_page_is_clean(name, width, mode, origin, open_page):
    requests, errors = [], []

    def watch(page):
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "console",
            lambda m: errors.append(m.text) if m.type == "error" else None,
        )
        page.on(
            "response", lambda r: errors.append(r.url) if r.status >= 400 else None
        )

    page = open_page(f"{origin}/{name}", width=width, mode=mode, watch=watch)
    page.wait_for_load_state("networkidle")
    assert [url for url in requests if not url.startswith((origin, "data:"))] == []
    assert errors == []
    assert page.evaluate("document.documentElement.dataset.theme") == mode
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(AXE_SCRIPT)
    assert page.evaluate(RUN_AXE) == []


@every_content_page
def test_mathematics_is_rendered(name, origin, open_page):
    text = open_page(f"{origin}/{name}").evaluate(READ_PROSE)
    assert re.findall(r".{0,30}(?:\$|\\\(|\\\[|\{math\}|\{eq\}).{0,30}", text) == []


@every_content_page
def test_no_cell_warns(name):
    # A warning has a path of the machine in it; a progress bar is removed by its cell's tag.
    assert "output stderr" not in (SITE / name).read_text("utf-8")


@every_content_page
def test_pictures_are_there_and_speak(name, origin, open_page):
    page = open_page(f"{origin}/{name}")
    page.evaluate(
        "document.querySelectorAll('details').forEach(d => d.open = true)"
    )
    page.wait_for_load_state("networkidle")
    assert page.evaluate(BROKEN_IMAGES) == []
    assert page.evaluate(SILENT_IMAGES) == []


@every_content_page
def test_a_page_works_from_a_folder(name, open_page):
    failed = []

    def watch(page):
        page.on("requestfailed", lambda request: failed.append(request.url))
        page.on("pageerror", lambda error: failed.append(str(error)))

    page = open_page((SITE / name).as_uri(), watch=watch)
    page.wait_for_load_state("load")
    assert failed == []


def test_a_chapter_works_without_scripts(open_page):
    address = (SITE / "chapters" / "masks.html").as_uri()
    page = open_page(address, scripts=False)
    assert page.locator(".katex-html").count() > 10
    fold = page.locator("details.solution").first
    assert not fold.locator("pre").first.is_visible()
    fold.locator("summary").click()
    assert fold.locator("pre").first.is_visible()
    page.locator("article img").first.scroll_into_view_if_needed()
    assert page.locator("article img").first.bounding_box()["height"] > 50


def test_search_finds_a_word(origin, open_page):
    page = open_page(f"{origin}/search.html?q=causal")
    page.wait_for_selector("#search-results ul li a")
    assert "Masks" in page.locator("#search-results").inner_text()


def test_code_can_be_copied(origin, open_page):
    page = open_page(f"{origin}/chapters/masks.html")
    assert page.locator("div.cell_input button.copybtn").count() > 10


def test_equations_of_a_page_are_linked(origin, open_page):
    page = open_page(f"{origin}/chapters/masks.html")
    targets = page.eval_on_selector_all(
        "article a.reference.internal[href^='#']",
        "links => links.map(a => a.hash.slice(1))",
    )
    missing = [t for t in targets if t and page.locator(f"[id='{t}']").count() != 1]
    assert targets
    assert missing == []
