"""Keep old addresses: of a page that has moved, and of a part of a page that is on another one now.

A page that was becomes a small page that leads on; where there are scripts, to the same part.
A part that was is named at the foot of its old page, where a browser that is sent to it finds the link.
"""

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.util import logging

from .outward import address
from .places import on_a_site, title

LOGGER = logging.getLogger(__name__)
LIST = ".redirects"  # in the folder of the site
LINE = re.compile(r"([^\s#]+)(?:#(\S+))? -> ([^\s#]+)(#\S+)?")
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


class Redirect(NamedTuple):
    """From which page, or part of it, to which; and the line that says so."""

    line: int
    old: str
    part: str
    new: str
    hash: str


def lines_of(app: Sphinx) -> list[str]:
    file = Path(app.confdir, app.config.bookproof_redirects)
    return file.read_text("utf-8").splitlines() if file.is_file() else []


def redirects(app: Sphinx) -> list[Redirect]:
    """Return all redirects whose lines can be understood."""
    found = ((number, LINE.fullmatch(line.strip())) for number, line in enumerate(lines_of(app), 1))
    return [Redirect(number, *match.groups(default="")) for number, match in found if match]


def add_moved(app: Sphinx, pagename: str, template: str, context: Any, doctree: Any) -> None:
    """Say at the foot of a page where those of its parts are that it no longer has."""
    if doctree is None:
        return
    moved = [
        f'<p id="{escape(one.part)}">This part of the page is now in'
        f' <a href="{app.builder.get_relative_uri(pagename, one.new)}{escape(one.hash)}">'
        f"{title(app.env, one.new)}</a>.</p>"
        for one in redirects(app)
        if one.old == pagename and one.part and one.new in app.env.titles
    ]
    if moved:
        context["body"] += f'\n<div class="moved no-search">{"".join(moved)}</div>\n'


@on_a_site
def write_pages(app: Sphinx) -> None:
    """Write the pages that lead on, and remove those that nothing asks for any more."""
    docs, site, noted = app.env.found_docs, Path(app.outdir), Path(app.outdir, LIST)
    moved = [r for r in redirects(app) if not r.part and r.old not in docs and r.new in docs]
    before = json.loads(noted.read_text("utf-8")) if noted.is_file() else []
    for old in set(before) - {one.old for one in moved} - docs:
        (site / f"{old}.html").unlink(missing_ok=True)
    for one in moved:
        file = site / f"{one.old}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page(app, one), "utf-8")
    noted.write_text(json.dumps(sorted(one.old for one in moved)), "utf-8")


def page(app: Sphinx, one: Redirect) -> str:
    page = escape(app.builder.get_relative_uri(one.old, one.new))
    return PAGE.format(
        language=app.config.language,
        title=title(app.env, one.new),
        page=page,
        link=page + escape(one.hash),
        canonical=escape(address(app, one.new)) or page,
    )


# -- What is refused ----------------------------------------------------------------


@on_a_site
def check(app: Sphinx) -> None:
    """Warn of each line that leads nowhere, once all pages are written."""
    file = Path(app.confdir, app.config.bookproof_redirects)
    if not app.config.bookproof_redirects:
        return
    if not file.is_file():
        return LOGGER.warning("bookproof_redirects names %s, which is not there", file)
    for number, why in faults(app):
        LOGGER.warning(why, location=f"{file}:{number}")


def faults(app: Sphinx) -> Iterator[tuple[int, str]]:
    """Yield what is wrong with the redirects, by their lines."""
    for number, line in enumerate(lines_of(app), 1):
        if line.strip() and not line.startswith("#") and not LINE.fullmatch(line.strip()):
            yield number, f"a redirect reads 'old -> new'; got {line!r}"
    every = redirects(app)
    moved = [(one.old, one.part) for one in every]
    for place, one in enumerate(every):
        if (one.old, one.part) in moved[:place]:
            yield one.line, "what was leads to one place; got a second one"
        elif why := fault_of_old(app, one):
            yield one.line, why
        if one.new not in app.env.found_docs:
            yield one.line, f"a redirect leads to a page of the book; got {one.new}"
        elif (part := one.hash[1:]) and ((one.new, part) in moved or part not in ids(app, one.new)):
            yield one.line, f"a redirect leads to a part of a page; {one.new} has no {part}"


def fault_of_old(app: Sphinx, one: Redirect) -> str:
    is_there = one.old in app.env.found_docs
    if not one.part:
        return f"the page {one.old} is still there" if is_there else ""
    if not is_there:
        return f"only a page can say where a part of it went; got no page {one.old}"
    is_kept = ids(app, one.old).count(one.part) > 1
    return f"the page {one.old} still has the part {one.part}" if is_kept else ""


def ids(app: Sphinx, name: str) -> list[str]:
    """Return the ids of a page as it was written."""
    return re.findall(r'\sid="([^"]+)"', Path(app.outdir, f"{name}.html").read_text("utf-8"))


def setup(app: Sphinx) -> None:
    app.setup_extension(f"{__package__}.outward")
    app.add_config_value("bookproof_redirects", "", "html", str)
    app.connect("html-page-context", add_moved, priority=300)
    app.connect("build-finished", check, priority=400)  # before the build counts its warnings
    app.connect("build-finished", write_pages, priority=800)  # after old pages are removed
