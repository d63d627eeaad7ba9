"""The book's one environment, `.nox/book`: made once, and again only when the pins change.

A bare Python runs this. It prints one line a step; what pip has to say goes to `.nox/install.log`.
"""

import hashlib
import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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
REPORT = ROOT / ".nox" / "report.json"
CONSTRAINTS = ROOT / "_config" / "constraints.txt"

# An older pip fetches, gigabytes and all, what it is only asked about.
PIP = "pip>=25.3"
# PyTorch's own index of builds without the libraries for graphics cards, which the book never uses.
SMALL_BUILDS = "https://download.pytorch.org/whl/cpu"
AGAIN = "Run the same command again; it goes on from here."

Report = dict[str, Any]


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


def choose_build(ask: Callable[..., Report | None]) -> tuple[list[str], str]:
    """Return pip's options for a build of PyTorch, and in words which one it is.

    Args:
        ask: given options of pip, returns its report of what it would install for PyTorch,
            or nothing where it could not tell.
    """
    if not brings_graphics(ask() or {}):
        return [], "up to 200 MB"
    if ask("--index-url", SMALL_BUILDS, "--no-deps"):
        return ["--extra-index-url", SMALL_BUILDS], "the processor's build, about 200 MB"
    missing = f"the processor's build cannot be had from {SMALL_BUILDS}"
    return [], f"with libraries for graphics cards, about 3 GB, since {missing}"


def brings_graphics(report: Report) -> bool:
    """Tell whether a report of pip's has libraries for graphics cards in it."""
    names = [package["metadata"]["name"].lower() for package in report.get("install", [])]
    return any(name.startswith(("nvidia-", "cuda-", "triton")) for name in names)


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
    options, words = choose_build(_ask)
    _step(f"2 of 3: PyTorch ({words})", *options, "torch")
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


def _ask(*options: str) -> Report | None:
    """Ask pip what it would install for PyTorch, without patience for an index that is silent."""
    REPORT.unlink(missing_ok=True)
    _pip("--dry-run", f"--report={REPORT}", "--retries=1", "--timeout=15", *options, "torch")
    return json.loads(REPORT.read_text("utf-8")) if REPORT.exists() else None


def _pip(*arguments: str) -> int:
    """Let pip install, with its words in the log; return its exit code."""
    patient = ["--progress-bar=off", "--timeout=60", "--retries=5"]
    # Python compiles what is imported, which is a small part, when it is first imported.
    quick = ["--no-compile"]
    pinned = ["--constraint", str(CONSTRAINTS.relative_to(ROOT))]
    command = [str(PYTHON), "-m", "pip", "install", *patient, *quick, *pinned, *arguments]
    with LOG.open("a", encoding="utf-8") as log:
        return subprocess.run(command, cwd=ROOT, stdout=log, stderr=log).returncode
