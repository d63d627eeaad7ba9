"""The command ``python -m bookproof new FOLDER``: a book of two pages, with settings and one claim."""

import argparse
import shutil
from pathlib import Path

TEMPLATE = Path(__file__).with_name("template")
BUILD = "sphinx-build --nitpicky --fail-on-warning --keep-going -c config docs _build/html"


def main(arguments: list[str] | None = None) -> int:
    """Write a book into a folder, and say how it is built."""
    parser = argparse.ArgumentParser(prog="python -m bookproof new", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder that is empty or not there yet")
    folder = parser.parse_args(arguments).folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        parser.error(f"a new book takes a folder that is empty or not there yet; got {folder}")
    shutil.copytree(TEMPLATE, folder, dirs_exist_ok=True)
    print(
        f"A book is in {folder}. Build it there:\n\n    {BUILD}\n\nand open _build/html/index.html."
    )
    return 0
