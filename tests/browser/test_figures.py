"""Pictures in a real browser: they change with the width of a page, and with its colours.

That each fits its page and can be read there, is asked in test_pages.
"""

import re

import pytest

from selfattn_book.draw.palette import COLORS
from tests.book.pages import SITE, built_pages
from tests.browser.looks import OPEN_FOLDS, SHOWN

PAGES = built_pages(having='class="picture"')

FONTS = f"() => [...new Set({SHOWN}.map(s => getComputedStyle(s).fontFamily.split(',')[0]))]"
COLOURS = f"""() => [...new Set({SHOWN}.flatMap(s => [...s.querySelectorAll('path, text')])
    .flatMap(e => [getComputedStyle(e).fill, getComputedStyle(e).stroke]))]"""


def rgb(color):
    return "rgb({}, {}, {})".format(*(int(color[i : i + 2], 16) for i in (1, 3, 5)))


def test_panels_stand_side_by_side_on_a_desk_and_below_each_other_on_a_phone(open_page):
    page = open_page((SITE / "chapters/masks.html").as_uri(), width=1280)
    picture = page.locator(".picture:has(> svg:nth-child(2):last-child):not(:has(> .narrow))").first
    page.evaluate(OPEN_FOLDS)
    for width, below in ((1280, False), (320, True)):
        page.set_viewport_size({"width": width, "height": 800})
        first, second = (picture.locator("> svg").nth(i).bounding_box() for i in (0, 1))
        assert (second["y"] >= first["y"] + first["height"]) == below
        assert (second["x"] >= first["x"] + first["width"]) != below


def test_what_is_wide_is_drawn_narrow_on_a_phone(open_page):
    page = open_page((SITE / "chapters/why-divide.html").as_uri(), width=1280)
    page.evaluate(OPEN_FOLDS)
    wide, narrow = page.locator("svg.wide").first, page.locator("svg.narrow").first
    assert (wide.is_visible(), narrow.is_visible()) == (True, False)
    page.set_viewport_size({"width": 400, "height": 800})
    assert (wide.is_visible(), narrow.is_visible()) == (False, True)


def test_pictures_have_the_font_of_the_page(open_page):
    page = open_page((SITE / "chapters/masks.html").as_uri())
    (font,) = page.evaluate(FONTS)
    heading = page.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily")
    assert font == heading.split(",")[0]


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_have_the_colours_of_the_theme(theme, scripts, open_page):
    page = open_page((SITE / "chapters/why-divide.html").as_uri(), theme=theme, scripts=scripts)
    tones = [rgb(tones[theme == "dark"]) for tones in COLORS.values()]
    colours = page.evaluate(COLOURS)
    mixed = [colour for colour in colours if colour.startswith("oklab(")]
    assert rgb(COLORS["ink"][theme == "dark"]) in colours
    assert {*colours} - {*mixed, *tones, "none"} == set()


def test_ids_of_a_page_are_its_own():
    assert len(PAGES) > 15
    for name in PAGES:
        ids = re.findall(r'\sid="([^"]+)"', (SITE / name).read_text("utf-8"))
        assert len(ids) == len(set(ids)), name
