"""Every way to build and check the book, one verb a session.

Runs from a bare Python, `python3 noxfile.py -s NAME`, or as `nox -s NAME` where nox is installed.
All sessions share one environment, `.nox/book`, which is made once and again only when the pins change.
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
    sys.exit(
        f"The book needs Python 3.11 or newer; this is {sys.version.split()[0]}."
    )

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".nox" / "book"
BIN = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / "python"
CONSTRAINTS = ROOT / "_config" / "constraints.txt"
SITE = ROOT / "_build" / "html"


def pins() -> str:
    """Return a digest of what decides which packages are installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        project["dependencies"],
        project["optional-dependencies"],
        sys.version,
    ]
    return hashlib.sha256(
        CONSTRAINTS.read_bytes() + repr(wanted).encode()
    ).hexdigest()


def make_environment() -> None:
    """Make the shared environment, unless it is there with the same pins."""
    stamp = ENVIRONMENT / "pins"
    if stamp.exists() and stamp.read_text("utf-8") == pins():
        return
    if not find_spec("ensurepip"):
        sys.exit(
            "Python's venv is incomplete; on Debian: apt-get install python3-venv"
        )
    print(
        f"Making the book's environment in {ENVIRONMENT} (once, about a minute) ..."
    )
    stamp.unlink(missing_ok=True)
    venv.create(ENVIRONMENT, with_pip=True, clear=not running_inside())
    install = f"-m pip install --constraint {CONSTRAINTS.relative_to(ROOT)} --editable .[book,dev]"
    subprocess.run([PYTHON, *install.split()], cwd=ROOT, check=True)
    stamp.write_text(pins(), "utf-8")


def running_inside() -> bool:
    """Tell whether this very Python is the environment's own."""
    return Path(sys.prefix).resolve() == ENVIRONMENT.resolve()


try:
    import nox
except ModuleNotFoundError:
    if __name__ != "__main__":
        raise
    make_environment()
    # On Windows, exec would return to the prompt before the work is done.
    command: list[str | Path] = [PYTHON, __file__, *sys.argv[1:]]
    sys.exit(subprocess.run(command, cwd=ROOT).returncode)

nox.options.sessions = ["book", "tests"]
nox.options.default_venv_backend = "none"


def run(
    session: nox.Session,
    program: str,
    *arguments: str | Path,
    codes: tuple[int, ...] = (0,),
) -> None:
    """Run a program of the shared environment; another exit code than these ends the session."""
    make_environment()
    environment = {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONUTF8": "1",
    }
    session.run(
        str(BIN / program),
        *map(str, arguments),
        env=environment,
        external=True,
        success_codes=codes,
    )


def sphinx_arguments(site: Path) -> list[str | Path]:
    """Return the arguments of a strict build."""
    doctrees = site.with_name(f"{site.name}-doctrees")
    strict = ["--nitpicky", "--fail-on-warning", "--keep-going"]
    return [*strict, "-c", "_config", "-d", doctrees, "docs", site]


@nox.session
def book(session: nox.Session) -> None:
    """Build the site strictly: run what has changed, check every reference.

    With `-- --fresh`, nothing that an earlier build has kept is used.
    """
    fresh = "--define=bookproof_anew=1"
    words = [fresh if word == "--fresh" else word for word in session.posargs]
    run(session, "sphinx-build", "--quiet", *words, *sphinx_arguments(SITE))
    print(f"\nThe book is built. Open {(SITE / 'index.html').as_uri()}")


@nox.session
def serve(session: nox.Session) -> None:
    """Show the book in the browser, and build again at every change."""
    watched = [f"--watch={folder}" for folder in ("selfattn_book", "_config")]
    ignored = ["--ignore=*/_build/*", "--ignore=*/__pycache__/*"]
    arguments = sphinx_arguments(SITE.with_name("serve"))
    arguments.remove("--fail-on-warning")
    run(
        session,
        "sphinx-autobuild",
        *watched,
        *ignored,
        *session.posargs,
        *arguments,
    )


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests but the browser's, with the doctests of package and docs."""
    run(session, "pytest", "--ignore=tests/browser", *session.posargs)


@nox.session
def doctest(session: nox.Session) -> None:
    """Run the doctests alone; a matter of seconds."""
    run(session, "pytest", "selfattn_book", "docs", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types and spelling."""
    run(session, "ruff", "check")
    run(session, "ruff", "format", "--check")
    run(session, "mypy")
    run(session, "codespell")


@nox.session
def pages(session: nox.Session) -> None:
    """Open every page of the built site in a headless Chromium, light, dark, wide and narrow."""
    if not (SITE / "index.html").exists():
        session.error(
            "There is no site to look at yet: run the session 'book' first."
        )
    run(session, "pytest", "tests/browser", *session.posargs)


@nox.session
def verify(session: nox.Session) -> None:
    """Run every check of the book, and print what holds and what differs."""
    run(session, "python", "-m", "selfattn_book", "verify", *session.posargs)


@nox.session
def elsewhere(session: nox.Session) -> None:
    """Verify pages and run tests as other machines compute, and print what differs (an hour).

    With `-- --quick`, two machines are asked about what takes seconds (minutes).
    """
    run(session, "python", "tests/elsewhere.py", *session.posargs)


@nox.session
def shifts(session: nox.Session) -> None:
    """Verify all pages with every seed moved, and keep which checks held (half an hour).

    With `-- 6000 7000`, the seeds are moved by these numbers.
    """
    record = ROOT / "_config" / "shifts.json"
    for first in session.posargs or ["1000", "2000", "3000", "4000", "5000"]:
        verify = ["-m", "selfattn_book", "verify", "--jobs", "2"]
        moved = ["--first-seed", first, "--record", str(record)]
        run(session, "python", *verify, *moved, codes=(0, 1))
    run(session, "python", "-m", "selfattn_book.verify.shifts", record)


@nox.session
def mutate(session: nox.Session) -> None:
    """Change the package in small ways, and see which changes nobody notices (hours)."""
    run(session, "python", "tests/mutate.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Time the book's code beside other code, in turns, and compare with the targets (minutes)."""
    run(session, "python", "-m", "benchmarks", *session.posargs)


if __name__ == "__main__":
    nox.main()
