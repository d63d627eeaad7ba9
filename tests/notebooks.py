"""Run every notebook of the built site as a reader would, with the package and Jupyter alone.

Run as: python3 noxfile.py -s notebooks [-- masks order]
What belongs to the tools of the book cannot be imported there.
"""

import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.book.pages import SITE

FOLDER = SITE / "notebooks"
TOOLS = ("myst_nb", "myst_parser", "sphinx", "docutils", "jupytext", "bookproof")
REFUSE = f"""
import sys


class Refuse:
    def find_spec(name, *_):
        if name.partition(".")[0] in {TOOLS}:
            raise ModuleNotFoundError(f"a reader has no {{name}}", name=name)


sys.meta_path.insert(0, Refuse)
"""
LONGEST = 120  # seconds for a cell


def run(file: Path, folder: str) -> str:
    """Run a notebook in a folder of its own, and return what went wrong, or nothing."""
    notebook, start = nbformat.read(file, as_version=4), time.perf_counter()
    client = NotebookClient(notebook, timeout=LONGEST, resources={"metadata": {"path": folder}})
    try:
        client.execute()
    except CellExecutionError as error:
        return str(error)
    print(f"  {file.stem:28}{time.perf_counter() - start:6.1f} s", flush=True)
    return ""


def main(names: list[str]) -> None:
    """Run the notebooks of these names, or all, two at once."""
    files = [FOLDER / f"{name}.ipynb" for name in names] or sorted(FOLDER.glob("*.ipynb"))
    if missing := [file.name for file in files if not file.is_file()] or not files:
        sys.exit(f"There is no notebook to run: {missing}. Run the session 'book' first.")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(REFUSE, "utf-8")
        os.environ |= {"PYTHONPATH": folder, "OMP_NUM_THREADS": "1"}
        with ThreadPoolExecutor(2) as pool:
            wrong = [
                message for message in pool.map(lambda file: run(file, folder), files) if message
            ]
    print(*wrong, f"{len(files)} notebooks ran: {len(wrong)} failed.", sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
