"""The pages of the book and the built site, for tests."""

from pathlib import Path

from bookproof.lint.page import Book

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
DOCS = ROOT / "docs"
BOOK = Book.read(DOCS, ROOT / "_config" / "lint.toml")
CHAPTERS = [page.path for page in BOOK.chapters]
