"""Pack what students need to begin: `_build/selfattn-student.zip`, which starts without git.

It has the wheel, what pip is to install, the notebooks of the built site and of the assignments that
were made, and a page START for each system. Chapters are in `chapters/`, and an assignment is in the
folder of its week, as in `week-05-masks/masks.ipynb`.
"""

import re
import sys
import tempfile
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from _config.course.assignments import MADE as ASSIGNMENTS
from _config.course.assignments import make_wheel
from _config.course.for_otter import CPU
from _config.course.weeks import ROOT

CHAPTERS = ROOT / "_build" / "html" / "notebooks"
CONSTRAINTS = ROOT / "_config" / "constraints.txt"
PACKAGE = ROOT / "_build" / "selfattn-student.zip"
PINNED, NEWEST = ("torch", "otter-grader"), ("jupyterlab",)

START = """Self-Attention, Executed: how to start on {system}

You need Python 3.11 or newer{python}.
You do not need git.

1. Unpack this archive, and open {terminal} in its folder.

2. Create an environment, and install the book into it (once; up to 2 GB on disk):

       {create}
       {run} -m pip install --retries 2 -r requirements.txt

3. Start Jupyter, which opens in your browser:

       {run} -m jupyter lab

4. Open a notebook, and choose Run > Run All Cells. Chapters are in the folder chapters; the folder
   of a week has the exercises for credit, which you hand in as a notebook under its name.

If step 2 stops, run its last command again; it goes on from there.
"""
UNIX = {"create": "python3 -m venv book", "run": "book/bin/python", "terminal": "a terminal"}
SYSTEMS = {
    "Linux": UNIX | {"python": " with venv (on Debian and Ubuntu: sudo apt install python3-venv)"},
    "macOS": UNIX | {"python": ", from https://www.python.org/downloads/"},
    "Windows": {
        "create": "py -m venv book",
        "run": r"book\Scripts\python",
        "terminal": "PowerShell",
        "python": ", from https://www.python.org/downloads/",
    },
}
COLAB = """Self-Attention, Executed: how to start on Colab

You need a Google account and a browser. You do not need Python or git.

1. Unpack this archive on your computer.

2. Open https://colab.research.google.com, choose Upload, and upload a notebook.

3. Click the folder on the left, and drag {wheel} into the list of files.

4. Choose Runtime > Run all. The first cell installs the book, from the file of step 3.

5. To hand in, choose File > Download > Download .ipynb, and keep the name of the notebook.

Colab deletes the files of step 3 when you have been away for some time; then upload them again.
"""


def main() -> int:
    """Pack everything, and return the exit code."""
    found = notebooks()
    if not found:
        rule = "there must be notebooks to pack: run the session 'book' or 'assignments' first"
        print(f"error: {rule}; got none", file=sys.stderr)
        return 2
    PACKAGE.parent.mkdir(exist_ok=True)
    part = PACKAGE.with_suffix(".part")
    with tempfile.TemporaryDirectory() as scratch, ZipFile(part, "w", ZIP_DEFLATED) as archive:
        wheel = make_wheel(Path(scratch))
        archive.write(wheel, wheel.name)
        for name, text in pages(wheel.name).items():
            archive.writestr(name, text)
        for name, file in found.items():
            archive.write(file, name)
    part.replace(PACKAGE)
    print(f"{len(found)} notebooks and how to start are in {PACKAGE}")
    return 0


def notebooks() -> dict[str, Path]:
    """Return the notebooks that were made, by their names in the archive."""
    weeks = sorted(ASSIGNMENTS.glob("week-*/student/*.ipynb"))
    found = {f"{file.parts[-3]}/{file.name}": file for file in weeks}
    return found | {f"chapters/{file.name}": file for file in sorted(CHAPTERS.glob("*.ipynb"))}


def pages(wheel: str) -> dict[str, str]:
    """Return the requirements and the pages that say how to start, by their names."""
    starts = {f"START-{one}.txt": START.format(system=one, **SYSTEMS[one]) for one in SYSTEMS}
    colab = {"START-Colab.txt": COLAB.format(wheel=wheel)}
    lines = [CPU, *map(pinned, PINNED), *NEWEST, f"./{wheel}"]
    return {"requirements.txt": "\n".join(lines) + "\n", **starts, **colab}


def pinned(name: str) -> str:
    """Return the version of a distribution that the book is built with, as `name==1.0`."""
    # Without what names a build, as `+cpu` does: of that, each system has its own.
    return re.findall(rf"(?m)^{re.escape(name)}==[\w.]+", CONSTRAINTS.read_text("utf-8"))[0]


if __name__ == "__main__":
    sys.exit(main())
