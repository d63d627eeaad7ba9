"""Pack the numbered figures of the built site for slides: light, as SVG and PNG, with their captions.

They are in `_build/figures/`, a folder for each page, and in `_build/figures.zip`.
"""

import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from playwright.sync_api import Browser, Page

from tests.browser.site import launched

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
MADE = ROOT / "_build" / "figures"
READ = Path(__file__).with_suffix(".js").read_text("utf-8")
FINE = 3  # pixels of a PNG for one on the page
HEAD = """\
# Figures of *Self-Attention, Executed*

Text and figures are licensed under CC BY 4.0 (LICENSE-TEXT): use and change them, and name the source.
Each caption describes its figure; `page.html#fig-name` is the address of the figure in the book.
"""


def main(names: list[str]) -> None:
    """Pack the figures of all pages, or of those that are named."""
    pages = sorted(
        page for part in ("chapters", "appendix") for page in (SITE / part).glob("*.html")
    )
    chosen = [page for page in pages if not names or page.stem in names]
    if not chosen:
        sys.exit(f"There must be a page of this name in {SITE}; got {', '.join(names) or 'none'}")
    shutil.rmtree(MADE, ignore_errors=True)
    with launched() as browser:
        count = pack(browser, chosen, MADE)
    shutil.copy(ROOT / "LICENSE-TEXT", MADE)
    shutil.make_archive(str(MADE), "zip", MADE)
    print(f"{count} figures are in {MADE}, and in {MADE.name}.zip beside it")


def pack(browser: Browser, pages: Iterable[Path], folder: Path) -> int:
    """Write the figures of pages into a folder, and return how many there are."""
    page = browser.new_page(
        viewport={"width": 1280, "height": 900}, color_scheme="light", device_scale_factor=FINE
    )
    lines = [line for file in pages for line in write(page, file, folder / file.stem)]
    (folder / "README.md").write_text("\n".join([HEAD, *lines]) + "\n", "utf-8")
    return len(lines)


def write(page: Page, file: Path, folder: Path) -> Iterator[str]:
    """Write the figures of a page, and yield a line about each."""
    page.goto(file.as_uri())
    page.evaluate("document.fonts.ready")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    for figure in page.evaluate(READ):
        folder.mkdir(parents=True, exist_ok=True)
        names = named(figure)
        shown = page.locator(f"[id='fig-{figure['name']}'] .picture").all()
        for name, svg, picture in zip(names, figure["pictures"], shown, strict=True):
            (folder / f"{name}.svg").write_text(svg, "utf-8")
            picture.screenshot(path=folder / f"{name}.png")
        place = f"{file.parent.name}/{file.name}#fig-{figure['name']}"
        files = ", ".join(f"`{folder.name}/{name}`" for name in names)
        yield f"* {files}: {figure['number']}. {figure['caption']} ({place})"


def named(figure: dict[str, Any]) -> list[str]:
    """Return the names of a figure's files, one for each of its pictures.

    Example:
        >>> named({"number": "Figure 5.12", "name": "growing-mask", "pictures": [""]})
        ['5-12-growing-mask']
        >>> named({"number": "Figure 3.6", "name": "two-solutions", "pictures": ["", ""]})
        ['3-6-two-solutions-a', '3-6-two-solutions-b']
    """
    number = re.sub(r"^\D*?(?=[A-Z]?\.?\d)", "", figure["number"])
    name = f"{number.replace('.', '-')}-{figure['name']}"
    letters = ascii_lowercase[: len(figure["pictures"])]
    return [name] if len(letters) == 1 else [f"{name}-{letter}" for letter in letters]


if __name__ == "__main__":
    main(sys.argv[1:])
