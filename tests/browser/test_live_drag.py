"""Knobs follow a mouse and a finger, and the page scrolls beside them."""

import pytest

from tests.browser.test_live import opened, state, wake

KNOBS = [
    ("chapters/thirty-minutes.html", "fig-row-to-drag"),
    ("chapters/modern.html", "fig-hands-of-query-and-key"),
]
UNIT = 100  # pixels of the plane, as in `docs/live`
BOX = "e => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height] }"
VIEW = "e => [e.viewBox.baseVal.width, e.viewBox.baseVal.height]"
every_plane = pytest.mark.parametrize(("name", "figure"), KNOBS)


def point(page, figure, i):
    """Return the point of the plane that a knob moves, from the figure's state."""
    now = state(page, figure)
    return now["x"][i] if "x" in now else now[("query", "key")[i]]


def on_page(live, at):
    """Return where a point of the plane is in the window."""
    plane = live.locator(".live-plane")
    left, top, width, _ = plane.evaluate(BOX)
    wide, high = plane.evaluate(VIEW)
    scale = width / wide
    return left + scale * (wide / 2 + UNIT * at[0]), top + scale * (high / 2 - UNIT * at[1])


def fingers(page):
    """Return a function that sends touches, each a list of places."""
    session = page.context.new_cdp_session(page)

    def touch(kind, *places):
        at = [{"x": x, "y": y} for x, y in places]
        session.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": at})

    return touch


def swipe(page, start, end):
    """Move a finger from one place to another in steps, as a hand does."""
    touch = fingers(page)
    touch("Start", start)
    for k in range(1, 11):
        touch("Move", tuple(a + (b - a) * k / 10 for a, b in zip(start, end, strict=True)))
        page.wait_for_timeout(20)
    touch("End")
    page.wait_for_timeout(200)


def awake(open_page, name, figure, **look):
    """Open a page, wake a figure, and bring its plane into the middle of the window."""
    page = opened(open_page, name, **look)
    live = wake(page, figure)
    live.locator(".live-plane").evaluate("e => e.scrollIntoView({block: 'center'})")
    return page, live


@every_plane
def test_a_knob_follows_the_mouse_and_stays_in_the_plane(name, figure, open_page):
    page, live = awake(open_page, name, figure)
    before = point(page, figure, 1)
    page.mouse.move(*on_page(live, point(page, figure, 0)))
    page.mouse.down()
    for target in ((0.3, -0.4), (-0.75, 0.5)):
        page.mouse.move(*on_page(live, target), steps=4)
        assert point(page, figure, 0) == pytest.approx(target, abs=0.011)
    page.mouse.move(*on_page(live, (3, -2.5)), steps=4)  # outside, and still held
    assert point(page, figure, 0) == [1, -1]
    page.mouse.up()
    page.mouse.move(*on_page(live, (0, 0)), steps=4)
    assert point(page, figure, 0) == [1, -1]
    assert point(page, figure, 1) == before


@every_plane
@pytest.mark.parametrize("width", [1280, 320])
def test_a_knob_follows_a_finger_and_the_page_rests(name, figure, width, open_page):
    page, live = awake(open_page, name, figure, width=width, has_touch=True)
    scrolled = page.evaluate("scrollY")
    swipe(page, on_page(live, point(page, figure, 0)), on_page(live, (0.2, -0.9)))
    assert point(page, figure, 0) == pytest.approx((0.2, -0.9), abs=0.011)
    assert page.evaluate("scrollY") == scrolled


@every_plane
@pytest.mark.parametrize("width", [1280, 320])
def test_a_swipe_beside_the_knobs_scrolls_the_page(name, figure, width, open_page):
    page, live = awake(open_page, name, figure, width=width, has_touch=True)
    before, scrolled = state(page, figure), page.evaluate("scrollY")
    x, y = on_page(live, (-0.1, -0.9))
    assert page.evaluate("([x, y]) => !!document.elementFromPoint(x, y).closest('svg')", [x, y])
    swipe(page, (x, y), (x, y - 200))
    assert page.evaluate("scrollY") > scrolled + 100
    assert state(page, figure) == before
