"""Live figures on their pages: asleep, woken, moved, linked, printed, by keyboard, without scripts.

A page is opened once for all questions about a figure in a look, which each begin with *Reset*.
"""

import json
import random
import re
from types import SimpleNamespace

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
MOVING = """id => [...document.querySelectorAll(`#${id}, #${id} *`)].flatMap(e => {
    const now = getComputedStyle(e), long = [now.transitionDuration, now.animationDuration];
    return /[1-9]/.test(long) || now.scrollBehavior === 'smooth' ? [e.outerHTML.slice(0, 80)] : [];
})"""
PRESSES = """([id, chances]) => { for (const chance of chances) {
    const all = document.querySelectorAll(`#${id} [type=radio], #${id} .live-hot`);
    const e = all[Math.floor(chance * all.length)];
    if (e?.type) e.click();
    else e?.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}));
} }"""
ASKED = "performance.getEntriesByType('resource').map(e => e.name)"
AXE = """async id => (await axe.run('#' + id, {preload: false})).violations.map(v => v.id + ': '
    + v.nodes.map(n => n.html.slice(0, 90)).join(' | '))"""

LOOKS = ((1280, "light"), (320, "dark"))
EVERY = [(*figure, *look) for figure in FIGURES for look in LOOKS]
# Unless every look is asked, two figures of five are, in one of the two, in turn.
IN_TURN = EVERY[::5]


def pytest_generate_tests(metafunc):
    """Wake each figure on a desk or in the hand, or with --every-look on both."""
    if "woken" in metafunc.fixturenames:
        looks = EVERY if metafunc.config.getoption("every_look") else IN_TURN
        names = ["-".join(map(str, one[1:3])) for one in looks]
        metafunc.parametrize("woken", looks, ids=names, indirect=True, scope="module")


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


def reset(live):
    live.get_by_role("button", name="Reset").click()


def seen(page, figure):
    """Return the marks of a figure, its place, its pixels, and how far the page has moved."""
    pixels = page.locator(f"#{figure} .picture").screenshot()
    return (
        page.evaluate(MARKS, [figure]),
        page.evaluate(PLACE, [figure]),
        pixels,
        page.evaluate(MOVED),
    )


@pytest.fixture(scope="module")
def woken(request, open_for_all):
    """A page with a figure that was woken, and what was seen before and after."""
    name, figure, width, theme = request.param
    noticed = []
    page = opened(open_for_all, name, width=width, theme=theme, noticed=noticed)
    page.evaluate(SHIFTS)
    page.locator(f"#{figure} .live-bar").scroll_into_view_if_needed()
    asked, asleep = page.evaluate(ASKED), seen(page, figure)
    live = wake(page, figure)
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    awake = seen(page, figure)
    found = {"asked": asked, "asleep": asleep, "awake": awake, "noticed": noticed}
    yield SimpleNamespace(name=name, page=page, figure=figure, live=live, **found)
    page.context.close()


@pytest.fixture
def visit(woken):
    reset(woken.live)
    return woken


def test_figures_are_live():
    assert len(FIGURES) > 3


def test_a_figure_asks_for_nothing_before_it_is_woken(visit):
    assert not any("live-figures" in file or "live.css" in file for file in visit.asked)


def test_waking_moves_no_mark(visit):
    assert visit.awake == visit.asleep


def test_a_changed_figure_is_clean(visit):
    page = visit.page
    change(page, visit.live)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate(AXE_SCRIPT)
    assert page.evaluate(AXE, visit.figure) == []
    assert visit.noticed == []


def test_a_key_changes_a_figure_and_reset_and_print_bring_it_back(visit):
    page, figure, live = visit.page, visit.figure, visit.live
    first = state(page, figure)
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
    assert printed == visit.asleep[0]
    assert page.evaluate(MARKS, [figure]) != printed
    reset(live)
    assert state(page, figure) == first
    assert page.evaluate(MARKS, [figure]) == visit.awake[0]


def test_marks_that_stay_are_among_the_others_as_in_a_new_drawing(visit):
    page, figure, chance = visit.page, visit.figure, random.Random(0)
    for _ in range(8):
        page.evaluate(PRESSES, [figure, [chance.random() for _ in range(3)]])
        changed = page.evaluate(MARKS, [figure])
        for event in ("beforeprint", "afterprint"):  # which draws all marks again
            page.evaluate(f"dispatchEvent(new Event('{event}'))")
        assert page.evaluate(MARKS, [figure]) == changed


def test_a_link_restores_the_state(visit, open_page):
    page, figure = visit.page, visit.figure
    change(page, visit.live)
    address, wanted = visit.live.locator(".live-bar a").get_attribute("href"), state(page, figure)
    page = open_page((SITE / visit.name).as_uri() + address)
    page.wait_for_selector(f"#{figure} .live-bar[data-awake=yes]")
    note = page.locator(f"#{figure} .live-note")
    assert (state(page, figure), note.text_content()) == (wanted, "")
    page.evaluate("hash => { location.hash = hash }", f"{figure}~{BAD}")
    note.get_by_text("brought within range").wait_for()


def test_every_control_says_what_it_is_and_what_it_is_at(visit):
    for control in visit.live.locator("[role=slider], input[type=range]").all():
        text = control.get_attribute("aria-valuetext")
        assert text
        assert not re.search(r"[-−]\d", text)
        touch = control.evaluate("e => getComputedStyle(e).touchAction")
        assert touch in ("auto", "none", "manipulation", "pan-y")


def test_arrow_keys_lead_from_one_place_to_press_to_the_next(visit):
    places = visit.live.locator(".live-hot")
    is_focused = "e => e === document.activeElement"
    for i in range(min(places.count(), 4) - 1):
        places.nth(i).focus()
        for key, j in (("ArrowRight", i + 1), ("ArrowLeft", i)):
            visit.page.keyboard.press(key)
            assert places.nth(j).evaluate(is_focused)


def test_nothing_in_a_figure_moves_by_itself_if_motion_is_reduced(visit):
    page = visit.page
    page.emulate_media(reduced_motion="reduce")
    change(page, visit.live)
    marks = page.evaluate(MARKS, [visit.figure])
    page.wait_for_timeout(100)
    assert page.evaluate(MARKS, [visit.figure]) == marks
    assert page.evaluate(MOVING, visit.figure) == []
    page.emulate_media(reduced_motion="no-preference")


@pytest.mark.parametrize("name", sorted({name for name, _ in FIGURES}))
def test_a_figure_without_scripts_is_its_picture(name, open_page):
    page = opened(open_page, name, scripts=False)
    for figure in (own for at, own in FIGURES if at == name):
        assert page.locator(f"#{figure} .picture svg:visible").count() == 1
        assert not page.locator(f"#{figure} .live-bar").is_visible()
