"""The cover leads on, also to where a reader was; nothing of that leaves the browser."""

import pytest

from tests.browser.site import wait_until

CHAPTER = "chapters/query-key-value.html"
BEGIN = ".begin > a"
SEEN = "li[data-page='chapters/query-key-value'] .seen"
KEPT = ".chapters .kept"


@pytest.fixture
def page(origin, open_page):
    return open_page(f"{origin}/index.html")


def read(page, origin, section):
    """Read a section of a chapter, and come back to the cover."""
    page.goto(f"{origin}/{CHAPTER}#{section}")
    wait_until(page, "localStorage['book.reading']")
    page.goto(f"{origin}/index.html")


def test_every_chapter_has_number_sentence_minutes_and_link(page):
    items = page.locator(".chapters .full > li")
    shown = [item.inner_text().split("\n") for item in items.all()]
    shown = [[line for line in lines if line] for lines in shown]
    assert [lines[0] for lines in shown] == [str(n + 1) for n in range(len(shown))]
    assert len(shown) >= 14
    for _, title, promise, minutes, *_ in shown:
        assert title
        assert promise.endswith(".")
        assert minutes.endswith("minutes")
    assert page.locator(".chapters .full a").count() == len(shown)


def test_who_is_here_for_the_first_time_begins(page):
    begin = page.locator(BEGIN)
    assert begin.inner_text().split("\n") == ["Begin with", "Attention in thirty minutes"]
    assert begin.get_attribute("href") == "chapters/thirty-minutes.html"
    chapter = page.locator(".begin > .or")
    assert chapter.inner_text().startswith("or with chapter 1: ")
    assert chapter.locator("a").get_attribute("href") == "chapters/what-a-mean-forgets.html"
    assert page.locator(KEPT).count() == 0
    assert page.evaluate("localStorage['book.reading']") is None


def test_who_comes_back_continues_and_may_have_it_forgotten(page, origin):
    read(page, origin, "three-projections-by-hand")
    begin = page.locator(BEGIN)
    assert begin.inner_text().startswith("Continue where you were")
    assert "Three projections, by hand" in begin.inner_text()
    assert begin.get_attribute("href").endswith(f"{CHAPTER}#three-projections-by-hand")
    assert "sections seen" in page.locator(SEEN).inner_text()
    assert "in this browser only" in page.locator(KEPT).inner_text()

    page.locator(KEPT).get_by_role("button", name="Forget it").click()
    page.wait_for_selector(KEPT, state="detached")
    assert begin.inner_text().startswith("Begin")
    assert page.evaluate("localStorage['book.reading']") is None


def test_what_a_reader_has_seen_moves_nothing(page, origin):
    """The same words stand at the same places, so that the page does not jump."""
    places = """() => [...document.querySelectorAll('.chapters .full > li')]
        .map(item => Math.round(item.getBoundingClientRect().top + scrollY))"""
    before = page.evaluate(places)
    read(page, origin, "three-projections-by-hand")
    assert page.locator(KEPT).count() == 1
    assert page.evaluate(places) == before


REFUSE = """for (const name of ['getItem', 'setItem', 'removeItem']) {
    const given = Storage.prototype[name];
    Storage.prototype[name] = function (key, ...rest) {
        if (key === 'book.reading') throw new DOMException('refused', 'SecurityError');
        return given.call(this, key, ...rest);
    };
}"""


def test_pages_work_where_nothing_can_be_kept(origin, open_page):
    noticed = []
    page = open_page(f"{origin}/index.html", noticed=noticed)
    page.context.add_init_script(REFUSE)
    page.goto(f"{origin}/{CHAPTER}#three-projections-by-hand")
    page.wait_for_timeout(500)
    page.goto(f"{origin}/index.html")
    assert page.locator(BEGIN).inner_text().startswith("Begin")
    assert [what for what in noticed if what.startswith("raised")] == []


def test_the_cover_leads_to_attention_in_thirty_minutes(page):
    page.locator("article a[href*='thirty-minutes']:visible").first.click()
    assert page.locator("h1").inner_text().startswith("Attention in thirty minutes")
