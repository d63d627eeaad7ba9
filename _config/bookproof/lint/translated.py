"""Rules for a translation: what is not words is that of the original, as long as this is the same.

One whose original has changed since is reported, but fails nothing: the page tells its readers.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from docutils.nodes import make_id

from ..translations import is_current, translations
from .page import Block, Finding, Page

OLDER = "translation-older"
TITLED = {"admonition", "dropdown", "exercise"}  # whose argument is words
LEFT_OUT = {"instructors", "toctree"}
SAID = {"live"}  # options that are words
HEADING = re.compile(r"(?:^\(([\w-]+)\)=\n)?^(#+) (.+)$", re.MULTILINE)
# Formulas, roles, code, addresses of links, listings, numbers.
MARK = re.compile(
    r"\$[^$\n]+\$|\{[\w:]+\}`[^`\n]+`|(?<!`)`[^`\n]+`(?!`)|\]\([^)\s]*\)|\{listing\} \S+"
    r"|\d+(?:\.\d+)?"
)


def findings(docs: Path) -> Iterator[tuple[Path, int, str, str]]:
    """Compare each translation with its original; yield file, line, rule and message."""
    for file, source in translations(docs):
        if not source.is_file():
            yield file, 1, "translation", f"a translation has an original; got no {source}"
            continue
        if not is_current(file, source):
            yield file, 1, OLDER, f"{source} has changed since; `translations` notes what was read"
            continue
        here, there = (Page(path, path.read_text("utf-8")) for path in (file, source))
        for rule in (blocks, headings, marks):
            yield from ((file, line, "translation", message) for line, message in rule(here, there))


def blocks(here: Page, there: Page) -> Iterator[Finding]:
    """Have the blocks of the original, in its order, with its code and its names."""
    mine, theirs = (
        [block for block in page.blocks if block.kind not in LEFT_OUT] for page in (here, there)
    )
    if len(mine) != len(theirs):
        yield 1, f"the original has {len(theirs)} blocks; got {len(mine)}"
    for block, wanted in zip(mine, theirs, strict=False):
        if (got := facts(block)) != facts(wanted):
            yield block.line, f"line {wanted.line} of the original has {facts(wanted)}; got {got}"
            return


def facts(block: Block) -> tuple[str, str, dict[str, str], str]:
    """Return what of a block is not words."""
    options = {name: said for name, said in block.options.items() if name not in SAID}
    if "choices" in options:
        options["choices"] = str(options["choices"].count("|"))
    code = block.code if block.kind in ("code-cell", "math") else ""
    return block.kind, "" if block.kind in TITLED else block.argument, options, code


def headings(here: Page, there: Page) -> Iterator[Finding]:
    """Have the headings of the original, each below the address that it has there."""
    mine, theirs = (list(HEADING.finditer(page.prose)) for page in (here, there))
    wanted = [(make_id(match[3]) if len(match[2]) > 1 else None, match[2]) for match in theirs]
    got = [(match[1] if len(match[2]) > 1 else None, match[2]) for match in mine]
    if wanted != got:
        missing = [f"({name})=" for name, _ in wanted if name and name not in here.text]
        yield 1, f"the headings are those of the original, with their addresses; no {missing}"


def marks(here: Page, there: Page) -> Iterator[Finding]:
    """Have each formula, number, name in code and link as often as the original."""
    mine, theirs = (Counter(map(plain, MARK.findall(words(page)))) for page in (here, there))
    for which, left in (("more", mine - theirs), ("less", theirs - mine)):
        if left:
            yield 1, f"{which} than in the original: {', '.join(sorted(left.elements()))}"


def words(page: Page) -> str:
    """Return the prose of a page, without what a translation leaves out and the names of places."""
    lines = page.prose.splitlines()
    for block in page.blocks:
        if block.kind in LEFT_OUT:
            lines[block.line - 1 : block.end] = [""] * (block.end - block.line + 1)
    named = re.compile(r"^(\([\w-]+\)=|:(label|name|tags): .*|:::\{caption\} .*|```\{claim\} .*)$")
    return "\n".join(line for line in lines if not named.match(line))


def plain(mark: str) -> str:
    """Return a mark without the words of a role.

    Example:
        >>> plain("{term}`Werte <value>`")
        '{term}`value`'
    """
    return re.sub(r"`[^`<]*<([^`>]+)>`", r"`\1`", mark) if mark.startswith("{") else mark
