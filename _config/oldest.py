"""Print the oldest versions of the libraries that the package says it runs on, as pip takes them.

Run as: python -m pip install $(python _config/oldest.py)
"""

import tomllib
from pathlib import Path


def oldest(requirements: list[str]) -> list[str]:
    """Return each requirement at its lower bound.

    Raises:
        ValueError: a requirement has none.

    Example:
        >>> oldest(["numpy>=2.0"])
        ['numpy==2.0']
    """
    if wrong := [asked for asked in requirements if asked.count(">=") != 1 or "," in asked]:
        raise ValueError(f"a dependency is bounded from below alone; got {wrong[0]!r}")
    return [asked.replace(">=", "==") for asked in requirements]


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    print(*oldest(project["project"]["dependencies"]))
