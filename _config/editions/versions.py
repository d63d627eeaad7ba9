"""What each place says the version is; an edition has one."""

import json
import re
import tomllib
from pathlib import Path

import yaml

Versions = dict[str, str]


def of_sources(root: Path) -> Versions:
    """Return what package, citation, change log and README say."""
    citation = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    return {
        "the package": found(r'^__version__ = "(.+)"$', root / "selfattn_book" / "__init__.py"),
        "CITATION.cff": str(citation["version"]),
        "its preferred citation": str(citation["preferred-citation"]["version"]),
        "the head of CHANGELOG.md": found(r"^## (\S+) \(", root / "CHANGELOG.md"),
        "README.md": found(r", version ([\d.]+\d)\.", root / "README.md"),
    }


def of_site(site: Path) -> Versions:
    """Return what the site says: its card, the foot and citation of its cover, and all notebooks."""
    cover = site / "index.html"
    versions = {
        "edition.json": json.loads((site / "edition.json").read_text("utf-8"))["version"],
        "the foot of the cover": found(r'class="edition">Version ([^,<]+)', cover),
        "the BibTeX of the cover": found(r"edition = \{Version (.+?)\}", cover),
    }
    for file in sorted((site / "notebooks").glob("*.ipynb")):
        notebook = json.loads(file.read_text("utf-8"))
        versions[f"the notebook {file.stem}"] = notebook["metadata"]["version"]
        asked = notebook["cells"][1]["source"]
        versions[f"what {file.stem} asks for"] = first(r'if edition != "(.+)":', asked)
    return versions


def found(pattern: str, file: Path) -> str:
    """Return what a pattern finds first in a file."""
    return first(pattern, file.read_text("utf-8")) if file.is_file() else "nothing"


def first(pattern: str, text: str) -> str:
    """Return what a pattern finds first in a text, or that it finds nothing."""
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else "nothing"


def only_version(versions: Versions) -> str:
    """Return the version, if all say the same.

    Raises:
        ValueError: some say something else.

    Example:
        >>> only_version({"the package": "1.0", "the site": "1.0"})
        '1.0'
    """
    if len(set(versions.values())) != 1:
        said = "\n".join(f"  {version:8} {place}" for place, version in versions.items())
        raise ValueError(f"an edition has one version everywhere; got\n{said}")
    return next(iter(versions.values()))


def addresses(root: Path) -> tuple[str, str]:
    """Return where repository and site are, which `pyproject.toml` says; empty while unknown."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    where = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    return where["repository"], where["site"]
