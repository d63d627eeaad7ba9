"""Live figures on their pages: asleep, woken, moved, linked, printed, by keyboard, without scripts."""

import json
import re

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from tests.book.pages import SITE
from tests.browser.looks import OPEN_FOLDS
from tests.browser.site import wait_until

BAR = re.compile(r'<figure class="[^"]*\blive\b[^"]*" id="([^"]+)"')
FIGURES = [
    (page.relative_to(SITE).as_posix(), name)
    for page in sorted(SITE.rglob("*.html"))
    for name in BAR.findall(page.read_text("utf-8"))
]
BAD = "x=nothing&row=99&temperature=-1&mask=2&step=99&layer=9"
MARKS = """([id]) => [...document.querySelectorAll(`#${id} .picture > svg`)].map(svg =>
    [svg.ariaLabel, [...svg.querySelectorAll('path, text')].map(e =>
        [e.textContent, ...[...e.attributes].map(a => a.name + '=' + a.value).sort()])])"""
PLACE = """([id]) => { const box = document.querySelector(`#${id} .picture`).getBoundingClientRect();
    return [box.left, box.top + scrollY, box.width, box.height] }"""
SHIFTS = """() => { window.shifts = []; new PerformanceObserver(list => shifts.push(
    ...list.getEntries().filter(e => !e.hadRecentInput).map(e => e.value)))
    .observe({type: 'layout-shift', buffered: true}) }"""
MOVED = "shifts.reduce((a, b) => a + b, 0)"  # fonts may move a line while the page opens
AXE = """async id => (await axe.run('#' + id, {preload: false})).violations.map(v => v.id + ': '
    + v.nodes.map(n => n.html.slice(0, 90)).join(' | '))"""

every_figure = pytest.mark.parametrize(("name", "figure"), FIGURES)


def opened(open_page, name, **how):
    """Open a page from its folder with all its folds, and wait for its fonts."""
    page = open_page((SITE / name).as_uri(), **how)
    page.evaluate(OPEN_FOLDS)
    page.evaluate("document.fonts.ready")
    return page


def wake(page, figure):
    page.locator(f"#{figure} .live-bar > button").click()
    page.wait_for_selector(f"#{figure} .live-bar[data-awake=yes]")
    return page.locator(f"#{figure}")


def state(page, figure):
    return json.loads(
        page.evaluate(f"JSON.stringify(document.querySelector('#{figure} .live-bar').live.state)")
    )


def change(page, live):
    """Change a figure by keyboard: the first slider, or else the first choice that is not taken."""
    sliders = live.locator("input[type=range], .live-knob")
    if sliders.count():
        sliders.first.focus()
        page.keyboard.press("ArrowUp")
    else:
        live.locator("input[type=radio]:checked").first.focus()
        page.keyboard.press("ArrowRight")
    wait_until(page, "!document.querySelector('.live-panel[aria-busy]')")


def test_figures_are_live():
    assert len(FIGURES) > 3


@every_figure
def test_a_figure_asks_for_nothing_before_it_is_woken(name, figure, open_page):
    page = opened(open_page, name)
    asked = page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
    assert not any("live-figures" in address or "live.css" in address for address in asked)


@every_figure
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (320, "dark")])
def test_waking_moves_no_mark_and_is_clean(name, figure, width, theme, open_page):
    noticed = []
    page = opened(open_page, name, width=width, theme=theme, noticed=noticed)
    page.evaluate(SHIFTS)
    picture = page.locator(f"#{figure} .picture")
    page.locator(f"#{figure} .live-bar").scroll_into_view_if_needed()
    before, place = page.evaluate(MARKS, [figure]), page.evaluate(PLACE, [figure])
    seen, moved = picture.screenshot(), page.evaluate(MOVED)
    live = wake(page, figure)
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    assert page.evaluate(MARKS, [figure]) == before
    assert page.evaluate(PLACE, [figure]) == place
    assert picture.screenshot() == seen
    assert page.evaluate(MOVED) == moved
    change(page, live)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert noticed == []
    page.evaluate(AXE_SCRIPT)
    assert page.evaluate(AXE, figure) == []


@every_figure
def test_a_key_changes_a_figure_and_reset_and_print_bring_it_back(name, figure, open_page):
    page = opened(open_page, name)
    still = page.evaluate(MARKS, [figure])
    live = wake(page, figure)
    first, awake = state(page, figure), page.evaluate(MARKS, [figure])
    change(page, live)
    assert state(page, figure) != first
    wait_until(page, f"document.querySelector('#{figure} .live-said').textContent.length > 9")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    printed = page.evaluate(MARKS, [figure])
    page.emulate_media(media="print")
    assert not live.locator(".live-bar").is_visible()
    assert not live.locator(".live-panel").is_visible()
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    live.get_by_role("button", name="Reset").click()
    assert state(page, figure) == first
    assert printed == still
    assert page.evaluate(MARKS, [figure]) == awake


@every_figure
def test_a_link_restores_the_state(name, figure, open_page):
    page = opened(open_page, name)
    live = wake(page, figure)
    change(page, live)
    address, wanted = live.locator(".live-bar a").get_attribute("href"), state(page, figure)
    for text, expected in ((address, wanted), (f"#{figure}~{BAD}", None)):
        page = open_page((SITE / name).as_uri() + text)
        page.wait_for_selector(f"#{figure} .live-bar[data-awake=yes]")
        note = page.locator(f"#{figure} .live-note")
        if expected:
            assert (state(page, figure), note.text_content()) == (expected, "")
        else:
            assert "brought within range" in note.text_content()


@every_figure
def test_every_control_says_what_it_is_and_what_it_is_at(name, figure, open_page):
    page = opened(open_page, name)
    live = wake(page, figure)
    for control in live.locator("[role=slider], input[type=range]").all():
        text = control.get_attribute("aria-valuetext")
        assert text
        assert not re.search(r"[-−]\d", text)
        touch = control.evaluate("e => getComputedStyle(e).touchAction")
        assert touch in ("auto", "none", "manipulation", "pan-y")


@every_figure
def test_arrow_keys_lead_from_one_place_to_press_to_the_next(name, figure, open_page):
    page = opened(open_page, name)
    places = wake(page, figure).locator(".live-hot")
    is_focused = "e => e === document.activeElement"
    for i in range(min(places.count(), 4) - 1):
        places.nth(i).focus()
        for key, j in (("ArrowRight", i + 1), ("ArrowLeft", i)):
            page.keyboard.press(key)
            assert places.nth(j).evaluate(is_focused)


@every_figure
def test_a_figure_without_scripts_is_its_picture(name, figure, open_page):
    page = opened(open_page, name, scripts=False)
    assert page.locator(f"#{figure} .picture svg:visible").count() == 1
    assert not page.locator(f"#{figure} .live-bar").is_visible()
