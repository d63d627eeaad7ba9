"""Measure what a first visit to pages of the built site costs, and print it as a table.

Chromium at a fourth of its speed, nothing kept from before, a server that compresses; each figure
is the median of five visits. Run as: python3 noxfile.py -s browser -- --bench [--beside FOLDER]
With a second site, both are visited in turns.
"""

import argparse
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median
from urllib.parse import unquote

from playwright.sync_api import Browser, Page

from tests.book.pages import SITE
from tests.browser.site import QuietHandler, launched, served
from tests.browser.weight import MOST, TEXT, sent

PAGES = (
    "index",
    "chapters/masks",
    "chapters/why-divide",
    "chapters/positions",
    "chapters/block",
    "chapters/squares",
    "appendix/reference",
    "appendix/museum-masks",
)
VISITS = 5
SLOWER = 4
REST = 1500  # milliseconds after the load in which a page may still move

WATCH = """
window.seen = {shift: 0, paint: 0, blocked: 0};
const watch = (type, see) =>
    new PerformanceObserver(list => list.getEntries().forEach(see)).observe({type, buffered: true});
watch('layout-shift', e => { if (!e.hadRecentInput) seen.shift += e.value; });
watch('largest-contentful-paint', e => { seen.paint = e.startTime; });
watch('longtask', e => { seen.blocked += Math.max(0, e.duration - 50); });
"""
NEXT = "document.querySelector('head link[rel=next]')?.href"


@dataclass
class Visit:
    """What one visit cost: layout shift, kB of the first and of the next page, milliseconds."""

    shift: float
    first: float
    following: float
    blocked: float
    paint: float


AIMS = Visit(shift=0.02, first=MOST, following=150, blocked=float("inf"), paint=float("inf"))
NAMES_OF_FIGURES = ("shift", "first kB", "next kB", "blocked ms", "LCP ms")


class Compressing(QuietHandler):
    """Serve files as a good server would: text compressed, and to be kept for an hour."""

    def do_GET(self) -> None:  # noqa: N802 (the server asks for this name)
        file = Path(self.directory, unquote(self.path).split("?")[0].lstrip("/"))
        if not file.is_file():
            self.send_error(404)
            return
        content = sent(file)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(file)))
        self.send_header("Cache-Control", "max-age=3600")
        if file.suffix in TEXT:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def visit(browser: Browser, address: str) -> Visit:
    """Visit a page for the first time, and then the one that follows it."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.add_init_script(WATCH)
    loaded = count_bytes(page)
    page.goto(address, wait_until="load")
    page.wait_for_timeout(REST)
    seen = page.evaluate("seen")
    first, following = sum(loaded), 0.0
    if next_page := page.evaluate(NEXT):
        page.goto(next_page, wait_until="load")
        page.wait_for_timeout(REST)
        following = sum(loaded) - first
    context.close()
    return Visit(
        seen["shift"],
        first / 1000,
        following / 1000,
        seen["blocked"],
        seen["paint"],
    )


def count_bytes(page: Page) -> list[float]:
    """Slow a page down, and return a list that fills with the bytes of what it loads."""
    loaded: list[float] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    session.on(
        "Network.loadingFinished",
        lambda event: loaded.append(event["encodedDataLength"]),
    )
    return loaded


def measure(browser: Browser, address: str) -> Visit:
    """Return the median of each figure over some visits."""
    visits = [astuple(visit(browser, address)) for _ in range(VISITS)]
    return Visit(*map(median, zip(*visits, strict=True)))


def row(name: str, cost: Visit) -> str:
    """Return a line of the table; a figure that misses its aim has a mark."""
    figures = zip(astuple(cost), astuple(AIMS), strict=True)
    digits = (
        f"{value:.3f}" if index == 0 else f"{value:.0f}"
        for index, value in enumerate(astuple(cost))
    )
    marks = ("!" if value > aim else " " for value, aim in figures)
    return f"{name:34}" + "".join(
        f"{figure:>11}{mark}" for figure, mark in zip(digits, marks, strict=True)
    )


def main() -> None:
    """Measure this site, and another one beside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", type=Path, help="the folder of another site")
    parser.add_argument("pages", nargs="*", default=PAGES)
    options = parser.parse_args()
    sites = {"": SITE} | ({" (beside)": options.beside} if options.beside else {})
    for name in options.pages:
        if not (SITE / f"{name}.html").is_file():
            parser.error(f"a page is named as in {PAGES[1]!r}; got {name!r}")
    print(f"{'':34}" + "".join(f"{name:>11} " for name in NAMES_OF_FIGURES))
    print(row("aim", AIMS))
    for name in options.pages:
        for title, site in sites.items():
            with launched() as browser, served(site, Compressing) as origin:
                print(row(name + title, measure(browser, f"{origin}/{name}.html")), flush=True)


if __name__ == "__main__":
    main()
