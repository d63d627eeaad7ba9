"""The environment as a stranger's first command makes it: a line a step, and one message if it fails."""

import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from _config import environment


class Pip:
    """Replace pip and venv: record the calls, and fail for the packages in `fails`."""

    def __init__(self, folder):
        self.folder, self.done, self.fails = folder, [], {}

    def make(self, folder, *, with_pip, clear):
        assert (with_pip, clear) == (True, True)
        self.done.append("venv")
        self.folder.mkdir(exist_ok=True)
        (self.folder / "pins").unlink(missing_ok=True)

    def run(self, command, *, stdout, **options):
        name = Path(command[-1]).name
        assert [word for word in command if "index-url" in word] == (
            environment.SMALL_BUILD if name == "torch.txt" else []
        )
        assert ("--require-hashes" in command) != ("--no-index" in command), (
            "digests, or no fetching"
        )
        self.done.append(name)
        end = self.fails.get(name, 0)
        stdout.write("Looking around\nERROR: no such thing\n" if end else "Found it\n")
        if end is KeyboardInterrupt:
            raise end
        return subprocess.CompletedProcess(command, end)

    def goes_on(self):
        self.fails = {}
        environment.make_environment()
        assert self.done.count("venv") == 1
        assert self.done[-1] == STEPS[-1]


@pytest.fixture
def pip(tmp_path, monkeypatch):
    """A folder without an environment, in which nothing is fetched."""
    stand_in = Pip(tmp_path / "book")
    monkeypatch.setattr(environment, "ENVIRONMENT", stand_in.folder)
    monkeypatch.setattr(environment, "STAMP", stand_in.folder / "pins")
    monkeypatch.setattr(environment, "LOG", tmp_path / "install.log")
    monkeypatch.setattr(environment.venv, "create", stand_in.make)
    monkeypatch.setattr(environment.subprocess, "run", stand_in.run)
    return stand_in


STEPS = ["pip.txt", "torch.txt", "constraints.txt", ".[book,dev]"]
WHOLE = ["venv", *STEPS]


def test_it_is_made_once_in_a_line_a_step(pip, capsys):
    environment.make_environment()
    environment.make_environment()
    assert pip.done == WHOLE
    head, *steps = capsys.readouterr().out.splitlines()
    assert head.startswith("Making the book's environment in .nox/book")
    assert [line.split(":")[0] for line in steps] == [f"  {n} of 4" for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("fails", [{}, {STEPS[-1]: 1}], ids=["whole", "half-made"])
def test_it_is_made_anew_when_the_pins_change(pip, monkeypatch, fails):
    pip.fails = fails
    with pytest.raises(SystemExit) if fails else nullcontext():
        environment.make_environment()
    pip.fails = {}
    monkeypatch.setattr(environment, "pins", lambda: "others")
    environment.make_environment()
    assert pip.done == WHOLE * 2


@pytest.mark.parametrize("failing", STEPS)
def test_a_failure_is_one_message_and_the_next_try_goes_on(pip, capsys, failing):
    pip.fails[failing] = 3
    with pytest.raises(SystemExit) as end:
        environment.make_environment()
    said = str(end.value)
    assert said.startswith("The book's environment must be complete before anything")
    assert "pip ended with exit code 3:\n\n  " in said
    assert "  Looking around\n  ERROR: no such thing\n\n" in said
    assert said.endswith("Run the same command again; it goes on from here.")
    assert "ERROR" not in capsys.readouterr().out
    pip.goes_on()


@pytest.mark.parametrize("step", STEPS)
def test_ctrl_c_ends_quietly_and_the_next_try_goes_on(pip, capsys, step):
    pip.fails[step] = KeyboardInterrupt
    with pytest.raises(SystemExit) as end:
        environment.make_environment()
    assert end.value.code == 130
    said = capsys.readouterr().out
    assert said.endswith("\nStopped. Run the same command again; it goes on from here.\n")
    pip.goes_on()
