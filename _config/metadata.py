"""What the package says of itself on an index: its addresses, and the README with links that work there.

Where the book lives is said once, in `pyproject.toml`, under `[tool.hatch.metadata.hooks.custom]`.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^]]*)\]\((?!\w+:|#)(?P<path>[^)]+)\)")


class Metadata(MetadataHookInterface):
    """Fills in what `pyproject.toml` calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the addresses and the README."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        readme = for_an_index(text, self.config["repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}
        metadata["urls"] = addresses(self.config["repository"], self.config["site"])


def for_an_index(readme: str, repository: str) -> str:
    """Return a README without relative links, which lead nowhere on a package index.

    They lead to the repository; without one, a link becomes its text, and a picture nothing.
    """

    def absolute(link: re.Match[str]) -> str:
        image, text, path = link["image"], link["text"], link["path"]
        if not repository:
            return "" if image else text
        return f"{image}[{text}]({repository}/{'raw' if image else 'blob'}/HEAD/{path})"

    return LINK.sub(absolute, readme)


def addresses(repository: str, site: str) -> dict[str, str]:
    """Return the addresses that are known, by their names on an index."""
    known = {"Documentation": site, "Source": repository}
    if repository:
        known |= {"Issues": f"{repository}/issues"}
        known |= {"Changelog": f"{repository}/blob/HEAD/CHANGELOG.md"}
    return {name: address for name, address in known.items() if address}
