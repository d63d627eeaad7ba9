"""Start ranks as processes, and record their output and that of their launcher.

``python -m benchmarks.launched`` writes ``selfattn_book/data/recorded_ranks.json``, which the
chapter *Distributed training* shows, since a page starts no programs.
"""

import json
import os
import platform
import re
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks.provenance import as_json, with_digest
from selfattn_book.experiments import checkpoint
from selfattn_book.experiments.recorded_ranks import FILE

LAUNCHER = ["torch.distributed.run", "--standalone", "--nproc-per-node"]
TRAIN = "selfattn_book.experiments.train_ranks"
PATIENCE = 300  # seconds until everything that was started is ended


def launch(module: str, *options: str, ranks: int) -> dict[str, Any]:
    """Run a module on several ranks, or on one without a launcher, and end all processes.

    Returns:
        The exit ``code``; the output of the ranks, ``said``, line by line; and the ``root_cause``:
        the rank that the launcher names after a failure, and that rank's exit code.
    """
    launcher = [*LAUNCHER, str(ranks), "-m"] if ranks > 1 else []
    process = subprocess.Popen(
        [sys.executable, "-m", *launcher, module, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        start_new_session=True,  # so that they can be ended together
    )
    try:
        said, _ = process.communicate(timeout=PATIENCE)
    finally:
        with suppress(ProcessLookupError):  # all have ended, as they should
            os.killpg(process.pid, signal.SIGKILL)
    # Without paths, ports, and gloo's advice.
    kept = re.findall(r"^(?:The training failed|\d+ ranks?,|\{).*", said, re.MULTILINE)
    kept = [re.sub(r"\[/\S+\] | \[[\d.:]+\]:\d+", "", line) for line in kept]
    kept = [line.partition(" This is typically")[0] for line in kept]
    message = said.partition("Root Cause (first observed failure)")[2]
    found = re.search(r"rank\s*: (\d+).*?exitcode\s*: (-?\d+)", message, re.DOTALL)
    cause = [int(number) for number in found.groups()] if found else []
    return {"code": process.returncode, "said": kept, "root_cause": cause}


def record() -> dict[str, Any]:
    """Run the commands of the chapter, and return their results."""
    with TemporaryDirectory() as folder:
        file = f"--checkpoint={folder}/ranks.pt"
        runs = {
            "alone": launch(TRAIN, ranks=1),
            "two ranks": launch(TRAIN, ranks=2),
            "three ranks": launch(TRAIN, ranks=3),
            "a rank dies": launch(TRAIN, file, "--leave-at=40", ranks=2),
        }
        kept = len(checkpoint.load(f"{folder}/ranks.pt")["losses"])
        runs["one goes on"] = launch(TRAIN, file, ranks=1)
        hung = ("--leave-at=40", "--silent", "--wait=5")
        runs["a rank hangs"] = launch(TRAIN, *hung, ranks=2)
    measured = json.loads(launch("benchmarks.as_rank", ranks=2)["said"][-1])
    steps = [launch("benchmarks.as_rank", "--time", ranks=ranks)["said"] for ranks in (1, 2)]
    alone, two = (json.loads(said[-1]) for said in steps)
    measured |= {"step alone": alone, "step of two": two["step"]}
    return {
        "made": {
            "torch": torch.__version__,
            "python": platform.python_version(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "date": datetime.now(UTC).date().isoformat(),
        },
        "runs": runs,
        "kept": kept,
        "measured": measured,
    }


if __name__ == "__main__":
    FILE.write_text(as_json(with_digest(record())), "utf-8")
