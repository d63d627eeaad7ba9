"""The cards that are shown where others link to a page; run by the session `formats`."""

import re
from html import unescape
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pytest
from bookproof.html.outward import card
from lxml import html
from PIL import Image
from sphinx.util.tags import Tags

from _config.formats.cards import description, first_figure
from _config.formats.pages import environment, read_book
from tests.book.pages import ROOT, SITE

ADDRESS = "https://site.example/book/"
LARGEST = 60_000  # bytes


@pytest.fixture(scope="module")
def cards():
    """The file of each page's card and its words, as its head names them where the site is known."""
    settings = run_path(str(ROOT / "_config" / "conf.py"), {"tags": Tags(["files"])})
    env = environment(SITE)
    config = SimpleNamespace(**settings | {"html_baseurl": ADDRESS, "root_doc": "index"})
    app = SimpleNamespace(config=config, env=env, srcdir=env.srcdir)
    return {
        page.name: named(card(app, page.name, env.get_doctree(page.name)))
        for page in read_book(SITE).pages[1:]
    }


def named(facts):
    """Return the file that a head names, and its words."""
    return SITE / facts["og:image"].removeprefix(ADDRESS), facts["og:image:alt"]


def test_every_page_names_a_card_of_its_own(cards):
    files = {file for file, _ in cards.values()}
    assert len(files) == len(cards) > 60
    assert files == set(Path(SITE, "_static", "cards").iterdir())


def test_cards_have_the_size_that_is_asked_for_and_load_fast(cards):
    for file, _ in cards.values():
        with Image.open(file) as made:
            assert (made.format, made.size) == ("PNG", (1200, 630)), file.name
        assert file.stat().st_size < LARGEST, file.name


def test_the_words_of_a_card_are_those_of_its_figure(cards):
    for name, (_, words) in cards.items():
        tree = html.fromstring((SITE / f"{name}.html").read_text("utf-8"))
        if shown := first_figure(tree):
            labels = re.findall(r'<svg [^>]*aria-label="([^"]*)"', shown[1])
            assert words == unescape(" ".join(labels)), name
        else:
            title, _, _ = words.partition(".")
            assert title in tree.findtext(".//title"), name
            assert description(tree), name
