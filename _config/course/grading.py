"""Grade one notebook: the answers run in a confined process, the checks in this one."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from ast import literal_eval
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any

import torch
from torch import Tensor

import selfattn_book
from _config.course.wire import Wire
from selfattn_book.exercises.checking.exercise import Exercise, Report
from selfattn_book.exercises.checking.variants import checked_id
from selfattn_book.properties.answer import Answer, RefusedError

SECONDS, ALL_SECONDS = 60, 240  # of one cell or call, and of a whole notebook
HERE = Path(__file__).parent
CONFINED = "answering.py", "confined.py", "wire.py"
STUDENT = re.compile(r"""^student_id\s*=\s*(["'])(.*?)\1""", re.MULTILINE)
CODE = re.compile(r"""\bdraw\(\s*(["'])(\w+)\1""")
KEPT = "SYSTEMROOT", "LD_LIBRARY_PATH"  # of the environment


@dataclass(frozen=True)
class QuestionResult:
    """What one question of an exercise has earned, and why not all."""

    exercise: str
    message: str
    points: float
    possible: float
    reason: str = ""


@dataclass(frozen=True)
class Graded:
    """The results of one notebook.

    Args:
        student: the id in the notebook, normalized; empty if there is none.
        code: the week code in the notebook; empty if there is none.
        results: one for each question that is checked.
        notes: cells that failed or were left out, attempts to cheat, what was not confined.
    """

    student: str
    code: str
    results: list[QuestionResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def points(self) -> float:
        """Return the points that were earned."""
        return sum(result.points for result in self.results)

    @property
    def possible(self) -> float:
        """Return the highest possible number of points."""
        return sum(result.possible for result in self.results)


def grade(
    notebook: Path, checked: Callable[..., dict[str, Exercise]], code: str, student: str = ""
) -> Graded:
    """Grade a notebook, whatever is in it, with a week's exercises for its student, or another."""
    graded = Graded("", "")
    try:
        cells = cells_of(notebook)
        graded = Graded(*identity(cells))
        exercises = checked(code, student or checked_id(graded.student or None))
    except ValueError as error:
        graded.notes.append(str(error))
        for exercise in checked(code).values():
            graded.results.extend(results(exercise, "this notebook cannot be graded"))
        return graded
    with contextlib.ExitStack() as stack:
        answers = None
        for name, exercise in exercises.items():
            if not answers or (answers.ended and answers.defined):  # or it ended in the one before
                made = Answers(cells, [*exercises], graded.notes)
                answers = stack.enter_context(contextlib.closing(made))
            graded.results.extend(results(exercise, answers.answer(name)))
    return graded


def cells_of(notebook: Path) -> list[str]:
    """Return the code cells of a notebook, or raise a ValueError."""
    try:
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        rule = "a submission must be a notebook of Jupyter"
        raise ValueError(f"{rule}; got {notebook.name}: {type(error).__name__}") from error


def identity(cells: list[str]) -> tuple[str, str]:
    """Return the id of the student and the code of the week, as the last cells with them say."""
    text = "\n".join(cells)
    ids, codes = STUDENT.findall(text), CODE.findall(text)
    student = ""
    with contextlib.suppress(ValueError, SyntaxError, IndexError):
        student = checked_id(literal_eval("{0}{1}{0}".format(*ids[-1])))
    return student, codes[-1][1] if codes else ""


def results(exercise: Exercise, answer: Any) -> Iterator[QuestionResult]:
    """Yield the result of each question; an answer may be a sentence that says why there is none."""
    if isinstance(answer, str):
        no = Answer("missing", answer)
        report = Report(exercise.name, [(asked, no) for asked in exercise.questions])
    else:
        report = exercise(answer)
    for (asked, found), points in zip(report.results, report.earned, strict=True):
        said = " ".join(filter(None, [found.reason, found.misconception]))
        if found and report.halved:
            said = f"It counts half, because of: {exercise.questions[exercise.gate].message}."
        yield QuestionResult(exercise.name, asked.message, points, asked.points, said)


class Answers:
    """The process that runs the cells of a notebook, and the functions in them; it adds to the notes."""

    def __init__(self, cells: list[str], names: list[str], notes: list[str]):
        self.notes, self.ended, self.defined = notes, "", {}
        self.passed: dict[int, Any] = {}  # functions, iterators and lists, by their ids
        self.alive: dict[int, list[Any]] = {}  # items of iterators that are still in use there
        self.refused: RefusedError | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="answers-"))
        self.process = self.started()
        self.wire = Wire(self.process.stdout, self.process.stdin, self.packed, unpacked)
        why = f"the notebook did not finish within {ALL_SECONDS} seconds"
        self.timer = Timer(ALL_SECONDS, self.kill, [why])
        try:
            self.note(self.wire.receive()["notes"])
        except EOFError:
            said = (self.folder / "errors").read_text("utf-8", "replace")
            self.close()
            raise RuntimeError(f"answers cannot be run on this machine: {said}") from None
        self.timer.start()
        with contextlib.suppress(RefusedError):
            defined = self.ask(cells=cells, names=names).get("defined")
            self.defined = defined if isinstance(defined, dict) else {}

    def started(self) -> "subprocess.Popen[bytes]":
        """Start the process in a folder of its own."""
        for name in CONFINED:
            shutil.copy(HERE / name, self.folder)
        folder, package = str(self.folder), str(Path(selfattn_book.__file__).parent)
        settings = json.dumps([folder, package, ALL_SECONDS, SECONDS])
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment |= dict.fromkeys(["HOME", "TMPDIR", "MPLCONFIGDIR", "IPYTHONDIR"], folder)
        environment |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "LANG": "C.UTF-8"}
        with (self.folder / "errors").open("wb") as errors:
            return subprocess.Popen(
                [sys.executable, "-I", "-B", self.folder / "answering.py", settings],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )

    def close(self) -> None:
        """End the process, and remove its folder."""
        self.timer.cancel()
        self.kill("")
        with contextlib.suppress(OSError), self.process:
            pass  # closes its pipes, and waits for it
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self, why: str) -> None:
        """End the process with all that it has started."""
        self.ended = self.ended or why
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()

    def note(self, notes: Any) -> None:
        """Keep what the process says, once."""
        new = [str(note)[:300] for note in notes]
        self.notes += [note for note in new if note not in self.notes][: 30 - len(self.notes)]

    def answer(self, name: str) -> Any:
        """Return the function of an exercise, or a sentence why there is none."""
        if self.ended:
            return self.ended
        if name not in self.defined:
            return f"nothing of the name {name} is defined."
        return partial(self.call, name) if self.defined[name] else f"{name} must be a function."

    def call(self, name: str, *args: Any) -> Any:
        """Call a function of the notebook; arguments that it changes are changed here, too."""
        sent = [self.listed(x) if isinstance(x, list) else x for x in args]
        reply = self.ask(name=name, args=sent, seed=int(torch.randint(1 << 31, ())))
        if refused := self.refused:
            self.refused = None
            raise refused
        if "error" in reply:
            kind, reason = reply["error"]
            reason = " ".join(str(reason).split())[:500]
            raise RefusedError(Answer("dtype" if kind == "dtype" else "exception", reason))
        for before, after in zip(args, reply["after"], strict=True):
            if isinstance(before, list):
                before[:] = after
            elif isinstance(before, Tensor) and before.shape == after.shape:
                before.copy_(after)
        return reply["value"]

    def ask(self, **request: Any) -> dict[str, Any]:
        """Return the reply to a request; what is asked back in between is answered."""
        if self.ended:
            raise RefusedError(Answer("exception", self.ended))
        try:
            self.wire.send(**request)
            while "notes" not in (reply := self.wire.receive()):
                self.wire.send(**self.asked_back(reply))
            self.note(reply["notes"])
            return reply
        except (EOFError, OSError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
            self.kill(f"the notebook ended its process (exit code {self.process.returncode})")
        except Exception as error:
            self.kill(f"the notebook broke the protocol of its process ({type(error).__name__})")
        self.note([self.ended])
        raise RefusedError(Answer("exception", self.ended))

    def asked_back(self, reply: dict[str, Any]) -> dict[str, Any]:
        """Call a function or advance an iterator that the process was given."""
        try:
            if "back" in reply:
                return {"value": self.passed[reply["back"]](*reply["args"], **reply["named"])}
            items, alive = self.alive.setdefault(reply["next"], []), {*reply["alive"]}
            items[:] = [item if i in alive else None for i, item in enumerate(items)]
            for item in self.passed[reply["next"]]:
                items.append(item)
                return {"item": item}
            return {}
        except RefusedError as refused:
            self.refused = refused
            return {"error": str(refused)}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}

    def kept(self, value: Any) -> int:
        """Keep a value that the process knows by its id."""
        self.passed[id(value)] = value
        return id(value)

    def listed(self, items: list[Any]) -> dict[str, Any]:
        """Return what the process gets for a list, which stays one list: a cache, in each step."""
        is_known = id(items) in self.passed
        return {"list": [self.kept(items), None if is_known else items]}

    def packed(self, value: Any) -> dict[str, Any]:
        """Return what the process gets for a function or an iterator."""
        if isinstance(value, Iterator):
            return {"iterator": self.kept(value)}
        if callable(value):
            return {"callable": self.kept(value)}
        raise TypeError(f"an argument must be of numbers, texts or functions; got {type(value)}")


def unpacked(value: dict[str, Any]) -> Any:
    """Return a dictionary, or an object that has but the name of a type."""
    return type(str(value["other"])[:40], (), {})() if value.keys() == {"other"} else value
