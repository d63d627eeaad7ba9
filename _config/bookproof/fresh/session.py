"""One build from its first event to its last: alone, on an empty site if asked, and remembered."""

import os
import shutil
from importlib.metadata import distributions
from pathlib import Path

from filelock import FileLock, Timeout
from sphinx.application import Sphinx
from sphinx.config import Config

from .keys import digest, fingerprint
from .messages import fail, report
from .parts import Parts

PATIENCE = 600  # seconds to wait for another build
TOOLS = {".py", ".bib", ".html", ".txt", ".po"}  # with a change in these, every page is read again
ENGINE = Path(__file__).parents[1]


class Session:
    """What a build knows of the one before it."""

    trusted: bool  # whether the pages of the last build may stay
    tools: Parts  # what decides how pages are made

    def begin(self, app: Sphinx, config: Config) -> None:
        """Wait for any other build, and see whether the last one came to a good end."""
        kept = Path(config.nb_execution_cache_path or app.outdir.parent / ".jupyter_cache")
        self.wait(kept)
        if config.bookproof_fresh:
            empty(app, kept)
        # After a build that was stopped, or that warned, no page is trusted: it may be
        # half made, and the warning has to come again.
        self.unfinished = app.doctreedir / "unfinished"
        self.trusted = not self.unfinished.exists()
        if not self.trusted:  # a static file may be half copied
            shutil.rmtree(app.outdir / "_static", ignore_errors=True)
        app.doctreedir.mkdir(parents=True, exist_ok=True)
        self.unfinished.touch()
        self.tools = tool_parts(Path(app.confdir))

    def wait(self, kept: Path) -> None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        self.lock = FileLock(kept.with_name(f"{kept.name}.lock"))
        try:
            self.lock.acquire(timeout=0)
        except Timeout:
            report(f"Another build is at work in {kept.parent}; waiting for it.")
            try:
                self.lock.acquire(timeout=PATIENCE)
            except Timeout:
                fail(f"After {PATIENCE} s, another build still holds {self.lock.lock_file}.")

    def end(self, app: Sphinx, error: Exception | None) -> None:
        """Note that the build came to a good end, if it did."""
        if error is None and not app._warncount:
            self.unfinished.unlink()
        self.lock.release()


def empty(app: Sphinx, kept: Path) -> None:
    if any(app.outdir.iterdir()) and not (app.outdir / ".buildinfo").exists():
        fail(f"{app.outdir} holds something else than a site; it is not emptied.")
    for folder in (kept, app.outdir, app.doctreedir):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)


def tool_parts(config: Path) -> Parts:
    """Return a digest of what is installed, and one of each file that decides how pages are made."""
    installed = sorted(found.read_text("METADATA") or "" for found in distributions())
    files = {file for folder in (config, ENGINE) for file in folder.rglob("*")}
    named = {f"tool {os.path.relpath(file)}": file for file in files if file.suffix in TOOLS}
    digests = {name: fingerprint(file) for name, file in sorted(named.items())}
    return {"the installed packages": digest(installed), **digests}
