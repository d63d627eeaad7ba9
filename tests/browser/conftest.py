"""A headless Chromium, and the built site on a server of its own."""

import pytest
from playwright.sync_api import Browser, Page

from _config.weights import WRITER, script
from tests.book.pages import ROOT, SITE
from tests.browser.site import NO_BROWSER, find_chromium, launched, served

BUNDLE = ROOT / "_config" / "static" / "live-figures.js"


def pytest_addoption(parser):
    about = (
        "ask every page in both themes on a desk and in the hand, and axe for contrast (minutes)"
    )
    parser.addoption("--every-look", action="store_true", help=about)


@pytest.fixture
def every_look(pytestconfig):
    """Whether pages and figures are asked in all their looks."""
    return pytestconfig.getoption("every_look")


@pytest.fixture(scope="session")
def chromium():
    if find_chromium() is None:
        pytest.exit(NO_BROWSER, returncode=2)
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def bundle(chromium):
    """An empty page with the scripts of all live figures, and the weights of the model that writes."""
    page = chromium.new_page()
    page.add_script_tag(path=BUNDLE)
    page.add_script_tag(content=script(WRITER))
    yield page
    page.close()


@pytest.fixture(scope="session")
def origin():
    """The address of the site, served from this machine."""
    with served(SITE) as address:
        yield address


@pytest.fixture
def open_page(chromium):
    """Return a function that opens an address, and closes everything after the test."""
    yield from opener(chromium)


@pytest.fixture(scope="session")
def open_for_all(chromium):
    """Return such a function for pages that tests share; whoever opens one closes it."""
    yield from opener(chromium)


def opener(chromium: Browser):
    """Give a function that opens an address, then close everything that it has opened.

    What goes wrong from then on, and every request to another origin than the address's own, is
    written into ``noticed``. The page follows the theme of the system, which is ``theme``; ``look``
    is passed on to the browser's context.
    """
    contexts = []

    def open_page(address, *, width=1280, theme="light", scripts=True, noticed=None, **look):
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            java_script_enabled=scripts,
            **look,
        )
        contexts.append(context)
        page = context.new_page()
        if noticed is not None:
            watch(page, noticed, address.split("/")[:3])
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()


def watch(page: Page, noticed: list[str], origin: list[str]) -> None:
    """Write down what goes wrong on a page, and what it asks of others."""

    def ask(request):
        if request.url.split("/")[:3] != origin and request.url[:5] != "data:":
            noticed.append(f"asked of another origin: {request.url}")

    def answer(response):
        if response.status >= 400:
            noticed.append(f"answered {response.status}: {response.url}")

    def say(message):
        if message.type == "error":
            noticed.append(f"printed: {message.text}")

    page.on("request", ask)
    page.on("requestfailed", lambda r: noticed.append(f"did not load: {r.url}"))
    page.on("response", answer)
    page.on("pageerror", lambda error: noticed.append(f"raised: {error}"))
    page.on("console", say)
