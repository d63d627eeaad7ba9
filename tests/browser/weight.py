"""How heavy a first visit to a page is: all that it asks for, compressed as a good server would."""

import gzip
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Page

MOST = 350  # kB that a chapter may take
TEXT = (".html", ".css", ".js", ".svg")
ASKED = """[location.href, ...performance.getEntriesByType('resource').map(e => e.name)]"""


def sent(file: Path) -> bytes:
    """Return what a server sends of a file."""
    content = file.read_bytes()
    return gzip.compress(content, 6) if file.suffix in TEXT else content


def weight(page: Page, site: Path) -> float:
    """Return how many kB a page has asked for since it was opened, less the headers."""
    paths = {
        unquote(urlsplit(address).path).lstrip("/")
        for address in page.evaluate(ASKED)
        if not address.startswith("data:")
    }
    return sum(len(sent(site / path)) for path in paths) / 1000
