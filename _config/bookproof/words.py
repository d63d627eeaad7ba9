"""The engine's own words in the language of a book, from its catalog in the folder ``locale``.

``pybabel extract`` finds them by ``_``; a build reads the catalog itself, so nothing is compiled.
"""

from pathlib import Path

from babel.messages.pofile import read_po

LOCALE = Path(__file__).with_name("locale")
known: dict[str, str] = {}


def speak(language: str) -> None:
    """Take the words of a language; those that its catalog does not have stay English."""
    known.clear()
    file = LOCALE / language / "LC_MESSAGES" / "bookproof.po"
    if file.is_file():
        with file.open("rb") as catalog:
            known.update({str(m.id): str(m.string) for m in read_po(catalog) if m.id and m.string})


def N_(text: str) -> str:  # noqa: N802 (as gettext has it)
    """Return a text that is put into the language of the book where it is used."""
    return text


def _(text: str) -> str:
    """Return a text in the language of the book."""
    return known.get(text, text)
