"""The pages of the built site in order, each a tree without its frame and what needs a browser.

Solutions stay on the site: handed out with the book, they would stand beside their exercises.
"""

import json
import pickle
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import urldefrag

from lxml import html
from lxml.html import HtmlElement
from sphinx import addnodes
from sphinx.environment import BuildEnvironment

GONE = (  # by class: what is pressed, what only leads elsewhere, and what the online edition has
    *("headerlink", "copybtn", "commit", "live-bar", "notebook", "moved", "toctree-wrapper"),
    *("solution", "check", "set-up", "of-figure", "hidden-cell", "cite", "sd-summary-state-marker"),
    *("chapters", "begin"),
)
PRESSED = ".//button | .//input | .//script | .//noscript | .//metadata"
OF_NO_BOOK = ("genindex", "search", "appendix/reference")  # what only a screen is good for


@dataclass
class Page:
    """A page of the site: its name there, its part of the book, its depth, its title, its article."""

    name: str
    part: str
    level: int
    title: str
    article: HtmlElement

    @property
    def slug(self) -> str:
        """Its id in a document of many pages, and its file in a folder of them."""
        return self.name.rpartition("/")[2]

    @property
    def headings(self) -> list[str]:
        """Return the text of all its headings."""
        found = self.article.xpath(".//h1 | .//h2 | .//h3")
        return [" ".join(heading.text_content().split()) for heading in found]


@dataclass
class Book:
    """A built site, and what it says of itself."""

    site: Path
    facts: dict
    pages: list[Page]

    @property
    def title(self) -> str:
        """Return the title of the book."""
        return self.facts["name"]

    @property
    def authors(self) -> str:
        """Return who wrote it."""
        return self.facts["author"]["name"]

    @property
    def edition(self) -> str:
        """Return the version with its date."""
        day = self.facts.get("datePublished")
        return f"Version {self.facts['version']}" + (
            f", {date.fromisoformat(day):%B %Y}" if day else ""
        )


def read_book(site: Path) -> Book:
    """Return a built site as a book: all pages in the order of its tables of contents."""
    cover = html.fromstring((site / "index.html").read_text("utf-8"))
    (facts,) = cover.xpath("//script[@type='application/ld+json']/text()")
    pages = [read(site, *place) for place in in_order(environment(site))]
    return Book(site, json.loads(facts), pages)


def environment(site: Path) -> BuildEnvironment:
    """Return what the build of a site has kept of its pages."""
    with (site.with_name(f"{site.name}-doctrees") / "environment.pickle").open("rb") as kept:
        return pickle.load(kept)


def in_order(
    env: BuildEnvironment, name: str = "index", part: str = "", level: int = 0
) -> Iterator[tuple[str, str, int]]:
    """Yield the name of each page with its part and depth, a page before those below it."""
    if name.startswith(OF_NO_BOOK):
        return
    yield name, part, level
    for contents in env.tocs[name].findall(addnodes.toctree):
        for child in contents["includefiles"]:
            yield from in_order(env, child, part or contents["caption"] or "", level + 1)


def read(site: Path, name: str, part: str, level: int) -> Page:
    """Return a page with its folds opened, and answers behind all questions of a quiz."""
    tree = html.fromstring((site / f"{name}.html").read_text("utf-8"))
    (article,) = tree.find_class("bd-article")
    unwanted = [
        *article.xpath(PRESSED),
        *(one for gone in GONE for one in article.find_class(gone)),
    ]
    for element in unwanted:
        if "printed" not in element.get("class", "") and element.getparent() is not None:
            element.drop_tree()
    for fold in list(article.iter("details")):
        open_fold(fold)
    for section in article.xpath(".//section[count(*) = 1][h2 or h3]"):  # whose list is gone
        section.drop_tree()
    return Page(name, part, level, article.find(".//h1").text_content(), article)


def open_fold(fold: HtmlElement) -> None:
    """Turn a fold into a box with a title; an answer of a quiz goes behind the last question."""
    summary, section = fold.find("summary"), fold.getparent()
    fold.tag, summary.tag = "div", "p"
    fold.set("class", "opened")
    summary.set("class", "fold-title")
    if section.get("id") == "quiz":
        section.append(fold)
        number = len(section.findall("div[@class='opened']"))
        for child in list(summary):
            child.drop_tree()
        summary.text = f"Answer {number}"


def give_words(article: HtmlElement) -> None:
    """Let a formula be a picture whose words are its source, and a figure a group of its pictures."""
    for formula in article.find_class("katex"):
        source = formula.xpath("string(.//annotation)")
        formula.find_class("katex-mathml")[0].drop_tree()
        formula.attrib.update({"role": "img", "aria-label": source})
        del formula.find_class("katex-html")[0].attrib["aria-hidden"]
    for figure in article.iter("figure"):
        figure.set("role", "group")


def ids(pages: list[Page]) -> dict[str, set[str]]:
    """Return the places of each page that a link may lead to."""
    return {page.name: set(page.article.xpath(".//@id")) for page in pages}


def joined(pages: list[Page]) -> str:
    """Return the articles of pages as HTML, whose links among each other lead to places within it."""
    pages, places = deepcopy(pages), ids(pages)
    for page in pages:
        for element in page.article.xpath(".//*[@id]"):
            element.set("id", f"{page.slug}--{element.get('id')}")
        lead(page, places, lambda slug, part: f"#{slug}--{part}" if part else f"#{slug}")
        page.article.set("id", page.slug)
        give_words(page.article)
    return "".join(
        html.tostring(page.article, encoding="unicode", with_tail=False) for page in pages
    )


def lead(page: Page, places: dict[str, set[str]], address: Callable[[str, str], str]) -> None:
    """Let the links of a page lead to other pages, or to the outside, or become text.

    ``places`` has the ids of each page by its name; ``address`` takes a page and one of its ids.
    """
    for link in page.article.xpath(".//a[@href]"):
        place, part = urldefrag(link.get("href"))
        if ":" in place:
            continue
        there = (
            normpath(join(dirname(page.name), place)).removesuffix(".html") if place else page.name
        )
        if there in places:
            slug = there.rpartition("/")[2]
            link.set("href", address(slug, part if part in places[there] else ""))
        else:
            link.drop_tag()
