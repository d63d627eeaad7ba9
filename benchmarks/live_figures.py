"""Time the updates of the live figures on the built site, in Chromium, by random changes of controls."""

import random
import re
from pathlib import Path

from tests.browser.site import find_chromium, launched

SITE = Path(__file__).resolve().parents[1] / "_build" / "html"
FIGURE = re.compile(r'<figure class="[^"]*\blive\b[^"]*" id="([^"]+)"')
CHANGES, AT_MOST = 200, 4.0  # milliseconds
UPDATES = """(figure, chances) => chances.map(([which, where]) => {
    const all = figure.querySelectorAll('[type=range], [type=radio], .live-knob, .live-hot');
    const e = all[Math.floor(which * all.length)], key = where < 0.5 ? 'ArrowLeft' : 'ArrowUp';
    const keys = {key: e.matches('.live-hot') ? 'Enter' : key, shiftKey: true};
    const begun = performance.now();
    if (e.type === 'range') e.value = +e.min + where * (e.max - e.min);
    if (e.type === 'radio') e.click();
    else e.dispatchEvent(e.type ? new Event('input') : new KeyboardEvent('keydown', keys));
    return performance.now() - begun;
}).sort((a, b) => a - b)[chances.length / 2]"""


def medians() -> dict[str, float]:
    """Return the median time of a change of each figure, in milliseconds, if there is a browser."""
    found, chance = {}, random.Random(0)
    for file in sorted(SITE.rglob("*.html")) if find_chromium() else []:
        for name in FIGURE.findall(file.read_text("utf-8")):
            with launched() as browser:
                page = browser.new_page()
                page.goto(file.as_uri())
                figure = page.locator(f"#{name}")
                figure.locator(".live-bar > button").evaluate("button => button.click()")
                figure.locator("[data-awake=yes]").wait_for(state="attached")
                chances = [(chance.random(), chance.random()) for _ in range(CHANGES)]
                found[name] = figure.evaluate(UPDATES, chances)
    return found
