"""Translations keep what is not words, say from which text they were made, and speak one language."""

from pathlib import Path

import pytest
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po
from bookproof.lint import translated
from bookproof.translations import is_current, numbers, original, renew, translations
from bookproof.words import LOCALE, _, speak

from tests.book.pages import DOCS, ROOT

WORDS = [
    ("bookproof/**.py", "python"),
    ("bookproof/assets/**.js", "javascript"),
    ("static/book.js", "javascript"),
    ("templates/**.html", "jinja2"),
]
PAGE = """# One

## Two words

{term}`softmax` of $x$ is 1.

```{code-cell}
x = 1
```

:::{instructors}
Draw 3.
:::
"""
GOOD = PAGE.replace("# One", "# Eins").replace("## Two", "(two-words)=\n## Zwei")
GOOD = GOOD.replace("{term}`softmax`", "{term}`Softmax <softmax>`").partition(":::{inst")[0]


def told(docs):
    return [rule for _file, _line, rule, _message in translated.findings(docs)]


def test_each_translation_says_what_its_original_says_or_that_it_is_older():
    assert list(translations(DOCS))
    assert set(told(DOCS)) <= {translated.OLDER}


@pytest.fixture
def book(tmp_path):
    """The source of a book with one page, and the translation of that."""
    page, file = tmp_path / "docs" / "one.md", tmp_path / "docs/languages/pt-br/one.md"
    file.parent.mkdir(parents=True)
    page.write_text(PAGE, "utf-8")
    file.write_text(f'---\ntranslates: ""\n---\n{GOOD}', "utf-8")
    return page, file


def test_a_translation_is_older_until_it_is_compared_again(book):
    page, file = book
    assert list(translations(page.parent)) == [(file, page)]
    assert original(file.parent) == page.parent
    assert original(page.parent) is None
    assert told(page.parent) == [translated.OLDER]
    renew(file, page)
    assert is_current(file, page)
    assert told(page.parent) == []
    page.write_text(PAGE + "More.\n", "utf-8")
    assert told(page.parent) == [translated.OLDER]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x = 1", "x = 2"),
        ("{code-cell}\n", "{code-cell}\n:tags: [hide-input]\n"),
        ("(two-words)=\n", ""),
        ("## Zwei", "### Zwei"),
        ("$x$", "$y$"),
        ("is 1", "is 2"),
        ("<softmax>", "<mask>"),
        ("```{code-cell}\nx = 1\n```\n", ""),
    ],
)
def test_a_translation_that_changes_what_is_not_words_is_refused(book, old, new):
    page, file = book
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
    renew(file, page)
    assert set(told(page.parent)) == {"translation"}


def test_a_translation_has_an_original(book):
    page, _file = book
    page.unlink()
    assert told(page.parents[0]) == ["translation"]


def test_the_numbers_of_pages_are_those_of_the_site():
    counted = numbers(DOCS)
    assert counted["chapters/what-a-mean-forgets"] == 1
    assert counted["chapters/masks"] == 5


@pytest.mark.parametrize(
    "catalog", sorted(LOCALE.glob("*/*/*.po")), ids=lambda file: file.parts[-3]
)
def test_a_catalog_has_every_word_of_the_engine_and_no_other(catalog):
    options = {"bookproof/assets/**.js": {"parse_template_string": "true"}}
    found = extract_from_dir(ROOT / "_config", WORDS, options)
    words = {message for _file, _line, message, _comments, _context in found}
    with catalog.open("rb") as file:
        messages = {m.id: m for m in read_po(file) if m.id}
    assert {name for name, message in messages.items() if message.string} == words
    assert [m.id for m in messages.values() if list(m.check())] == []


def test_words_are_english_where_no_catalog_has_them():
    speak("de")
    assert _("Predict") == "Sag voraus"
    assert _("Nothing says this") == "Nothing says this"
    speak("en")
    assert _("Predict") == "Predict"


def test_a_folder_of_translations_is_a_language():
    folders = {folder.name for folder in Path(DOCS, "languages").iterdir()}
    catalogs = {folder.name.lower().replace("_", "-") for folder in LOCALE.glob("*/")}
    assert folders <= catalogs
