"""Put editions side by side as a server shows them: the newest at the root, each under its version."""

import json
import re
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path

from bookproof.html.edition import CARD, LIST, folder, list_editions
from packaging.version import Version

LISTED = re.compile(r'(?s)<ul class="editions">.*?</ul>')


def arrange(archives: Iterable[Path], into: Path) -> list[str]:
    """Unpack the sites of editions, list them all, and return their versions, the newest first.

    Raises:
        ValueError: there is none, one is no site, or two are of one version.
    """
    half = into.with_name(f"{into.name}-unfinished")
    shutil.rmtree(half, ignore_errors=True)
    cards = sorted(
        (unpacked(archive, half) for archive in archives),
        key=lambda card: Version(card["version"]),
        reverse=True,
    )
    if not cards:
        raise ValueError("an archive has at least one edition, as site-1.0.tar.gz; got none")
    shutil.copytree(half / folder(cards[0]["version"]), half, dirs_exist_ok=True)
    for place, root in [(half, ""), *((half / folder(card["version"]), "../") for card in cards)]:
        list_all(cards, place / f"{LIST}.html", root)
    shutil.rmtree(into, ignore_errors=True)
    half.rename(into)
    return [card["version"] for card in cards]


def list_all(cards: list[dict[str, str]], page: Path, root: str) -> None:
    """Let a page list all editions; there is one where it is known where the site lives."""
    if page.is_file():
        html = page.read_text("utf-8")
        page.write_text(LISTED.sub(lambda _: list_editions(cards, root=root), html), "utf-8")


def unpacked(archive: Path, into: Path) -> dict[str, str]:
    """Unpack the site of an edition under its version, and return what its card says."""
    with tarfile.open(archive) as tar:
        if CARD not in tar.getnames() or (file := tar.extractfile(CARD)) is None:
            raise ValueError(f"the site of an edition has an {CARD}; {archive.name} has none")
        card: dict[str, str] = json.loads(file.read())
        place = into / folder(card["version"])
        if place.exists():
            raise ValueError(f"an edition is there once; got {card['version']} twice")
        tar.extractall(place, filter="data")  # which refuses files outside of the folder
    return card
