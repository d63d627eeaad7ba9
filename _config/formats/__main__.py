"""Make `book.pdf`, `book.epub` and a PDF of each page, in the folder `files` of the built site.

Each page also gets its card, a picture in `_static/cards`, for those who share a link to it.
Run as: python -m _config.formats [PAGE ...]; with names of pages, only their PDF is made.
"""

import sys
from pathlib import Path

from tests.browser.site import launched

from .cards import make_cards
from .epub import write_epub
from .pages import read_book
from .pdf import print_book, print_page

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"


def main(names: list[str]) -> None:
    """Make all files, or the PDF of the pages named."""
    if not (SITE / "index.html").exists():
        sys.exit("There is no site yet: run the session 'book' first.")
    book, folder = read_book(SITE), SITE / "files"
    folder.mkdir(exist_ok=True)
    if unknown := set(names) - {page.slug for page in book.pages}:
        sys.exit(f"A page must be one of the book's, as in masks; got {min(unknown)!r}")
    with launched() as browser:
        tab = browser.new_page()
        if not names:
            write_epub(book, folder / "book.epub")
            print_book(book, tab, folder / "book.pdf")
            make_cards(book, browser.new_page())
        for page in book.pages[1:]:
            if not names or page.slug in names:
                print_page(book, page, tab, folder / f"{page.slug}.pdf")
    print(f"{len(list(folder.iterdir()))} files are in {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
