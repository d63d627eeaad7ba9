"""The README of the engine is true: its examples can be built, its versions are those of the pins."""

import re
import shutil
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from small_books import ENGINE, SMALL_BOOK, Book

README = (ENGINE / "bookproof" / "README.md").read_text("utf-8")
CONF, PACKAGE = re.findall(r"(?ms)^```python\n(.*?)^```$", README)
PAGE, PACKAGE_PAGE = re.findall(r"(?ms)^````markdown\n(.*?)^````$", README)


@pytest.fixture
def example(home):
    """A folder for a book that has nothing but what the README shows."""
    root = home / "example"
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("config", "docs"):
        (root / folder).mkdir(parents=True)
    return Book(root)


@pytest.mark.parametrize(
    ("conf", "page", "claim"),
    [(CONF, PAGE, "The sum of the first "), (CONF + PACKAGE, PACKAGE_PAGE, "The answer is even.")],
    ids=["without a package", "with one"],
)
def test_the_examples_of_the_readme_are_built_strictly(example, conf, page, claim):
    example.write("config/conf.py", conf)
    example.write("docs/index.md", page)
    if PACKAGE in conf:
        shutil.copytree(SMALL_BOOK / "tiny", example.root / "tiny")
    built = example.build("-Dbookproof_note_addresses=1")
    assert built.good, built.said
    assert built.ran == {"index"}
    assert claim in example.page("index")
    assert 'class="fold check' in example.html("index")
    assert ("1 check, run with Python" in example.page("index")) == ("{ledger}" in page)
    assert ("return 42" in example.page("index")) == ("{listing}" in page)
    assert example.made("_static/predict.js").is_file()
    assert [file.name for file in (example.root / "config").glob("*.*")] == ["conf.py"]

    false = re.sub(r"== (.*)$", r"== \1 + 1", page, flags=re.MULTILINE)
    assert false != page
    example.write("docs/index.md", false)
    failed = example.build()
    assert not failed.good
    assert "AssertionError" in failed.said


def pins(text, pattern):
    return dict(re.findall(pattern, text, re.MULTILINE))


def test_versions_of_others_are_pinned_and_bounded_as_the_readme_names_them():
    """With another version, what it says of their insides has to be looked at again."""
    named = pins(README, r"\| ([\w-]+) (\d[\d.]+) \|$")
    pinned = pins((ENGINE / "constraints.txt").read_text(), r"^([\w-]+)==(\S+)$")
    lower = {canonicalize_name(name): number for name, number in pinned.items()}
    assert len(named) > 8
    assert {name: lower[canonicalize_name(name)] for name in named} == named
    project = tomllib.loads((ENGINE / "bookproof" / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    wanted = map(Requirement, [*project["dependencies"], *(n for extra in extras for n in extra)])
    bounds = {canonicalize_name(one.name): one.specifier for one in wanted}
    for name, number in named.items():
        bound = bounds[canonicalize_name(name)]
        assert number in bound
        assert any(part.operator == "<" for part in bound), name


def test_every_setting_and_directive_is_named_and_the_small_book_uses_it():
    code = "".join(file.read_text("utf-8") for file in (ENGINE / "bookproof").rglob("*.py"))
    settings = (SMALL_BOOK / "config" / "conf.py").read_text("utf-8")
    pages = "".join(page.read_text("utf-8") for page in SMALL_BOOK.rglob("*.md"))
    added = re.findall(r'add_(config_value|directive|generic_role)\("(\w+)"', code)
    names = [name for _, name in added]
    assert len(names) == len(set(names)) > 12
    for kind, name in added:
        is_setting = kind == "config_value"
        shown = f"`{name}`" if is_setting else f"{{{name}}}"
        assert shown in README
        assert f"\n{name} = " in settings if is_setting else shown in pages


def test_the_files_that_it_names_are_there():
    files = re.findall(
        r"`((?:[\w/]+\.py|assets/\w+\.\w+))`", README.partition("## What is kept")[2]
    )
    files += re.findall(r"`(assets/\S+?)`", README)
    assert [file for file in files if not (ENGINE / "bookproof" / file).exists()] == []
