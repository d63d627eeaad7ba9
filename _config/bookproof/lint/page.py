"""A page and a book as the rules of lint see them: lines, blocks, cells, sections."""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

FENCE = re.compile(
    r"^ {0,3}(?P<marks>`{3,}|~{3,}|:{3,})\s*(?:\{(?P<kind>[\w:-]+)\})?(?P<argument>.*)"
)
OPTION = re.compile(r"^:([\w-]+):\s*(.*)$")
LABELED = r"^(:::\{caption\} |:label: |\$\$\s*\()([\w-]+)"
NOT_PROSE = re.compile(r"code-cell|math|listing|solution-\w+|toctree")
DEEPER = "-deeper"  # ends the name of a page that goes deeper than its chapter
HIDDEN = re.compile(r"remove-cell|remove-input|hide-input|hide-cell")

Finding = tuple[int, str]
Rule = Callable[["Page", "Book"], Iterator[Finding]]


@dataclass
class Block:
    """A fenced block: a directive with its argument and options, or a literal block."""

    kind: str
    argument: str
    line: int
    end: int = 0
    body: list[tuple[int, str]] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)

    @property
    def start(self) -> int:
        """The line on which the body begins."""
        return self.body[0][0] if self.body else self.line + 1

    @property
    def source(self) -> list[str]:
        return [line for _, line in self.body]

    @property
    def code(self) -> str:
        return "\n".join(self.source)

    @property
    def tags(self) -> str:
        return self.options.get("tags", "")

    @property
    def is_check(self) -> bool:
        return "check" in self.options

    @property
    def is_open(self) -> bool:
        return not self.is_check and not HIDDEN.search(self.tags)


@dataclass
class Page:
    """A page of MyST Markdown; ``blocks`` are fenced blocks that are not inside another one."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def is_deeper(self) -> bool:
        """Whether the page goes deeper than the chapter beside it."""
        return self.name.endswith(DEEPER)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def blocks(self) -> list[Block]:
        return list(_blocks(self.lines))

    @cached_property
    def cells(self) -> list[Block]:
        return [block for block in self.blocks if block.kind == "code-cell"]

    @cached_property
    def prose(self) -> str:
        """The text with front matter, cells, formulas and listings replaced by empty lines."""
        lines = list(self.lines)
        hidden = [range(b.line - 1, b.end) for b in self.blocks if NOT_PROSE.fullmatch(b.kind)]
        if lines[:1] == ["---"]:
            hidden.append(range(lines.index("---", 1) + 1))
        for part in hidden:
            lines[part.start : part.stop] = [""] * len(part)
        return "\n".join(lines) + "\n"

    def section(self, heading: str) -> range:
        """Return the line numbers of a section of the second level, empty if there is none."""
        if f"## {heading}" not in self.lines:
            return range(0)
        start = self.lines.index(f"## {heading}")
        ends = (n for n in range(start + 1, len(self.lines)) if self.lines[n][:3] == "## ")
        return range(start + 1, next(ends, len(self.lines)) + 1)

    def between(self, kind: str) -> list[range]:
        """Return the line numbers between each ``{kind}`` and its ``{kind-end}``."""
        opens = [b.line for b in self.blocks if b.kind in (kind, f"{kind}-start")]
        closes = [b.line for b in self.blocks if b.kind == f"{kind}-end"]
        return [range(*pair) for pair in zip(opens, closes, strict=False)]

    def find(self, pattern: str, text: str | None = None) -> Iterator[tuple[int, re.Match[str]]]:
        """Yield each match of a multiline pattern in the text, with its line number."""
        text = self.text if text is None else text
        for match in re.finditer(pattern, text, re.MULTILINE):
            yield text.count("\n", 0, match.start()) + 1, match

    @cached_property
    def labels(self) -> list[tuple[int, str]]:
        """The line and the label of each figure, equation and exercise."""
        kinds = {":::{caption} ": "figure "}
        return [(n, kinds.get(m[1], "") + m[2]) for n, m in self.find(LABELED)]

    def part(self, heading: str) -> str:
        """Return the prose of a section of the second level."""
        found = self.section(heading)
        return "\n".join(self.prose.splitlines()[found.start - 1 : found.stop - 1] if found else [])


@dataclass
class Book:
    """All pages of a book, in the order of their names, and the settings of lint."""

    root: Path
    settings: dict[str, Any]
    pages: list[Page]

    @classmethod
    def read(cls, docs: Path, settings: Path) -> "Book":
        asked = tomllib.loads(settings.read_text("utf-8"))
        skipped = set(asked["pages"]["skipped_folders"])
        files = (file for file in sorted(docs.rglob("*.md")) if not skipped & set(file.parts))
        pages = [Page(file, file.read_text("utf-8")) for file in files]
        return cls(settings.resolve().parents[1], asked, pages)

    @cached_property
    def chapters(self) -> list[Page]:
        """The pages that keep the rules of a chapter."""
        others = self.settings["pages"]["not_chapters"]
        pages = (page for page in self.pages if page.path.parent.name == "chapters")
        return [page for page in pages if page.name not in others and not page.is_deeper]

    @cached_property
    def contents(self) -> list[Block]:
        """The parts of the table of contents."""
        [index] = (page for page in self.pages if page.name == "index")
        return [block for block in index.blocks if block.kind == "toctree"]

    @cached_property
    def labeled(self) -> dict[str, list[str]]:
        """The names of the pages that give each label."""
        pages: dict[str, list[str]] = {}
        for page in self.pages:
            for _, label in page.labels:
                pages.setdefault(label, []).append(page.name)
        return pages

    @cached_property
    def parts(self) -> dict[str, list[str]]:
        """The chapters of each numbered part of the table of contents, in their order."""
        names = {page.name for page in self.chapters}
        found = {
            block.options.get("caption", ""): [Path(line).name for line in block.source]
            for block in self.contents
        }
        chapters = {part: [n for n in listed if n in names] for part, listed in found.items()}
        return {part: listed for part, listed in chapters.items() if listed}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The numbers of pages, as the site counts them: through all numbered parts."""
        numbered = (block for block in self.contents if "numbered" in block.options)
        names = [Path(line).name for block in numbered for line in block.source]
        return {name: number for number, name in enumerate(names, start=1)}

    @cached_property
    def in_order(self) -> list[Page]:
        """The chapters in the order of the table of contents."""
        by_name = {page.name: page for page in self.chapters}
        return [by_name[name] for listed in self.parts.values() for name in listed]


def _blocks(lines: list[str]) -> Iterator[Block]:
    numbered = enumerate(lines, start=1)
    for number, line in numbered:
        if fence := FENCE.match(line):
            block = Block(fence["kind"] or "", fence["argument"].strip(), number, len(lines))
            closing = re.compile(rf"^ {{0,3}}{fence['marks'][0]}{{{len(fence['marks'])},}}\s*$")
            for inner, text in numbered:
                if closing.match(text):
                    block.end = inner
                    break
                block.body.append((inner, text))
            while block.body and (option := OPTION.match(block.body[0][1])):
                block.options[option[1]] = option[2]
                del block.body[0]
            while block.body and not block.body[0][1].strip():
                del block.body[0]
            yield block
