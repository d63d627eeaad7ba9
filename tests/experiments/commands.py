"""What the tests of the training commands share."""

import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from selfattn_book.experiments import checkpoint


@contextmanager
def restored_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def history(file):
    return checkpoint.load(file)["history"]


def files():
    return {path.name for path in Path().iterdir() if path.suffix != ".part"}


def refusal(main, capsys, *options):
    """Return the exit code of a command, and the last line of its message."""
    with pytest.raises(SystemExit) as stopped:
        main(list(options))
    if isinstance(stopped.value.code, str):  # Python prints it, and returns 1
        return 1, stopped.value.code.strip()
    return stopped.value.code, capsys.readouterr().err.splitlines()[-1]


def stop(command, file, name, epochs):
    """Start a training, send it a signal after some epochs, and return its code and errors."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # The background job of a shell ignores SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not Path(file).exists() or len(history(file)["train"]) < epochs:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.001)
    process.send_signal(getattr(signal, name))
    err = process.communicate()[1]
    return process.returncode, err
