"""Every way to build and check the book, one verb a session.

Runs from a bare Python, `python3 noxfile.py -s NAME`, or as `nox -s NAME` where nox is installed.
All sessions share one environment, `.nox/book`, which is made once and again only when the pins change.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from _config.environment import BIN, PYTHON, make_environment  # noqa: E402

SITE = ROOT / "_build" / "html"
EDITIONS = ("students", "instructors")

try:
    import nox
except ModuleNotFoundError:
    if __name__ != "__main__":
        raise
    make_environment()
    # Ctrl-C reaches the session as well, which ends in its own way; this one only waits for it.
    signal.signal(signal.SIGINT, lambda *_: None)
    # On Windows, exec would return to the prompt before the work is done.
    command: list[str | Path] = [PYTHON, __file__, *sys.argv[1:]]
    sys.exit(subprocess.run(command, cwd=ROOT).returncode)

CORES = os.cpu_count() or 1
PARALLEL = ["--maxprocesses=5", "--dist=worksteal", "--numprocesses"]

nox.options.sessions = ["book", "tests"]
nox.options.default_venv_backend = "none"


def run(
    session: nox.Session, program: str, *arguments: str | Path, codes: tuple[int, ...] = (0,)
) -> None:
    """Run a program of the shared environment; another exit code than these ends the session."""
    make_environment()
    environment = {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "",  # a library is compiled once, and not by each process
    }
    session.run(
        str(BIN / program),
        *map(str, arguments),
        env=environment,
        external=True,
        success_codes=codes,
    )


def sphinx_arguments(site: Path, docs: Path = Path("docs")) -> list[str | Path]:
    """Return the arguments of a strict build."""
    doctrees = ROOT / "_build" / f"{site.name}-doctrees"
    strict = ["--nitpicky", "--fail-on-warning", "--keep-going"]
    return [*strict, "-c", "_config", "-d", doctrees, docs, site]


@nox.session
def book(session: nox.Session) -> None:
    """Build the site strictly: run what has changed, check every reference.

    With `-- --fresh`, nothing that an earlier build has kept is used. With `-- --edition students`,
    the book has no solutions, and with `-- --edition instructors` it has notes for instructors.
    """
    words, site = list(session.posargs), SITE
    if "--fresh" in words:
        words[words.index("--fresh")] = "--define=bookproof_fresh=1"
    if "--edition" in words:
        place = words.index("--edition")
        edition = (words[place + 1 : place + 2] or [""])[0]
        if edition not in EDITIONS:
            session.error(f"An edition is one of {', '.join(EDITIONS)}; got {edition!r}")
        words[place : place + 2] = [f"--define=bookproof_edition={edition}"]
        site = SITE.with_name(edition)
    run(session, "sphinx-build", "--quiet", *words, *sphinx_arguments(site))
    print(f"\nThe book is built. Open {(site / 'index.html').as_uri()}")


@nox.session
def addresses(session: nox.Session) -> None:
    """Build the site, and note the addresses that are new in `_config/addresses.list`."""
    note = "--define=bookproof_note_addresses=1"
    run(session, "sphinx-build", "--quiet", note, *sphinx_arguments(SITE))


@nox.session
def serve(session: nox.Session) -> None:
    """Show the book in the browser, and build again at every change."""
    watched = [f"--watch={folder}" for folder in ("selfattn_book", "_config")]
    ignored = ["--ignore=*/_build/*", "--ignore=*/__pycache__/*"]
    arguments = sphinx_arguments(SITE.with_name("serve"))
    arguments.remove("--fail-on-warning")
    run(session, "sphinx-autobuild", *watched, *ignored, *session.posargs, *arguments)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests and the doctests of package and docs in parallel.

    Browser tests are in the session `browser`. With `-- --weekly`, run the tests that are left to
    once a week: they start processes, or repeat in breadth what is tested here once.
    """
    words, which = list(session.posargs), "not weekly"
    if "--weekly" in words:
        words.remove("--weekly")
        which = "weekly"
    arguments = [
        "--ignore=tests/browser",
        "--ignore=tests/formats",
        "-m",
        which,
        *PARALLEL,
        str(CORES),
    ]
    run(session, "pytest", *arguments, *words)


@nox.session
def module(session: nox.Session) -> None:
    """Run the doctests and tests of the modules named, as in `-- masks`; a matter of seconds."""
    if not session.posargs:
        session.error("Name a module: python3 noxfile.py -s module -- masks")
    files = [file for name in session.posargs for file in files_of_module(session, name)]
    run(session, "pytest", *files)


def files_of_module(session: nox.Session, name: str) -> list[Path]:
    """Return a module's own file and that of its tests, in any folder."""
    places = [f"selfattn_book/**/{name}.py", f"tests/**/test_{name}*.py"]
    found = [file.relative_to(ROOT) for place in places for file in ROOT.glob(place)]
    if not found:
        session.error(f"There must be a {' or a '.join(places)}; got none")
    return found


@nox.session
def doctest(session: nox.Session) -> None:
    """Run the doctests alone; a matter of seconds."""
    run(session, "pytest", "selfattn_book", "docs", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types, spelling, imports, and the rules of the pages."""
    run(session, "ruff", "check")
    run(session, "ruff", "format", "--check")
    run(session, "mypy")
    run(session, "codespell")
    run(session, "lint-imports")
    run(session, "zizmor", "--offline", "--strict-collection", "--quiet", ".github/workflows")
    run(session, "python", "_config/live.py", "--workflows")
    session.env["PYTHONPATH"] = str(ROOT / "_config")  # for the engine
    run(session, "python", "-m", "bookproof.lint", "docs", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Open every page of the built site in a headless Chromium, light, dark, wide and narrow.

    Pages are seen narrow in the dark, and every third of them wide in the light, too, and by axe. With
    `-- --every-look`, all pages are seen in all four looks, with axe in each and by all its rules.
    """
    if not (SITE / "index.html").exists():
        session.error("There is no site to look at yet: run the session 'book' first.")
    # One more than cores: now and then, a test waits for its browser.
    run(session, "pytest", "tests/browser", *PARALLEL, str(CORES + 1), *session.posargs)


@nox.session
def live(session: nox.Session) -> None:
    """Check the types of the live figures, and bundle them with the tools of their lock file.

    With `-- --check`, the bundle that is kept must be the one that their sources give.
    """
    run(session, "python", "_config/live.py", *session.posargs)


@nox.session
def linkcheck(session: nox.Session) -> None:
    """Follow every external link of the book, and report the broken ones (minutes)."""
    folders = ["-d", "_build/links-doctrees", "docs", "_build/links"]
    run(session, "sphinx-build", "--quiet", "-b", "linkcheck", "-c", "_config", *folders)


@nox.session
def notebooks(session: nox.Session) -> None:
    """Run the notebooks of the built site in fresh kernels, or those named, as in `-- masks`."""
    run(session, "python", "-m", "tests.notebooks", *session.posargs)


@nox.session
def questions(session: nox.Session) -> None:
    """Write the questions of the built site for learning platforms, in GIFT and in QTI 2.1."""
    run(session, "python", "_config/course/questions.py")


@nox.session
def assignments(session: nox.Session) -> None:
    """Make the assignments, or those named, as in `-- masks --key KEY`, for students and instructors.

    The key is yours: students' numbers are drawn from it. With `--weeks FILE.csv`, weeks
    are numbered as in your file. With `--roster FILE.csv`, exercises by hand are also printed, with a
    page for each student.
    """
    run(session, "python", "-m", "_config.course.assignments", *session.posargs)


@nox.session
def grade(session: nox.Session) -> None:
    """Grade what Moodle or Canvas exports, as in `-- masks EXPORT.zip @key.txt --roster roster.csv`.

    With `--deadline 2026-11-26T23:59`, note what is late; with `--similar`, list answers that are
    alike; with `--orals 6`, write questions for six students, each about the student's own answer.
    """
    run(session, "python", "-m", "_config.course.grade", *session.posargs)


@nox.session
def package(session: nox.Session) -> None:
    """Pack the notebooks that were made, the wheel, and how to start, for students without git."""
    run(session, "python", "-m", "_config.course.package")


@nox.session
def predictions(session: nox.Session) -> None:
    """Count the predictions in the files of students, as in `-- ada.txt`: lines of *Copy proof*."""
    run(session, "python", "-m", "_config.course.predictions", *session.posargs)


@nox.session
def handouts(session: nox.Session) -> None:
    """Print the reading sheets of the built site, a page of PDF for each chapter."""
    run(session, "python", "-m", "_config.course.sheets")


@nox.session
def figures(session: nox.Session) -> None:
    """Pack the figures of the built site for slides, or those of the pages named, as in `-- masks`."""
    run(session, "python", "-m", "_config.course.figures", *session.posargs)


@nox.session
def formats(session: nox.Session) -> None:
    """Build the site with links to its files, make them (PDF, EPUB), and open each as its reader does.

    With names, as in `-- masks`, only the PDF of these pages is made.
    """
    make_formats(session, *session.posargs)
    if not session.posargs:
        run(session, "pytest", "tests/formats")


@nox.session
def languages(session: nox.Session) -> None:
    """Build the translations in `docs/languages`, and the pages that lead to them.

    With `-- --renew FILE ...`, note that these pages say what their originals say now.
    """
    if session.posargs[:1] == ["--renew"]:
        run(session, "python", "_config/bookproof", "translations", *session.posargs[1:])
        return
    make_languages(session)


def make_languages(session: nox.Session, *options: str) -> None:
    """Build the site, each translation in a folder of it, and the site again, which leads there."""
    build = ["sphinx-build", "--quiet", *options]
    run(session, *build, *sphinx_arguments(SITE))
    for source in sorted(Path("docs", "languages").iterdir()):
        code, _, region = source.name.partition("-")
        tongue = (
            f"--define=language={code}_{region.upper()}" if region else f"--define=language={code}"
        )
        run(session, *build, tongue, *sphinx_arguments(SITE / source.name, source))
    run(session, *build, *sphinx_arguments(SITE))


def make_formats(session: nox.Session, *pages: str) -> None:
    """Build the site with links to its files, and make all of them or those of some pages."""
    make_languages(session, "--tag=files")
    run(session, "python", "-m", "_config.formats", *pages)


@nox.session
def release(session: nox.Session) -> None:
    """Build the files of an edition in `_build/release`, then tag it and push the tag.

    With `-- --dry-run`, do all but the last: nothing leaves this machine.
    """
    if wrong := [word for word in session.posargs if word != "--dry-run"]:
        session.error(f"A release takes --dry-run or nothing; got {wrong[0]!r}")
    steps = "_config/release.py"
    run(session, "python", steps, "check")
    make_formats(session)
    run(session, "python", steps, "make")
    if session.posargs:
        print("\nA dry run ends here. Without --dry-run, the edition is tagged and pushed.")
    else:
        run(session, "python", steps, "publish")


@nox.session
def archive(session: nox.Session) -> None:
    """Put the sites of editions side by side in `_build/public`, as in `-- past/*.tar.gz`."""
    run(session, "python", "_config/release.py", "archive", *session.posargs)


@nox.session
def verify(session: nox.Session) -> None:
    """Run every check of the book, and print what holds and what differs."""
    run(session, "python", "-m", "selfattn_book", "verify", *session.posargs)


@nox.session
def why(session: nox.Session) -> None:
    """Print which parts of a page's key have changed since the last build, as in `-- masks`."""
    run(session, "python", "_config/bookproof", "why", *session.posargs)


@nox.session
def portability(session: nox.Session) -> None:
    """Verify pages and run tests in the arithmetic of other machines, and print what differs (an hour).

    With `-- --quick`, two machines run the pages and tests that take seconds (minutes).
    """
    run(session, "python", "tests/portability.py", *session.posargs)


@nox.session
def reseed(session: nox.Session) -> None:
    """Verify all pages with every seed shifted, and keep which checks held (half an hour).

    With `-- 6000 7000`, the seeds are shifted by these numbers.
    """
    record = ROOT / "_config" / "reseeded.json"
    for first in session.posargs or ["1000", "2000", "3000", "4000", "5000"]:
        verify = ["-m", "selfattn_book", "verify", "--jobs", "2"]
        moved = ["--first-seed", first, "--record", str(record)]
        run(session, "python", *verify, *moved, codes=(0, 1))
    run(session, "python", "_config/bookproof", "reseeded", record)


@nox.session
def mutate(session: nox.Session) -> None:
    """Change the taught code in small ways, and report the changes that no test notices (minutes).

    With `-- masks measure`, change these modules and folders.
    """
    run(session, "python", "tests/mutate.py", *session.posargs)


@nox.session
def retrain(session: nox.Session) -> None:
    """Train the language model again, as in `-- --seed 3`, and compare it (ten minutes)."""
    run(session, "python", "tests/retrain.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Time the code of the book beside other implementations, and compare with the targets (minutes)."""
    run(session, "python", "-m", "benchmarks", *session.posargs)


if __name__ == "__main__":
    nox.main()
