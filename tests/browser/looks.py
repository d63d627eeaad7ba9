"""What is wrong with an open page: its looks in both themes, its pictures and mathematics, axe.

axe spends nine tenths of its time on contrast, half of the rest on links in a text, and half of what
then remains on landmarks. So `contrast.js`, which needs a thirtieth of that, asks every text, and a
look here every link and button; axe asks those, and for landmarks, only with `--every-look`.
"""

import re
from collections import Counter
from pathlib import Path

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.browser.site import wait_until

CONTRAST = Path(__file__).with_name("contrast.js").read_text("utf-8")
OTHER = {"light": "dark", "dark": "light"}

# Text that a reader sees as prose: code, and TeX kept for screen readers, do not count.
READ_PROSE = """() => {
    const copy = document.body.cloneNode(true);
    copy.querySelectorAll('pre, code, script, .katex').forEach(e => e.remove());
    return copy.textContent;
}"""
MARKUP = r".{0,30}(?:\$|\\\(|\\\[|\{math\}|\{eq\}).{0,30}"
BROKEN_IMAGES = """() => [...document.querySelectorAll('article img')]
    .filter(i => getComputedStyle(i).display !== 'none')
    .filter(i => !i.complete || i.naturalWidth === 0).map(i => i.src)"""
SILENT_IMAGES = """() => [...document.querySelectorAll('article img')]
    .filter(i => !i.alt || i.alt.includes(i.src.split('/').pop())).map(i => i.src)"""
NO_STORAGE = """Object.defineProperty(window, 'localStorage',
    {get() { throw new DOMException('no', 'SecurityError'); }});"""
OPEN_FOLDS = "document.querySelectorAll('details').forEach(d => d.open = true)"
SHOWN = "[...document.querySelectorAll('.picture > svg')].filter(s => s.getClientRects().length)"
TOO_WIDE = f"""() => {SHOWN}
    .filter(s => s.getBoundingClientRect().right > innerWidth + .5
              || s.closest('.picture').scrollWidth > s.closest('.picture').clientWidth)
    .map(s => s.getAttribute('aria-label'))"""
# A text is as large as the picture is drawn; a power of ten is a part of one.
TOO_SMALL = f"""() => {SHOWN}.flatMap(s => [...s.querySelectorAll('text')].map(t => {{
        const m = t.getScreenCTM();
        return [t.textContent, parseFloat(getComputedStyle(t).fontSize) * Math.hypot(m.a, m.b)];
    }})).filter(([_, size]) => size < 11)"""
# Pieces are not cut at their edges; a text may lie in the gap between them.
CLIPPED = f"""() => {SHOWN}.flatMap(s => {{
    const sheet = s.getBoundingClientRect();
    return [...s.querySelectorAll('text')].filter(t => {{
        const b = t.getBoundingClientRect();
        return b.left < sheet.left - 9 || b.right > sheet.right + 9
            || b.top < sheet.top - 9 || b.bottom > sheet.bottom + 9;
    }}).map(t => t.textContent);
}})"""
ON_A_DESK = {"a text is cut": CLIPPED}
IN_THE_HAND = {"too wide": TOO_WIDE, "too small to read": TOO_SMALL, **ON_A_DESK}
WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"
# A colour on its way to another is neither of the two.
COLOURS_REST = "Promise.allSettled(document.getAnimations().map(a => a.finished))"
SHOWS = "theme => document.documentElement.dataset.theme === theme"
# None of these rules reads style sheets, which axe would fetch again to preload them.
# What is hidden, axe only says that somebody should look at; it never fails a page. And of what
# passes, it would write down every place, which takes it longer than to look.
RUN_AXE = """async ([runOnly, enabled]) => {
    const slow = ['color-contrast', 'link-in-text-block', 'target-size', 'region'];
    const asked = Object.fromEntries(slow.map(id => [id, {enabled}]));
    const rules = {...asked, 'hidden-content': {enabled: false}};
    const options = {runOnly, rules, preload: false, resultTypes: ['violations']};
    const found = await axe.run(document, options);
    return found.violations.flatMap(v => v.nodes.map(n => v.id + ': ' + n.html.slice(0, 200)));
}"""
# Colors of code and drawn formulas, which a screen reader skips, are most of a page's elements.
PLAIN = """() => {
    document.querySelectorAll('.katex-html').forEach(e => e.remove());
    document.querySelectorAll('article pre').forEach(e => { e.textContent = e.textContent });
}"""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# What one presses, less what stands in a line of text; a box may hold what is pressed, as a label does.
SMALL = """() => [...document.querySelectorAll('button, summary, select, input, nav a')]
    .filter(e => e.checkVisibility({visibilityProperty: true}) && !e.closest('label'))
    .map(e => [e.getBoundingClientRect(), e.outerHTML.slice(0, 120)])
    .filter(([box]) => box.height > 0 && (box.height < 23.5 || box.width < 23.5))
    .map(([box, html]) => `${Math.round(box.width)} by ${Math.round(box.height)}: ${html}`)"""
# A link among words is known by more than its colour; one without letters is a mark.
LIKE_TEXT = """() => [...document.querySelectorAll('article a[href]')]
    .filter(a => /\\p{L}{2}/u.test(a.textContent) && a.checkVisibility())
    .filter(a => [...a.parentElement.childNodes].some(n => n.nodeType === 3 && /\\p{L}/u.test(n.data)))
    .filter(a => !getComputedStyle(a).textDecorationLine.includes('underline'))
    .map(a => a.outerHTML.slice(0, 120))"""
FOLDS = """() => [...document.querySelectorAll('article details > summary')]
    .map(s => s.textContent.trim().replace(/\\s+/g, ' '))"""
TITLES = "document.querySelectorAll('main h1').length"


def text_and_pictures(page: Page) -> list[str]:
    """Return what was not rendered, and the pictures that do not speak."""
    text = page.evaluate(READ_PROSE)
    markup = [f"not rendered: {found}" for found in re.findall(MARKUP, text)]
    silent = page.evaluate(SILENT_IMAGES)
    return [*markup, *[f"no text alternative: {image}" for image in silent]]


def drawn(page: Page, faults: dict[str, str]) -> list[str]:
    """Return what is wrong with how the pictures are drawn, as wide as the page is."""
    width = page.viewport_size["width"]
    return [
        f"a picture at {width}, {fault}: {what}"
        for fault, script in faults.items()
        for what in page.evaluate(script)
    ]


def names(page: Page) -> list[str]:
    """Return the folds of one name, and whether there is more than one title."""
    counts = Counter(page.evaluate(FOLDS))
    found = [f"{count} folds are called {name!r}" for name, count in counts.items() if count > 1]
    titles = page.evaluate(TITLES)
    return found if titles == 1 else [*found, f"the page has {titles} titles"]


def in_theme(page: Page, theme: str) -> list[str]:
    """Return what is wrong that depends on the theme, or on how wide the page is."""
    found = []
    try:
        wait_until(page, SHOWS, theme, seconds=5)
    except TimeoutError:
        found.append("the page shows another theme")
    page.evaluate(COLOURS_REST)
    found += [f"contrast {pair}" for pair in page.evaluate(CONTRAST)]
    found += [f"no picture: {image}" for image in page.evaluate(BROKEN_IMAGES)]
    found += [f"too small to press, {what}" for what in page.evaluate(SMALL)]
    found += [f"a link like text, {link}" for link in page.evaluate(LIKE_TEXT)]
    content, window = page.evaluate(WIDTHS)
    if content > window:
        found.append(f"the page is {content} wide where {window} are seen")
    return [f"{theme}, {what}" for what in found]


def axe(page: Page, *, every_rule: bool) -> list[str]:
    """Return what axe finds against WCAG 2.2 AA and its best practices.

    Rules that read no color are asked of what is left without drawn formulas and the colors of code.
    """
    page.evaluate(AXE_SCRIPT)
    if not every_rule:
        page.evaluate(PLAIN)
    return page.evaluate(RUN_AXE, [RULES, every_rule])
