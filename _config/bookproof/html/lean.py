"""After the build, take out of the theme's files what no page of the book uses, nine tenths of it.

A rule stays if every class that it asks for is in a page or in a script. Colors become pairs,
``light-dark(a, b)``, of which the page's own ``color-scheme`` chooses. A lean file stays as it is.
"""

import re
import shutil
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

from .places import on_a_site

LOGGER = logging.getLogger(__name__)
THEME = "pydata_sphinx_theme"
MUST_BE = ("styles/pydata-sphinx-theme.css", "pygments.css")
# Those that a build writes again. What an extension copies by itself, it would not overwrite.
SHEETS = ("styles/*.css", "basic.css", "pygments.css", "sphinx-design.min.css")
HEAVY = ("scripts/fontawesome.js", "scripts/bootstrap.js", "vendor/fontawesome")

COMMENT = re.compile(r"(?s)/\*(?!!).*?\*/")  # one with an exclamation mark is a licence
MAP = re.compile(r"\s*//# sourceMappingURL=\S+\.map\s*$")  # of a script
RULE = re.compile(r"(?s)((?:/\*!.*?\*/\s*)*)([^{};]+)\{([^{}]*)\}")
EMPTY = re.compile(r"@(?:media|supports)[^{}]*\{\s*\}")
ICON_FONT = re.compile(r"@font-face\s*\{[^}]*Font Awesome[^}]*\}")
COMMA = re.compile(r",(?![^(]*\))")
CHOICE = re.compile(r":(?:not|is|where|has)\((?:[^()]|\([^()]*\))*\)")
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
MODE = re.compile(r'html(?:\[data-theme="?(light|dark)"?\]|:not\(\[data-theme\]\))\s*(.*)')
COLOR = re.compile(r".*color.*|background|fill")
FACT = re.compile(r"([\w-]+)\s*:\s*((?:[^;()]|\([^)]*\))+)")


@on_a_site
def make_lean(app: Sphinx) -> None:
    """Work on the files of a site that was built with the theme."""
    if THEME not in (Path(folder).name for folder in vars(app.builder)["theme"].get_theme_dirs()):
        return
    site = Path(app.outdir)
    static = site / "_static"
    if missing := [name for name in MUST_BE if not (static / name).is_file()]:
        LOGGER.warning("the theme's files are not made lean: %s is not there", missing[0])
        return
    written = (page for page in site.rglob("*.html") if "_static" not in page.parts)  # templates
    pages = [page.read_text("utf-8") for page in written]
    remove(static, pages)
    words = words_of(pages, static.rglob("*.js"))
    for sheet in (file for pattern in SHEETS for file in static.glob(pattern)):
        sheet.write_text(lean(sheet.read_text("utf-8"), words), "utf-8")
    for script in static.glob("scripts/*.js"):
        script.write_text(MAP.sub("\n", script.read_text("utf-8")), "utf-8")


def remove(static: Path, pages: list[str]) -> None:
    for name in HEAVY:
        if not any(f"_static/{name}" in page for page in pages):
            shutil.rmtree(static / name, ignore_errors=True)
            for file in static.glob(f"{name}*"):
                file.unlink()
    for file in static.rglob("*.map"):
        file.unlink()


def words_of(pages: Iterable[str], scripts: Iterable[Path]) -> set[str]:
    """Return the classes of all pages, and every word of their scripts."""
    found = {classes for page in pages for classes in re.findall(r'class="([^"]*)"', page)}
    classes = set(" ".join(found).split())
    icons = {"fa-"} if any(name.startswith("fa-") for name in classes) else set()
    texts = (script.read_text("utf-8") for script in scripts if "fontawesome" not in script.name)
    return classes | icons | {word for text in texts for word in re.findall(r"[\w-]+", text)}


def lean(css: str, words: set[str]) -> str:
    """Return what is used of a style sheet, with one set of colours."""
    css = COMMENT.sub("", css)
    if "fa-" not in words:
        css = ICON_FONT.sub("", css)
    css = RULE.sub(lambda rule: used(rule, words), css)
    return joined(EMPTY.sub("", EMPTY.sub("", css)))


def used(rule: re.Match[str], words: set[str]) -> str:
    """Return a rule with those of its selectors that can find something."""
    licence, selectors, body = rule.groups()
    finds = [
        one for one in COMMA.split(selectors) if set(CLASS.findall(CHOICE.sub("", one))) <= words
    ]
    return f"{licence}{','.join(finds)}{{{body}}}" if finds else licence


def joined(css: str) -> str:
    """Return a style sheet in which what is said of both modes is said once, in pairs."""
    sides: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: {"light": {}, "dark": {}})
    for _, selectors, body in RULE.findall(css):
        for mode, rest in modes(selectors):
            sides[rest].get(mode, {}).update(
                (name, value.strip()) for name, value in FACT.findall(body)
            )
    places = ((rule.start(), rest) for rule in RULE.finditer(css) for _, rest in modes(rule[2]))
    last = {rest: start for start, rest in places if all(sides[rest].values())}

    def once(rule: re.Match[str]) -> str:
        found = {rest for _, rest in modes(rule[2])}
        if not found or not found <= last.keys():
            return rule[0]
        here = [rest for rest in sorted(found) if last[rest] == rule.start()]
        return rule[1] + "".join(f":root {rest}".strip() + pairs(sides[rest]) for rest in here)

    return RULE.sub(once, css)


def modes(selectors: str) -> list[tuple[str, str]]:
    """Return mode and rest of each selector, if all of a rule are about a mode."""
    found = [MODE.fullmatch(one.strip()) for one in COMMA.split(selectors)]
    return [(match[1] or "", match[2]) for match in found if match] if all(found) else []


def pairs(sides: dict[str, dict[str, str]]) -> str:
    """Return the body of a rule: what both modes say, and pairs of what are colours."""
    light, dark = sides["light"], sides["dark"]
    facts = [
        f"{name}:{value}" if value == dark[name] else f"{name}:light-dark({value},{dark[name]})"
        for name, value in light.items()
        if value == dark.get(name)
        or (name in dark and COLOR.fullmatch(name) and name != "color-scheme")
    ]
    return f"{{{';'.join(facts)}}}\n"


def leave_out(app: Sphinx, pagename: str, template: str, context: Any, page: Any) -> None:
    """Take away the files whose text the page does not have; an empty text is in none."""
    only_with: dict[str, str] = app.config.bookproof_only_with
    body = context.get("body", "")

    def needed(file: Any) -> bool:
        name = str(getattr(file, "filename", file)).rpartition("/")[2]
        text = only_with.get(name)
        return text is None or bool(text and re.search(text, body))

    for kind in ("script_files", "css_files"):
        context[kind] = [file for file in context[kind] if needed(file)]


def setup(app: Sphinx) -> None:
    app.add_config_value("bookproof_only_with", {}, "html")
    app.connect("html-page-context", leave_out, priority=950)
    app.connect("build-finished", make_lean, priority=900)
