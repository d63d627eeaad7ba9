"""Keep the targets of links from other pages, so that a page can show a preview beside the link.

For each page there is a small script, loaded when a reader points at the first link to that page.
It is a script because a page that is opened from a folder may not read another one.
"""

import json
import re
import shutil
from collections import defaultdict
from pathlib import PurePosixPath
from posixpath import normpath

from sphinx.application import Sphinx

from .places import on_a_site, pages_as_written

LINK = re.compile(r'href="([^"#:?]+)\.html#([^"]+)"')
# An equation, a claim, a listing, a figure, an entry of the bibliography, a term.
THING = re.compile(
    r'<(?P<tag>div|figure|li|dt)(?= |>)(?=[^>]* id="(?P<id>[^"]+)")(?P<attributes>[^>]*)>'
)
KINDS = re.compile(r'class="(math|claim|literal-block-wrapper|citation)\b|id="term-')


@on_a_site
def write_previews(app: Sphinx) -> None:
    folder = app.outdir / "_static" / "previews"
    shutil.rmtree(folder, ignore_errors=True)
    texts = pages_as_written(app)
    for page, ids in targets(texts).items():
        # Also where nothing is shown, so that no page asks for it in vain.
        file, found = folder / f"{page}.js", things(texts[page], ids)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"bookPreviews[{json.dumps(page)}] = {json.dumps(found)};\n", "utf-8")


def targets(texts: dict[str, str]) -> dict[str, set[str]]:
    """Return, for each page, the ids on it that other pages lead to."""
    found = defaultdict(set)
    for here, text in texts.items():
        for path, anchor in set(LINK.findall(text)):
            page = normpath(PurePosixPath(here).parent / path)
            if page in texts:
                found[page].add(anchor)
    return found


def things(text: str, ids: set[str]) -> dict[str, str]:
    """Return what can be shown of a page, by its id; a term with what is said of it."""
    found = {match["id"]: match for match in THING.finditer(text)}
    shown = {}
    for name in sorted(ids & found.keys()):
        match = found[name]
        start, tag = match.start(), match["tag"]
        if tag == "dt" and KINDS.search(match["attributes"]):
            shown[name] = text[start : end_of(text, text.index("<dd", match.end()), "dd")]
        elif tag == "figure" or KINDS.search(match["attributes"]):
            shown[name] = text[start : end_of(text, start, tag)]
    return shown


def end_of(text: str, start: int, tag: str) -> int:
    """Return where the element that starts here ends.

    Example:
        >>> text = "<p><div>a<div>b</div></div></p>"
        >>> text[3:end_of(text, 3, "div")]
        '<div>a<div>b</div></div>'
    """
    depth = 0
    for found in re.compile(rf"<(/?){tag}\b").finditer(text, start):
        depth += -1 if found[1] else 1
        if not depth:
            return text.index(">", found.end()) + 1
    return len(text)


def setup(app: Sphinx) -> None:
    app.connect("build-finished", write_previews, priority=900)
