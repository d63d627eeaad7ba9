"""Publish an edition, step by step; the session `release` runs all of them.

Run as: python _config/release.py check | make | publish | archive FILES
"""

import argparse
import sys
from pathlib import Path

from editions import handed_out, repository, versions
from editions.archive import arrange

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"


def check() -> None:
    """Refuse what could not be published, before anything is built."""
    version = versions.only_version(versions.of_sources(ROOT))
    repository.check(ROOT, version)
    unknown = [
        name
        for name, place in zip(("repository", "site"), versions.addresses(ROOT), strict=True)
        if not place
    ]
    print(f"Edition {version} is committed, and {repository.tag_of(version)} is free for it.")
    for name in unknown:
        print(f"The address of the {name} is empty in pyproject.toml: no page leads there.")


def make() -> None:
    """Make everything that the edition hands out, from the site that is built."""
    version = versions.only_version(versions.of_sources(ROOT) | versions.of_site(SITE))
    folder = handed_out.make(ROOT, version)
    print(f"Edition {version} is in {folder}:", *handed_out.sizes(folder), sep="\n")


def publish() -> None:
    """Tag the edition, and push the tag."""
    repository.publish(ROOT, versions.only_version(versions.of_sources(ROOT)))


def archive(files: list[Path]) -> None:
    """Put editions side by side in `_build/public`."""
    public = ROOT / "_build" / "public"
    shown = arrange(files, public)
    print(f"{public} shows {shown[0]}, and keeps {', '.join(shown)}.")


def main() -> None:
    """Take a step, and say in one message why it cannot be taken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["check", "make", "publish", "archive"])
    parser.add_argument("files", nargs="*", type=Path, help="archives of sites")
    asked = parser.parse_args()
    steps = {"check": check, "make": make, "publish": publish}
    try:
        steps.get(asked.step, lambda: archive(asked.files))()
    except (OSError, ValueError) as error:
        sys.exit(f"\n{error}\n\nNothing is published.")


if __name__ == "__main__":
    main()
