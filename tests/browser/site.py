"""What the tests of the built site share: a browser, and a server."""

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

# The first ones have no windows, and open a page in little more than half the time.
NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
NO_BROWSER = (
    "No Chromium was found. Install one, for example with `apt-get install chromium-headless-shell`, "
    "and run the session again."
)
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


class QuietHandler(SimpleHTTPRequestHandler):
    """Serve files, and say nothing about it."""

    def log_message(self, *_: object) -> None:
        pass


def find_chromium() -> str | None:
    """Return the path of an installed Chromium, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """Launch a Chromium, or exit where there is none."""
    program = find_chromium() or sys.exit(NO_BROWSER)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIET)
        yield browser
        browser.close()


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a site from this machine, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def wait_until(page: Page, script: str, arg: object = None, seconds: float = 10) -> None:
    """Ask a page until a script says yes; Playwright's way evaluates text, which the policy refuses."""
    end = time.monotonic() + seconds
    while not page.evaluate(script, arg):
        if time.monotonic() > end:
            raise TimeoutError(f"never true: {script}")
        page.wait_for_timeout(50)
