"""Where the translations of a book are, and what each of them is a translation of.

``languages/pt-br/chapters/one.md`` translates ``chapters/one.md``, and says in its front matter, under
``translates``, the digest of the text that it was made from.
"""

import argparse
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from .lint.page import Page

FOLDER = "languages"
DIGEST = re.compile(r'^translates: *"?(\w*)"?$', re.MULTILINE)


def original(source: Path) -> Path | None:
    """Return the source of the book that this one translates, or nothing where it translates none."""
    return source.parents[1] if source.parent.name == FOLDER else None


def translations(source: Path, page: str = "**/*") -> Iterator[tuple[Path, Path]]:
    """Yield each translation of a page, or of all, with the file that it translates."""
    for file in sorted((source / FOLDER).glob(f"*/{page}.md")):
        yield file, translated_by(file)


def translated_by(file: Path) -> Path:
    """Return the file that a translation translates.

    Example:
        >>> translated_by(Path("docs/languages/de/chapters/one.md")).as_posix()
        'docs/chapters/one.md'
    """
    place = file.parts.index(FOLDER)
    return Path(*file.parts[:place], *file.parts[place + 2 :])


def digest(file: Path) -> str:
    """Return a digest of a text."""
    return sha256(file.read_bytes()).hexdigest()[:12]


def is_current(file: Path, translated: Path) -> bool:
    """Tell whether a translation was made from what its original is now."""
    found = DIGEST.search(file.read_text("utf-8"))
    return found is not None and found[1] == digest(translated)


def renew(file: Path, translated: Path) -> None:
    """Note that a translation says what its original says now."""
    text = file.read_text("utf-8")
    file.write_text(DIGEST.sub(f'translates: "{digest(translated)}"', text, count=1), "utf-8")


def numbers(source: Path) -> dict[str, int]:
    """Return the numbers of a book's pages, as its site counts them: through all numbered parts."""
    index = source / "index.md"
    blocks = Page(index, index.read_text("utf-8")).blocks
    parts = [block for block in blocks if block.kind == "toctree" and "numbered" in block.options]
    pages = (line.strip() for part in parts for line in part.source if line.strip())
    return {page: number for number, page in enumerate(pages, start=1)}


def main() -> int:
    """Note that translations were compared with their originals as these are now."""
    parser = argparse.ArgumentParser(prog="python -m bookproof translations", description=__doc__)
    parser.add_argument(
        "files", nargs="+", type=Path, help="pages that say what their originals say"
    )
    for file in parser.parse_args().files:
        if FOLDER not in file.parts or not translated_by(file).is_file():
            parser.error(f"a translation is a page in {FOLDER}, of one that there is; got {file}")
        renew(file, translated_by(file))
    return 0
