"""The book's one environment, `.nox/book`: made once, and again only when the pins change.

A bare Python runs this. It prints one line a step; what pip has to say goes to `.nox/install.log`.
"""

import hashlib
import os
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:
    sys.exit(f"The book needs Python 3.11 or newer; this is {sys.version.split()[0]}.")

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".nox" / "book"
BIN = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / "python"
STAMP = ENVIRONMENT / "pins"
LOG = ROOT / ".nox" / "install.log"
CONSTRAINTS = ROOT / "_config" / "constraints.txt"

PIP = "pip>=25.3"  # an older one does not resume a download that broke off
# PyTorch's own builds without the libraries for graphics cards, which the book never uses. Only
# PyTorch is taken from there, and without patience, since PyPI has it as well.
SMALL_BUILD = ["--index-url=https://download.pytorch.org/whl/cpu", "--timeout=15", "--retries=1"]
AGAIN = "Run the same command again; it goes on from here."


def make_environment() -> None:
    """Make the shared environment, unless it is there with the same pins."""
    if _stamped(pins()):
        return
    if not find_spec("ensurepip"):
        sys.exit("Python's venv is incomplete; on Debian: apt-get install python3-venv")
    print("Making the book's environment in .nox/book (once, a few minutes):", flush=True)
    try:
        _begin()
        _install()
    except KeyboardInterrupt:
        print(f"\nStopped. {AGAIN}")
        sys.exit(130)
    STAMP.write_text(pins(), "utf-8")


def pins() -> str:
    """Return a digest of what decides which packages are installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [project["dependencies"], extras["book"], extras["dev"], sys.version]
    return hashlib.sha256(CONSTRAINTS.read_bytes() + repr(wanted).encode()).hexdigest()


def running_inside() -> bool:
    """Tell whether this very Python is the environment's own."""
    return Path(sys.prefix).resolve() == ENVIRONMENT.resolve()


def _stamped(text: str) -> bool:
    return STAMP.exists() and STAMP.read_text("utf-8") == text


def _begin() -> None:
    """Make an empty environment, or keep one that was left half-made with the same pins."""
    half_made = f"half-made {pins()}"
    if not (_stamped(half_made) or running_inside()):
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
    STAMP.write_text(half_made, "utf-8")
    LOG.unlink(missing_ok=True)


def _install() -> None:
    _step("1 of 3: pip", PIP)
    print("  2 of 3: PyTorch (200 MB) ...", flush=True)
    if _pip(*SMALL_BUILD, "--no-deps", "torch"):
        _step(
            "2 of 3: PyTorch from PyPI (on Linux 3 GB, with libraries for graphics cards)", "torch"
        )
    _step("3 of 3: everything else (up to 200 MB)", "--editable", ".[book,dev]")


def _step(title: str, *arguments: str) -> None:
    """Announce a step and take it; where pip fails, say so in one message."""
    print(f"  {title} ...", flush=True)
    if code := _pip(*arguments):
        said = [line for line in LOG.read_text("utf-8", "replace").splitlines() if line.strip()]
        sys.exit(
            "The book's environment must be complete before anything runs;"
            f" pip ended with exit code {code}:\n\n"
            + "\n".join(f"  {line}" for line in said[-4:])
            + f"\n\nAll that it said is in .nox/install.log. {AGAIN}"
        )


def _pip(*arguments: str) -> int:
    """Let pip install, with its words in the log; return its exit code."""
    patient = ["--progress-bar=off", "--timeout=60", "--retries=5"]
    # Python compiles what is imported, which is a small part, when it is first imported.
    quick = ["--no-compile"]
    pinned = ["--constraint", str(CONSTRAINTS.relative_to(ROOT))]
    command = [str(PYTHON), "-m", "pip", "install", *patient, *quick, *pinned, *arguments]
    with LOG.open("a", encoding="utf-8") as log:
        return subprocess.run(command, cwd=ROOT, stdout=log, stderr=log).returncode
