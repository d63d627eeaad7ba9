"""The engine knows nothing of the book that is built with it."""

import re

import pytest
from small_books import ENGINE, SMALL_BOOK

FILES = sorted((ENGINE / "bookproof").rglob("*.py")) + sorted(SMALL_BOOK.rglob("*.*"))
OF_THE_BOOK = re.compile(r"\b(selfattn\w*|attention|softmax)\b", re.IGNORECASE)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_of_the_book_is_named(file):
    lines = file.read_text("utf-8").splitlines()
    assert [line for line in lines if OF_THE_BOOK.search(line)] == []


def test_small_books_are_built_where_the_large_one_cannot_be_imported(built):
    """All of these tests do; here it is seen to be out of reach of the kernels and of the build."""
    built.write("tiny/large.py", "import selfattn_book.masks\n")
    built.edit("docs/data.md", "from pathlib", "import tiny.large\nfrom pathlib")
    failed = built.build()
    assert not failed.good
    assert "ImportError: the engine knows nothing of this package" in failed.said

    built.edit("docs/data.md", "import tiny.large\n", "")
    listing = "```{listing} selfattn_book.masks\n```\n\nIt reaches"
    built.edit("docs/data.md", "It reaches", listing)
    failed = built.build()
    assert not failed.good
    place = "docs/data.md:10: ERROR: listing: there is no 'selfattn_book.masks' to show"
    assert f"{place} (the engine knows nothing of this package)" in failed.said


def pins(text, pattern):
    return dict(re.findall(pattern, text, re.MULTILINE))


def test_the_readme_names_versions_of_others_as_they_are_pinned():
    """With another version, what it says of their insides has to be looked at again."""
    readme = (ENGINE / "bookproof" / "README.md").read_text("utf-8")
    named = pins(readme, r"\| ([\w-]+) (\d[\d.]+) \|$")
    pinned = pins((ENGINE / "constraints.txt").read_text(), r"^([\w-]+)==(\S+)$")
    lower = {name.lower(): number for name, number in pinned.items()}
    assert len(named) > 8
    assert {name: lower[name] for name in named} == named


def test_the_readme_names_every_setting_and_directive_and_the_small_book_uses_it():
    code = "".join(file.read_text("utf-8") for file in (ENGINE / "bookproof").rglob("*.py"))
    readme = (ENGINE / "bookproof" / "README.md").read_text("utf-8")
    settings = (SMALL_BOOK / "config" / "conf.py").read_text("utf-8")
    pages = "".join(page.read_text("utf-8") for page in SMALL_BOOK.rglob("*.md"))
    added = re.findall(r'add_(config_value|directive|generic_role)\("(\w+)"', code)
    names = [name for _, name in added]
    assert len(names) == len(set(names)) > 12
    for kind, name in added:
        is_setting = kind == "config_value"
        shown = f"`{name}`" if is_setting else f"{{{name}}}"
        assert shown in readme
        assert f"\n{name} = " in settings if is_setting else shown in pages


def test_the_readme_names_files_that_are_there():
    readme = (ENGINE / "bookproof" / "README.md").read_text("utf-8")
    files = re.findall(r"^\| `([\w/]+\.py)`", readme, re.MULTILINE)
    assert [file for file in files if not (ENGINE / "bookproof" / file).exists()] == []
