"""The book's one environment, `.nox/book`: made once, and again only when the pins change.

Every file that is fetched has one of the pinned digests, or pip refuses it. The book's own package is
built by what is pinned, and that fetches nothing. A bare Python runs this. It prints one line a step;
what pip has to say goes to `.nox/install.log`.
"""

import hashlib
import os
import re
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

# Nothing that is not pinned, and nothing that must be built.
PINNED = ["--require-hashes", "--no-deps", "--only-binary=:all:"]
# PyTorch's own builds without the libraries for graphics cards, which the book never uses: the only
# ones that are pinned for Linux. Only PyTorch is looked for there; other systems find it on PyPI.
CPU = "--extra-index-url=https://download.pytorch.org/whl/cpu"
SMALL_BUILD = [CPU] if sys.platform == "linux" else []
# Built with what is installed; what `pyproject.toml` asks for and the pins lack is refused.
BOOK = ["--no-index", "--no-build-isolation", "--editable", ".[book,dev]"]
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
    _step("1 of 4: pip", *PINNED, "--requirement", _pins_of("pip"))
    _step("2 of 4: PyTorch (200 MB)", *PINNED, *SMALL_BUILD, "--requirement", _pins_of("torch"))
    _step("3 of 4: everything else (up to 200 MB)", *PINNED, "--requirement", str(CONSTRAINTS))
    _step("4 of 4: the book's own package", *BOOK)


def _pins_of(name: str) -> str:
    """Write the pins of one package to a file for pip, and return its path."""
    pins = re.findall(rf"(?m)^{name}==.*(?:\n .*)*\n", CONSTRAINTS.read_text("utf-8"))
    file = LOG.with_name(f"{name}.txt")
    file.write_text("".join(pins), "utf-8")
    return str(file)


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
    command = [str(PYTHON), "-m", "pip", "install", *patient, *quick, *arguments]
    with LOG.open("a", encoding="utf-8") as log:
        return subprocess.run(command, cwd=ROOT, stdout=log, stderr=log).returncode
