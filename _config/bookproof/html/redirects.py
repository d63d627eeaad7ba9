"""Keep old addresses: of a page that has moved, and of a part of a page that is on another one now.

`bookproof_redirects` names a file beside `conf.py`, with a line for each:

    # what was -> where it is now
    old-page -> new-page
    page#old-part -> other-page#part

A page that was becomes a small page that leads on; where there are scripts, to the same part.
A part that was is named at the foot of its old page, where a browser that is sent to it finds the link.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

from .outward import address

LOGGER = logging.getLogger(__name__)
LIST = ".redirects"  # lies in the site
LINE = re.compile(r"(?P<old>[^\s#]+)(#(?P<part>\S+))? -> (?P<new>[^\s#]+)(#(?P<anchor>\S+))?")
PAGE = """\
<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="canonical" href="{canonical}">
<meta http-equiv="refresh" content="0; url={link}">
<script>if (location.hash) location.replace("{page}" + location.hash);</script>
</head>
<body>
<main><h1>This page has moved</h1>
<p>It is now at <a href="{link}">{title}</a>.</p></main>
</body>
</html>
"""


@dataclass(frozen=True)
class Redirect:
    """From which page, or part of it, to which; and the line that says so."""

    old: str
    part: str
    new: str
    anchor: str
    line: int

    @property
    def hash(self) -> str:
        return f"#{self.anchor}" if self.anchor else ""


def place(app: Sphinx) -> Path | None:
    name = app.config.bookproof_redirects
    return Path(app.confdir, name) if name else None


def redirects(app: Sphinx) -> list[Redirect]:
    file = place(app)
    lines = file.read_text("utf-8").splitlines() if file and file.is_file() else []
    found = ((number, LINE.fullmatch(line.strip())) for number, line in enumerate(lines, 1))
    return [
        Redirect(match["old"], match["part"] or "", match["new"], match["anchor"] or "", number)
        for number, match in found
        if match
    ]


# -- Parts of pages -----------------------------------------------------------------


def add_moved(app: Sphinx, pagename: str, template: str, context: Any, doctree: Any) -> None:
    """Say at the foot of a page where those of its parts are that it no longer has."""
    if doctree is None:
        return
    moved = [
        f'<p id="{escape(one.part)}">This part of the page is now in'
        f' <a href="{app.builder.get_relative_uri(pagename, one.new)}{escape(one.hash)}">'
        f"{escape(app.env.titles[one.new].astext())}</a>.</p>"
        for one in redirects(app)
        if one.old == pagename and one.part and one.new in app.env.titles
    ]
    if moved:
        context["body"] += f'\n<div class="moved no-search">{"".join(moved)}</div>\n'


# -- Pages --------------------------------------------------------------------------


def write_pages(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    leading = [one for one in redirects(app) if leads(app, one)]
    site, noted = Path(app.outdir), Path(app.outdir, LIST)
    before = json.loads(noted.read_text("utf-8")) if noted.is_file() else []
    for old in set(before) - {one.old for one in leading} - app.env.found_docs:
        file_of(site, old).unlink(missing_ok=True)
    for one in leading:
        file = file_of(site, one.old)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page(app, one), "utf-8")
    noted.write_text(json.dumps(sorted(one.old for one in leading)), "utf-8")


def leads(app: Sphinx, one: Redirect) -> bool:
    return not one.part and one.old not in app.env.found_docs and one.new in app.env.found_docs


def page(app: Sphinx, one: Redirect) -> str:
    page = escape(app.builder.get_relative_uri(one.old, one.new))
    return PAGE.format(
        language=app.config.language,
        title=escape(app.env.titles[one.new].astext()),
        page=page,
        link=page + escape(one.hash),
        canonical=escape(address(app, one.new)) or page,
    )


def file_of(site: Path, page: str) -> Path:
    return site / f"{page}.html"


# -- What is refused ----------------------------------------------------------------


def check(app: Sphinx, error: Exception | None) -> None:
    file = place(app)
    if error or file is None or app.builder.format != "html":
        return
    if not file.is_file():
        return LOGGER.warning("bookproof_redirects names %s, which is not there", file)
    for number, why in faults(app, file.read_text("utf-8").splitlines()):
        LOGGER.warning(why, location=f"{file}:{number}")


def faults(app: Sphinx, lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield what is wrong with the redirects, by their lines."""
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#") and not LINE.fullmatch(line.strip()):
            yield number, f"a redirect reads 'old -> new'; got {line!r}"
    seen: set[tuple[str, str]] = set()
    for one in redirects(app):
        for why in faults_of_old(app, one, seen), faults_of_new(app, one):
            if why:
                yield one.line, why
        seen.add((one.old, one.part))


def faults_of_old(app: Sphinx, one: Redirect, seen: set[tuple[str, str]]) -> str:
    if (one.old, one.part) in seen:
        return "what was leads to one place; got a second one"
    is_there = one.old in app.env.found_docs
    if not one.part:
        return f"the page {one.old} is still there" if is_there else ""
    if not is_there:
        return f"only a page can say where a part of it went; got no page {one.old}"
    if ids(app, one.old).count(one.part) > 1:
        return f"the page {one.old} still has the part {one.part}"
    return ""


def faults_of_new(app: Sphinx, one: Redirect) -> str:
    if one.new not in app.env.found_docs:
        return f"a redirect leads to a page of the book; got {one.new}"
    places = [(r.old, r.part) for r in redirects(app)]
    moved_on = bool(one.anchor) and (one.new, one.anchor) in places
    if one.anchor and (moved_on or one.anchor not in ids(app, one.new)):
        return f"a redirect leads to a part of a page; {one.new} has no {one.anchor}"
    return ""


def ids(app: Sphinx, name: str) -> list[str]:
    """Return the ids of a page as it was written."""
    return re.findall(r'\sid="([^"]+)"', file_of(Path(app.outdir), name).read_text("utf-8"))


def setup(app: Sphinx) -> None:
    app.setup_extension(f"{__package__}.outward")
    app.add_config_value("bookproof_redirects", "", "html", str)
    app.connect("html-page-context", add_moved, priority=300)
    app.connect("build-finished", check, priority=400)  # before the build counts its warnings
    app.connect("build-finished", write_pages, priority=800)  # after old pages are removed
