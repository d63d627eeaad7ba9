"""What an edition asks of its repository: nothing uncommitted, and a tag that is free."""

import subprocess
from pathlib import Path


def git(root: Path, *arguments: str) -> str:
    """Return what git says.

    Raises:
        ValueError: git refuses.
    """
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise ValueError(f"git {arguments[0]} must work in {root}; git says: {done.stderr.strip()}")
    return done.stdout.rstrip()


def check(root: Path, version: str) -> None:
    """See that what is published is what is committed, and that its tag is not that of another.

    Raises:
        ValueError: a file is not committed, the tag is taken, or this commit has another version's.
    """
    if changed := git(root, "status", "--porcelain").splitlines():
        raise ValueError(
            "an edition is made of what is committed;"
            f" {len(changed)} files are not, the first is {changed[0][3:]}"
        )
    tag, here = tag_of(version), git(root, "tag", "--points-at", "HEAD").split()
    if tag not in here and tag in git(root, "tag").split():
        raise ValueError(f"a tag names one edition; {tag} names another commit already")
    if others := [name for name in here if name.startswith("v") and name != tag]:
        raise ValueError(f"the tag of this edition is {tag}; this commit is called {others[0]}")


def tag_of(version: str) -> str:
    """Return the tag of an edition.

    Example:
        >>> tag_of("1.0")
        'v1.0'
    """
    return f"v{version}"


def publish(root: Path, version: str) -> None:
    """Tag this commit and push the tag, upon which the workflow publishes."""
    tag = tag_of(version)
    if tag not in git(root, "tag", "--points-at", "HEAD").split():
        git(root, "tag", "--annotate", tag, "--message", f"Edition {version}")
    git(root, "push", "origin", f"refs/tags/{tag}")
