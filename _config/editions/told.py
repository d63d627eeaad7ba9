"""What each place says the version is; an edition has one."""

import json
import re
import tomllib
from pathlib import Path

import yaml

Told = dict[str, str]


def by_sources(root: Path) -> Told:
    """Return what package, citation, change log and README say."""
    citation = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    return {
        "the package": found(r'^__version__ = "(.+)"$', root / "selfattn_book" / "__init__.py"),
        "CITATION.cff": str(citation["version"]),
        "its preferred citation": str(citation["preferred-citation"]["version"]),
        "the head of CHANGELOG.md": found(r"^## (\S+) \(", root / "CHANGELOG.md"),
        "README.md": found(r", version ([\d.]+\d)\.", root / "README.md"),
    }


def by_site(site: Path) -> Told:
    """Return what the site says: its card, the foot and citation of its cover, and all notebooks."""
    cover = site / "index.html"
    told = {
        "edition.json": json.loads((site / "edition.json").read_text("utf-8"))["version"],
        "the foot of the cover": found(r'class="edition">Version ([^,<]+)', cover),
        "the BibTeX of the cover": found(r"edition = \{Version (.+?)\}", cover),
    }
    for file in sorted((site / "notebooks").glob("*.ipynb")):
        notebook = json.loads(file.read_text("utf-8"))
        told[f"the notebook {file.stem}"] = notebook["metadata"]["version"]
        asked = notebook["cells"][1]["source"]
        told[f"what {file.stem} asks for"] = first(r'if edition != "(.+)":', asked)
    return told


def found(pattern: str, file: Path) -> str:
    """Return what a pattern finds first in a file."""
    return first(pattern, file.read_text("utf-8")) if file.is_file() else "nothing"


def first(pattern: str, text: str) -> str:
    """Return what a pattern finds first in a text, or that it finds nothing."""
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else "nothing"


def one(told: Told) -> str:
    """Return the version, if all say the same.

    Raises:
        ValueError: some say something else.

    Example:
        >>> one({"the package": "1.0", "the site": "1.0"})
        '1.0'
    """
    versions = set(told.values())
    if len(versions) != 1:
        said = "\n".join(f"  {version:8} {place}" for place, version in told.items())
        raise ValueError(f"an edition has one version everywhere; got\n{said}")
    return versions.pop()


def places(root: Path) -> tuple[str, str]:
    """Return where repository and site are, which `pyproject.toml` says; empty while unknown."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    where = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    return where["repository"], where["site"]
