"""The package says the same of itself everywhere, and brings what it needs."""

import re
import runpy
import subprocess
import sys
import tarfile
import tomllib
from email.message import Message
from email.parser import Parser
from zipfile import ZipFile

import pytest
import yaml
from bookproof.html.changes import changes
from editions.versions import of_sources, only_version

from _config.environment import ROOT
from _config.metadata import addresses, for_an_index

README = (ROOT / "README.md").read_text("utf-8")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WHERE = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """A folder with the archives of the package."""
    folder = tmp_path_factory.mktemp("archives")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(archives):
    with ZipFile(next(archives.glob("*.whl"))) as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
    return Parser().parsestr(wheel.read(name).decode("utf-8"))


def test_exercises_for_credit_and_their_solutions_are_in_no_public_archive(wheel, archives):
    with tarfile.open(next(archives.glob("*.tar.gz"))) as archive:
        names = archive.getnames()
    assert any(name.endswith("docs/chapters/masks.md") for name in names)
    assert [name for name in [*names, *wheel.namelist()] if "docs/course" in name] == []


def test_there_is_one_version_and_one_date_whose_changes_have_a_part_for_readers(
    metadata, monkeypatch
):
    monkeypatch.setattr(sys, "path", sys.path.copy())
    settings = runpy.run_path(str(ROOT / "_config" / "conf.py"))
    places = {"the wheel": metadata["Version"], "the site": settings["release"]}
    version = only_version(of_sources(ROOT) | places)
    newest = next(changes((ROOT / "CHANGELOG.md").read_text("utf-8"), "For readers"))
    day = str(CITATION["date-released"])
    assert newest[:2] == (version, day)
    assert settings["bookproof_book"]["datePublished"] == day


def test_the_authors_are_the_same_everywhere(metadata):
    names = [metadata["Author"], *(author["name"] for author in CITATION["authors"])]
    assert set(names) == {"The authors of Self-Attention, Executed"}
    assert f"> {names[0]} (" in README


# The keys of the format that this file uses; its validator is not installed.
IN_BOTH = {"type", "title", "authors", "version", "date-released"}
REQUIRED = IN_BOTH | {"cff-version", "message", "license", "keywords", "abstract"}


def test_the_citation_is_complete_and_prefers_the_book_in_this_edition():
    book, day = CITATION["preferred-citation"], CITATION["date-released"]
    where = {"repository-code": WHERE["repository"], "url": WHERE["site"]}
    known = {key: address for key, address in where.items() if address}
    assert CITATION.keys() - {"preferred-citation"} == REQUIRED | known.keys()
    assert (CITATION["cff-version"], CITATION["type"]) == ("1.2.0", "software")
    assert all(author.keys() == {"name"} for author in CITATION["authors"])
    assert CITATION | known == CITATION
    shared = {key: CITATION[key] for key in IN_BOTH}
    assert book == shared | {"type": "book", "year": day.year, "month": day.month}


def test_an_index_is_told_the_addresses_that_are_known(metadata):
    message = dict(line.split(", ") for line in metadata.get_all("Project-URL", []))
    assert message == addresses(**{key: WHERE[key] for key in ("repository", "site")})


def test_the_readme_of_an_index_has_no_relative_links(metadata):
    targets = re.findall(r"\]\(([^)]+)\)", metadata.get_payload())
    assert [target for target in targets if not target.startswith("https://")] == []


def test_what_the_readme_links_to_is_there():
    targets = re.findall(r"\]\(([^)]+)\)", README)
    near = [target for target in targets if not target.startswith("https://")]
    assert near
    assert [target for target in near if not (ROOT / target).exists()] == []


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        ("", " See the rules and [nox](https://nox.example)."),
        (
            "https://host.example/book",
            "![Cover](https://host.example/book/raw/HEAD/static/cover.png)"
            " See [the rules](https://host.example/book/blob/HEAD/RULES.md)"
            " and [nox](https://nox.example).",
        ),
    ],
)
def test_relative_links_lead_to_the_repository_or_become_their_text(repository, expected):
    text = "![Cover](static/cover.png) See [the rules](RULES.md) and [nox](https://nox.example)."
    assert for_an_index(text, repository) == expected


def test_only_known_addresses_are_told():
    assert addresses("", "https://book.example") == {"Documentation": "https://book.example"}
    message = addresses("https://host.example/book", "")
    assert set(message) == {"Source", "Issues", "Changelog"}
    assert all(address.startswith("https://host.example/book") for address in message.values())


def test_the_wheel_brings_types_and_every_page_that_is_verified(wheel):
    names = set(wheel.namelist())
    assert "selfattn_book/py.typed" in names
    pages = [
        f"{page.parent.name}/{page.name}"
        for part in ("chapters", "appendix")
        for page in (ROOT / "docs" / part).glob("*.md")
    ]
    assert pages
    assert {f"selfattn_book/_book/{page}" for page in pages} <= names
