"""The pages of the book and the built site, for tests."""

from pathlib import Path

from bookproof.lint.page import Book

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
DOCS = ROOT / "docs"
BOOK = Book.read(DOCS, ROOT / "_config" / "lint.toml")
CHAPTERS = [page.path for page in BOOK.chapters]


def built_pages(having=""):
    """Return the names of the site's pages whose HTML has a text; _static has templates."""
    files = [file for file in sorted(SITE.rglob("*.html")) if "_static" not in file.parts]
    return [
        file.relative_to(SITE).as_posix() for file in files if having in file.read_text("utf-8")
    ]
