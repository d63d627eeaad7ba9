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
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import selfattn_book
from _config.course.wire import Items, Wire
from selfattn_book.exercises.checking.exercise import Exercise
from selfattn_book.exercises.checking.variants import checked_id
from selfattn_book.properties.answer import Answer, RefusedError

if TYPE_CHECKING:
    from _config.course.weeks import Week

SECONDS, ALL_SECONDS = 60, 240  # of one cell or call, and of a whole notebook
HERE = Path(__file__).parent
CONFINED = "answering.py", "confined.py", "wire.py"
STUDENT = re.compile(r"""^student_id\s*=\s*(["'])(.*?)\1""", re.MULTILINE)
CODE = re.compile(r"""\bdraw\(\s*(["'])(\w+)\1""")
KINDS = "exception", "dtype"  # of no, as the other process may say


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


def grade(notebook: Path, week: "Week", code: str, student: str | None = None) -> Graded:
    """Grade a notebook, whatever is in it.

    Args:
        notebook: the file.
        week: its assignment.
        code: the week's code, from which numbers are drawn.
        student: whose numbers; by default those of the id in the notebook.

    Raises:
        RuntimeError: answers cannot be run on this machine at all.
    """
    graded = Graded("", "")
    try:
        cells = cells_of(notebook)
        found = identity(cells)
        graded = Graded(*found)
        exercises = week.checked(code, student or checked_id(found[0] or None))
    except ValueError as error:
        return Graded(graded.student, graded.code, nothing(week, code), [str(error)])
    with contextlib.ExitStack() as stack:
        answers = stack.enter_context(Answers(cells, [*exercises], graded.notes))
        for name, exercise in exercises.items():
            if answers.ended and answers.defined:  # it ended in the exercise before
                answers = stack.enter_context(Answers(cells, [*exercises], graded.notes))
            graded.results.extend(checked(exercise, answers.answer(name)))
    return graded


def cells_of(notebook: Path) -> list[str]:
    """Return the code cells of a notebook, or raise a ValueError."""
    try:
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
        return [cell if isinstance(cell, str) else "".join(cell) for cell in code]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        rule = "a submission must be a notebook of Jupyter"
        raise ValueError(f"{rule}; got {notebook.name}: {type(error).__name__}") from error


def identity(cells: list[str]) -> tuple[str, str]:
    """Return the id of the student, and the code of the week, as the last cells that have them say."""
    text = "\n".join(cells)
    ids, codes = STUDENT.findall(text), CODE.findall(text)
    try:
        student = checked_id(literal_eval("{0}{1}{0}".format(*ids[-1]))) if ids else ""
    except (ValueError, SyntaxError):
        student = ""
    return student, codes[-1][1] if codes else ""


def nothing(week: "Week", code: str) -> list[QuestionResult]:
    """Return the results of a notebook that cannot be graded."""
    missing = "this notebook cannot be graded"
    exercises = week.checked(code).values()
    return [result for x in exercises for result in checked(x, missing)]


def checked(exercise: Exercise, answer: Any) -> Iterator[QuestionResult]:
    """Yield the result of each question; an answer may be a sentence that says why there is none."""
    if isinstance(answer, str):
        for asked in exercise.questions:
            yield QuestionResult(exercise.name, asked.message, 0, asked.points, answer)
        return
    report = exercise(answer)
    for (asked, found), points in zip(report.results, report.earned, strict=True):
        said = " ".join(filter(None, [found.reason, found.misconception]))
        yield QuestionResult(exercise.name, asked.message, points, asked.points, said)


class Answers:
    """The process that runs a notebook, and the functions in it.

    Args:
        cells: of the notebook.
        names: of the exercises.
        notes: are appended to.
    """

    def __init__(self, cells: list[str], names: list[str], notes: list[str]):
        self.notes, self.ended, self.defined = notes, "", {}
        self.passed: dict[int, Any] = {}  # functions, iterators and lists, by their ids
        self.alive: dict[int, list[Any]] = {}  # items of iterators that are still in use there
        self.refused: RefusedError | None = None
        self.folder = tempfile.mkdtemp(prefix="answers-")
        self.start()
        with contextlib.suppress(RefusedError):
            defined = self.ask(cells=Items(cells), names=Items(names)).get("defined")
            self.defined = defined if isinstance(defined, dict) else {}

    def start(self) -> None:
        """Start the process, and wait until it is confined."""
        folder, package = Path(self.folder), str(Path(selfattn_book.__file__).parent)
        for name in CONFINED:
            shutil.copy(HERE / name, folder)
        settings = json.dumps([self.folder, package, ALL_SECONDS, SECONDS])
        places = dict.fromkeys(["HOME", "TMPDIR", "MPLCONFIGDIR", "IPYTHONDIR"], self.folder)
        threads = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
        kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
        errors = folder / "errors"
        with errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-B", folder / "answering.py", settings],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**kept, **places, **threads, "MPLBACKEND": "agg", "LANG": "C.UTF-8"},
                start_new_session=True,
            )
        why = f"the notebook did not finish within {ALL_SECONDS} seconds"
        self.timer = Timer(ALL_SECONDS, self.kill, [why])
        self.timer.daemon = True
        pipes = self.process.stdout, self.process.stdin
        self.wire = Wire(*pipes, self.pass_on, value_of)
        try:
            lacking = self.wire.receive()["ready"]
        except EOFError:
            said = errors.read_text("utf-8", "replace")
            self.close()
            raise RuntimeError(f"answers cannot be run on this machine: {said}") from None
        self.timer.start()
        self.note(lacking)

    def __enter__(self) -> "Answers":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        is_callable = self.defined.get(name)
        if is_callable is None:
            return f"nothing of the name {name} is defined."
        return Function(self, name) if is_callable else f"{name} must be a function."

    def ask(self, **request: Any) -> dict[str, Any]:
        """Return the reply to a request; what is asked back in between is answered."""
        if self.ended:
            raise RefusedError(Answer("exception", self.ended))
        try:
            self.wire.send(**request)
            while True:
                reply = self.wire.receive()
                if "notes" in reply:
                    self.note(reply["notes"])
                    return reply
                self.wire.send(**self.asked_back(reply))
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
            items = self.alive.setdefault(reply["next"], [])
            alive = {*reply["alive"]}
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

    def pass_on(self, value: Any) -> dict[str, Any]:
        """Return what the process gets for a function, an iterator or a list.

        A list is passed once, and keeps its identity there: a cache is the same list in each step.
        """
        key = id(value)
        is_new = key not in self.passed
        self.passed[key] = value
        if isinstance(value, list):
            return {"list": (key, Items(value) if is_new else None)}
        if isinstance(value, Iterator):
            return {"iterator": key}
        if callable(value):
            return {"callable": key}
        raise TypeError(f"an argument must be of numbers, texts or functions; got {type(value)}")


class Function:
    """A function of a notebook, which runs in the process of the notebook."""

    def __init__(self, answers: Answers, name: str):
        self.answers, self.name = answers, name

    def __call__(self, *args: Any) -> Any:
        seed = int(torch.randint(1 << 31, ()))
        reply = self.answers.ask(call=self.name, args=args, seed=seed)
        if refused := self.answers.refused:
            self.answers.refused = None
            raise refused
        if "error" in reply:
            kind, reason = reply["error"]
            kind = kind if kind in KINDS else "exception"
            raise RefusedError(Answer(kind, " ".join(str(reason).split())[:500]))
        for before, after in zip(args, reply["after"], strict=True):
            if isinstance(before, list) and isinstance(after, list):
                before[:] = after
            elif isinstance(before, Tensor) and before.shape == after.shape:
                before.copy_(after)
        return reply["value"]


def value_of(value: dict[str, Any]) -> Any:
    """Return a number, items, or something that has but the name of a type."""
    [(kind, plain)] = value.items()
    return type(str(plain)[:40], (), {})() if kind == "other" else plain
