"""The README and the documentation of the engine are true: both can be built, pins are those named."""

import re
import shutil
import tomllib

import pytest
from bookproof import new
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from small_books import ENGINE, SMALL_BOOK, Book

README = (ENGINE / "bookproof" / "README.md").read_text("utf-8")
DOCS = ENGINE / "bookproof" / "docs"
PAGES_OF_DOCS = {page.stem: page.read_text("utf-8") for page in DOCS.glob("*.md")}
(PACKAGE,) = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGES_OF_DOCS["settings"])
MARKDOWN = re.compile(r"(?ms)^````markdown\n(.*?)^````$")
[CLAIM], [PACKAGE_PAGE] = map(MARKDOWN.findall, (README, PAGES_OF_DOCS["settings"]))
PAGES = {"odd-numbers": "The sum of the first ", "index": "The answer is even."}


@pytest.fixture
def example(home):
    """A book as the command writes it."""
    root = home / "example"
    shutil.rmtree(root, ignore_errors=True)
    assert new.main([str(root)]) == 0
    return Book(root)


@pytest.mark.parametrize("page", PAGES)
def test_a_new_book_and_the_example_with_a_package_are_built_strictly(example, page):
    docs = example.root / "docs"
    if page == "index":
        (docs / "odd-numbers.md").unlink()
        shutil.copytree(SMALL_BOOK / "tiny", example.root / "tiny")
        example.write("docs/index.md", PACKAGE_PAGE)
        conf = (example.root / "config" / "conf.py").read_text("utf-8")
        example.write("config/conf.py", conf + PACKAGE)
    built = example.build("-Dbookproof_note_addresses=1")
    assert built.good, built.said
    assert built.ran == {page}
    assert PAGES[page] in example.page(page)
    assert 'class="fold check' in example.html(page)
    assert not re.search(r"<(script|link)[^>]*https:", example.html(page))
    assert example.made("_static/predict.js").is_file()
    assert [file.name for file in (example.root / "config").glob("*.*")] == ["conf.py"]

    text = (docs / f"{page}.md").read_text("utf-8")
    example.write(f"docs/{page}.md", re.sub(r"== (.*)$", r"== \1 + 1", text, flags=re.MULTILINE))
    failed = example.build()
    assert not failed.good
    assert "AssertionError" in failed.said


def test_the_claim_that_the_readme_shows_is_that_of_a_new_book():
    assert CLAIM in (new.TEMPLATE / "docs" / "odd-numbers.md").read_text("utf-8")


def test_the_documentation_is_built_strictly_by_the_engine_and_checks_itself(home):
    documentation = Book(home / "documentation")
    shutil.copytree(DOCS, documentation.root / "docs")
    built = documentation.build("-cdocs")
    assert built.good, built.said
    assert built.ran == PAGES_OF_DOCS.keys() - {"index"}
    assert "no-assertion" in documentation.page("index"), "the ledger"
    documentation.edit("docs/settings.md", "| `bookproof_preload` |", "| `bookproof_none` |")
    failed = documentation.build("-cdocs")
    assert not failed.good
    assert re.search(r"docs/settings\.md:\d+: cell \d of \d failed", failed.said)


def test_a_new_book_overwrites_nothing(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(SystemExit):
        new.main([str(tmp_path)])
    assert "a folder that is empty or not there yet; got" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def pins(text, pattern):
    return dict(re.findall(pattern, text, re.MULTILINE))


def test_versions_of_others_are_pinned_and_bounded_as_the_documentation_names_them():
    """With another version, what it says of their insides has to be looked at again."""
    named = pins(PAGES_OF_DOCS["keys"], r"\| ([\w-]+) (\d[\d.]+) \|$")
    pinned = pins((ENGINE / "constraints.txt").read_text(), r"^([\w-]+)==([\w.]+)")
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


def test_the_small_book_uses_every_setting_and_directive():
    code = "".join(file.read_text("utf-8") for file in (ENGINE / "bookproof").rglob("*.py"))
    settings = (SMALL_BOOK / "config" / "conf.py").read_text("utf-8")
    pages = "".join(page.read_text("utf-8") for page in SMALL_BOOK.rglob("*.md"))
    added = re.findall(r'add_(config_value|directive|generic_role)\("(\w+)"', code)
    names = [name for _, name in added]
    assert len(names) == len(set(names)) > 12
    for kind, name in added:
        is_setting = kind == "config_value"
        assert f"\n{name} = " in settings if is_setting else f"{{{name}}}" in pages


def test_the_files_that_it_names_are_there():
    insides = PAGES_OF_DOCS["keys"].partition("## Where it leans")[2]
    files = re.findall(r"`([\w/]+\.py)`", insides)
    files += re.findall(r"`(assets/\S+?)`", PAGES_OF_DOCS["settings"])
    assert len(files) > 20
    assert [file for file in files if not (ENGINE / "bookproof" / file).exists()] == []
