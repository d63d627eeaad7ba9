"""A headless Chromium, and the built site on a server of its own."""

import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.book.pages import SITE

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


class QuietHandler(SimpleHTTPRequestHandler):
    """Serve files, and say nothing about it."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def chromium():
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.exit(
            "No Chromium was found. Install one, for example with `apt-get install chromium`, "
            "and run the session again.",
            returncode=2,
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def origin():
    """The address of the site, served from this machine."""
    handler = partial(QuietHandler, directory=str(SITE))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def open_page(chromium: Browser):
    """Return a function that opens an address, and closes everything after the test."""
    contexts = []

    def open_page(address, *, width=1280, mode="light", scripts=True, watch=None):
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=mode,
            java_script_enabled=scripts,
        )
        contexts.append(context)
        context.add_init_script(
            f"localStorage.mode = localStorage.theme = '{mode}'"
        )
        page = context.new_page()
        if watch:
            watch(page)
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
