"""What a link leads to shows itself on hover and on focus; without scripts it is a link."""

import pytest

from tests.book.pages import SITE

HERE = "article a.reference[href^='#equation-']"
THERE = "article a.reference[href*='.html#equation-']"
CITATION = "article a.reference[href*='bibliography.html#']"
TERM = "article a.reference[href*='glossary.html#term-']"
OPEN = ".preview:popover-open"


@pytest.fixture
def order(origin, open_page):
    """A chapter that refers to equations of its own and of others, to papers and to terms."""
    return open_page(f"{origin}/chapters/order.html")


def point_at(page, links):
    link = page.locator(f"{links}:visible").first  # some stand in folds
    link.scroll_into_view_if_needed()
    link.hover()
    page.wait_for_selector(OPEN)
    return link


@pytest.mark.parametrize("links", [HERE, THERE, CITATION, TERM])
def test_a_link_shows_what_it_leads_to_while_the_mouse_is_there(order, links):
    link = point_at(order, links)
    card = order.locator(OPEN)
    box, window = card.bounding_box(), order.viewport_size
    assert len(card.inner_text()) > 5
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= window["width"]
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= window["height"]
    assert link.get_attribute("href")
    order.mouse.move(2, 2)
    order.wait_for_selector(OPEN, state="detached")


def test_the_mouse_can_move_into_what_is_shown(order):
    point_at(order, CITATION)
    order.locator(OPEN).hover()
    order.wait_for_timeout(600)
    assert order.locator(OPEN).is_visible()


def test_pages_from_a_folder_show_what_stands_on_another_page(open_page):
    page = open_page((SITE / "chapters" / "order.html").as_uri())
    point_at(page, THERE)
    assert page.locator(f"{OPEN} .katex-html").count() > 0


def test_focus_shows_it_escape_closes_it_and_tab_goes_on(order):
    link = order.locator(TERM).first
    link.focus()
    order.keyboard.press("Shift+Tab")
    order.keyboard.press("Tab")
    order.wait_for_selector(OPEN)
    assert link.evaluate("link => link === document.activeElement")
    order.keyboard.press("Escape")
    assert order.locator(OPEN).count() == 0
    order.keyboard.press("Tab")
    assert order.evaluate("!document.activeElement.closest('.preview')")


def test_a_finger_follows_the_link(origin, chromium):
    context = chromium.new_context(has_touch=True)
    page = context.new_page()
    page.goto(f"{origin}/chapters/order.html")
    page.locator(THERE).first.tap()
    page.wait_for_url("**/*.html#equation-*")
    assert page.locator(OPEN).count() == 0
    context.close()


def test_an_id_on_the_page_stays_the_only_one(order):
    point_at(order, HERE)
    ids = order.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_nothing_is_asked_for_before_a_reader_points(origin, open_page):
    page = open_page("about:blank")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{origin}/chapters/order.html")
    page.wait_for_load_state("networkidle")
    assert [url for url in asked if "/previews/" in url] == []
    point_at(page, CITATION)
    kept = [url for url in asked if "/previews/" in url]
    assert len(kept) == 1
    assert kept[0].endswith("/previews/appendix/bibliography.js")


def test_without_scripts_it_is_a_link(origin, open_page):
    page = open_page(f"{origin}/chapters/order.html", scripts=False)
    page.locator(THERE).first.click()
    page.wait_for_url("**/*.html#equation-*")
