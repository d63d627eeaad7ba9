"""What a reader without a mouse, without scripts or without storage meets."""

import pytest

from tests.book.pages import SITE
from tests.browser.looks import NO_STORAGE

PAGE = "chapters/masks.html"
FOCUSED = """() => {
    const [e, s] = [document.activeElement, getComputedStyle(document.activeElement)];
    const seen = e !== document.body && e.checkVisibility({visibilityProperty: true});
    return {name: e.outerHTML.slice(0, 120), seen,
            ring: s.outlineStyle === 'none' ? 0 : parseFloat(s.outlineWidth)};
}"""
# Every text of the article and its frame, with what decides on its look.
LOOKS = """() => {
    const seen = '.bd-article *, .bd-sidebar-primary *, .bd-footer-content *';
    const scripted = '.pst-js-only, noscript, .copybtn, .live-bar, .commit';
    const of = ['color', 'backgroundColor', 'borderLeftColor', 'fontFamily', 'fontSize'];
    return [...document.querySelectorAll(seen)]
        .filter(e => e.checkVisibility() && !e.closest(scripted))
        .map(e => [e, getComputedStyle(e)])
        .map(([e, style]) => [e.tagName, ...of.map(name => style[name])].join(' '));
}"""
# What the page says of its theme when it has been read, before any script that waited for that.
EARLY = """
document.addEventListener('readystatechange', () => {
    if (document.readyState === 'interactive') window.early = document.documentElement.dataset.theme;
});
"""


def test_the_focus_is_seen_on_whatever_a_keyboard_reaches(origin, open_page):
    page = open_page(f"{origin}/{PAGE}")
    page.wait_for_load_state("load")
    stops = []
    for _ in range(150):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUSED))
    hidden = [stop for stop in stops if stop["seen"] and stop["ring"] < 2]
    assert len({stop["name"] for stop in stops}) > 100
    assert any("primary-toggle" in stop["name"] for stop in stops)
    assert hidden == []


def test_without_scripts_the_design_is_the_same_in_the_dark(open_page):
    address = (SITE / PAGE).as_uri()
    with_scripts = open_page(address, theme="dark").evaluate(LOOKS)
    without = open_page(address, theme="dark", scripts=False)
    # Scripts of the page are off; what a test asks is evaluated all the same.
    same = without.evaluate(LOOKS)
    assert len(same) > 1000
    assert sorted(set(same) ^ set(with_scripts)) == []


@pytest.mark.parametrize("storage", ["", NO_STORAGE], ids=["kept", "nothing kept"])
def test_the_theme_is_settled_before_the_first_paint(origin, open_page, storage):
    page = open_page("about:blank", theme="dark")
    page.add_init_script(storage + EARLY)
    page.goto(f"{origin}/{PAGE}")
    assert page.evaluate("window.early") == "dark"


def test_a_button_changes_the_colours_and_says_that_it_is_pressed(origin, open_page):
    page = open_page(f"{origin}/{PAGE}", theme="light")
    dark = page.locator(".colours [data-mode=dark]")
    dark.click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert dark.get_attribute("aria-pressed") == "true"
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_on_a_phone_the_contents_open_lead_to_a_section_and_close(origin, open_page):
    page = open_page(f"{origin}/{PAGE}", width=400)
    page.locator("button.primary-toggle").click()
    contents = page.locator("#pst-primary-sidebar-modal")
    assert contents.is_visible()
    contents.locator(".on-this-page a").nth(2).click()
    assert not contents.is_visible()
    assert page.evaluate("scrollY") > 500


def test_nothing_moves_where_motion_is_to_be_reduced(origin, open_page):
    page = open_page(f"{origin}/{PAGE}")
    page.emulate_media(reduced_motion="reduce")
    moving = page.evaluate(
        "[...document.querySelectorAll('*')].map(e => getComputedStyle(e))"
        ".filter(s => s.transitionProperty !== 'none' && parseFloat(s.transitionDuration) > 0).length"
    )
    assert moving == 0


def test_what_is_printed_is_light_has_no_frame_and_clips_no_code(origin, open_page):
    page = open_page(f"{origin}/{PAGE}", theme="dark", width=450)
    page.emulate_media(media="print", color_scheme="dark")
    ground, text = page.evaluate(
        "['backgroundColor', 'color'].map(name => getComputedStyle(document.body)[name])"
    )
    assert (ground, text) == ("rgb(255, 255, 255)", "rgb(36, 40, 45)")
    assert page.locator("h1").is_visible()
    for part in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer"):
        assert not page.locator(part).first.is_visible()
    clipped = page.evaluate(
        "[...document.querySelectorAll('article pre')].filter(p => p.checkVisibility())"
        ".filter(p => p.scrollWidth > p.clientWidth + 1).map(p => p.innerText.slice(0, 80))"
    )
    assert clipped == []
    assert not page.locator("details.solution").first.is_visible(), "solutions are not printed"
    page.locator("details.solution").first.evaluate("fold => fold.classList.add('printed')")
    assert page.locator("details.solution pre").first.is_visible(), "but for instructors they are"
