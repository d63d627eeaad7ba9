"""Answers are forked from one process, each for itself; where nothing can be forked, each is started."""

import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from selfattn_book.course import warm
from selfattn_book.course.sandbox import Limits, run

PRINTS = "import os\nprint(os.getppid(), os.getcwd())\n"


@pytest.fixture
def asked(tmp_path):
    """Return a function that runs an answer to the exercises of *Masks*."""

    def ask(text, name="answer.py", **limits):
        file = tmp_path / name
        file.write_text(text, "utf-8")
        return run("masks", file, Limits(**limits))

    return ask


def server():
    (found,) = warm._running
    return found


def test_answers_share_a_server_and_nothing_else(asked):
    marks = "import math\nprint(hasattr(math, 'mine'))\nmath.mine = 1\n"
    first = asked(marks + PRINTS).printed.split()
    pid = server().pid
    second = asked(marks + PRINTS).printed.split()
    assert server().pid == pid
    assert first[0] == second[0] == "False"
    assert len({first[1], second[1], str(pid)}) == 3  # each has a keeper of its own
    assert first[2] != second[2]


def test_answers_run_beside_each_other(asked):
    texts = [f"import time\ntime.sleep(1)\nprint({n})\nx = 1 / 0" for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(asked, texts, [f"{n}.py" for n in range(4)]))
    assert [one.printed for one in found] == ["0\n", "1\n", "2\n", "3\n"]
    assert all("in line 4 with ZeroDivisionError" in one.stopped for one in found)


def test_an_answer_that_ends_its_keeper_or_the_server_harms_no_other(asked):
    ends = "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)\n"
    assert "SIGKILL" in asked(ends).stopped
    os.kill(server().pid, signal.SIGKILL)
    server().wait()
    assert "in line 3 with SystemExit" in asked("\n\nexit()").stopped


def test_an_answer_learns_no_more_of_the_machine_than_before(asked, monkeypatch):
    asked("")
    pid = server().pid
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setenv("LANG", "C.UTF-8" if os.environ.get("LANG") == "C" else "C")
    tells = "import os\nprint(os.environ.get('TOKEN'), os.environ['LANG'])\n"
    opened = "print(*[n for n in os.listdir('/proc/self/fd') if int(n) > 3])\n"
    printed = asked(tells + opened).printed.splitlines()
    assert printed[0] == f"None {os.environ['LANG']}"
    assert server().pid != pid  # with another environment, it is another one
    assert printed[1] == ""  # no door that an answer could knock at


def test_where_nothing_can_be_forked_each_answer_is_started(asked, monkeypatch):
    monkeypatch.setattr(warm, "CAN_FORK", False)
    right = "print(__import__('os').getppid())\ndef window_mask(length, width): ..."
    outcome = asked(right)
    assert outcome.printed == f"{os.getpid()}\n"
    assert outcome.results[0]["points"] == 0


def test_an_answer_that_ends_as_it_is_killed_is_no_error():
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as ended:
        pass  # its keeper has seen it, and has not told yet
    ours, keeper = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with keeper, open(os.devnull, "rb") as printed:
        keeper.send(str(ended.pid).encode())
        fork = warm.Fork(ours, printed)
        fork.kill()
        keeper.send(b"3")
        assert fork.wait(1) == 3
