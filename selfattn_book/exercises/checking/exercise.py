"""An exercise in code as data: a reference program, wrong programs with a sentence each, cases."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import starmap
from textwrap import fill
from typing import Any, TypeVar

import torch

from selfattn_book.exercises.checking.numbers import COARSE
from selfattn_book.exercises.checking.results import (
    Case,
    Program,
    Results,
    Wrong,
    alike,
    difference,
    form_of,
    results_of,
)
from selfattn_book.experiments.seeding import shifted_seed
from selfattn_book.properties.answer import YES, Answer, Likely, RefusedError

WIDTH = 78  # letters in a line, as a page and a terminal show them
Cases = list[Any] | Callable[[], list[Any]]
Found = dict[int, dict[int, Results | Answer]]  # by the identities of a program and a case
T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """One requirement of an exercise.

    Args:
        message: the requirement, as in ``"each row sums to one"``.
        section: the section that explains it, as in ``"masks.html#the-causal-mask"``.
        points: the points for it.
        view: the part of a result that is compared, from the result and the case; all by default.
        cases: its cases, or functions that return them; the exercise's by default.
        via: makes the program that is compared from the answer, and from the reference program.
    """

    message: str
    section: str
    points: int = 1
    view: Program | None = None
    cases: Cases | None = None
    via: Callable[[Any], Program] | None = None


@dataclass(frozen=True, eq=False)
class Exercise:
    """What an answer must define, the reference program, and the misconceptions.

    Args:
        stub: the code that a student begins with: a function or class without its body.
        questions: the requirements, in the order in which a student should satisfy them.
        right: the reference program.
        wrong: a wrong program, or a tuple of them, by the sentence of their misconception; they may
            raise in some cases.
        cases: the arguments of each call, or a function that returns them; by default the cases of
            all questions.
        unusual: other right programs, by a short name, for the test.
        returns: the name of the result, or a tuple of names if a tuple is returned.
        tolerance: relative to the largest number.
        via: makes the program that is compared from an answer, where answers build modules.
        gate: the index of the question that the exercise is about; without it, the others count half.

    Example:
        >>> twice = Exercise(
        ...     "def twice(n): ...",
        ...     [Question("it doubles", "a.html#b")],
        ...     right=lambda n: 2.0 * n,
        ...     wrong={"It is squared.": lambda n: n**2},
        ...     cases=lambda: [(2,), (3,)],
        ... )
        >>> twice(lambda n: n + n)
        twice: 1 of 1 points
          yes  it doubles
        >>> twice(lambda n: n * n)
        twice: 0 of 1 points
          no   it doubles: called with 3, it gives 9, not 6. It is squared. Read again:
               a.html#b
    """

    stub: str
    questions: Sequence[Question]
    right: Program
    wrong: Wrong = field(default_factory=dict)
    cases: Cases = field(default_factory=list)
    unusual: Mapping[str, Program] = field(default_factory=dict)
    returns: str | tuple[str, ...] = "the result"
    tolerance: float = 1e-4
    via: Callable[[Any], Program] = lambda answer: answer
    gate: int | None = None

    @property
    def name(self) -> str:
        """Return the name of the function or class that an answer defines."""
        return self.stub.split("(")[0].split()[1]

    def __call__(self, answer: Any) -> "Report":
        """Check an answer."""
        if not callable(answer):
            rule = f"{self.name} must be callable"
            no = Answer("missing", f"{rule}; got {type(answer).__name__}.")
            return Report(self.name, [(asked, no) for asked in self.questions], self.gate)
        check = _Check(_known(self, torch.get_default_dtype(), shifted_seed(0)), answer)
        with torch.random.fork_rng(devices=[]):
            found = [(asked, _guarded(partial(check, asked))) for asked in self.questions]
        return Report(self.name, found, self.gate)

    def check(self, **answers: object) -> bool:
        """Print the report of an answer, and return whether it has all points."""
        if answers.keys() != {self.name}:
            rule = f"check takes an answer by name, as in check({self.name}={self.name})"
            raise TypeError(f"{rule}; got {', '.join(answers) or 'none'}.")
        report = self(answers[self.name])
        print(report)
        return bool(report)


@dataclass(frozen=True, repr=False)
class Report:
    """The questions with their answers; printed, one line for each question."""

    name: str
    results: Sequence[tuple[Question, Answer]]
    gate: int | None = None

    @property
    def halved(self) -> bool:
        """Tell whether the points count half, because the main question is missing."""
        return self.gate is not None and not self.results[self.gate][1]

    @property
    def earned(self) -> list[float]:
        """Return the points that the answer has earned, for each question."""
        part = 0.5 if self.halved else 1.0
        return [part * asked.points if answer else 0.0 for asked, answer in self.results]

    @property
    def points(self) -> float:
        """Return the points that the answer has earned."""
        return sum(self.earned)

    @property
    def possible(self) -> int:
        """Return the highest possible number of points."""
        return sum(asked.points for asked, _ in self.results)

    def __bool__(self) -> bool:
        """Return whether the answer has all points."""
        return self.points == self.possible

    def __repr__(self) -> str:
        """Return the report in words; a reason common to several questions is given once."""
        lines, given = [f"{self.name}: {self.points:g} of {self.possible} points"], set()
        for asked, answer in self.results:
            worth = f" ({asked.points} points)" if asked.points > 1 else ""
            if answer:
                lines.append(f"  yes  {asked.message}{worth}")
                continue
            new = [
                part for part in (answer.reason, answer.misconception) if part and part not in given
            ]
            why = f"{' '.join(new)} Read again: {asked.section}" if new else "as above"
            given.update(new)
            lines.append(f"  no   {asked.message}{worth}: {why}")
        if self.gate is not None and self.halved and self.points:
            lines.append(f"  half the points, because of: {self.results[self.gate][0].message}")
        return "\n".join(
            fill(line, WIDTH, subsequent_indent=7 * " ", break_on_hyphens=False) for line in lines
        )


for_credit = partial(Exercise, tolerance=1e-5)  # closer than for learners


def factory(program: Program) -> Callable[..., Program]:
    """Return the function that fixes the first arguments and the options of a program.

    Example:
        >>> @factory
        ... def multiplied(factor, n, *, plus=0):
        ...     return factor * n + plus
        >>> multiplied(3)(2), multiplied(3, plus=1)(2)
        (6, 7)
    """
    return partial(partial, program)


def checked(message: str, section: str, points: int, *cases: Any) -> Question:
    """Return a question that compares all of the result in these cases."""
    return Question(message, section, points, cases=[*cases])


def form(result: Any, *case: Any) -> torch.Tensor:
    """View nothing of a result, so that only its shape and dtype are compared."""
    return torch.zeros(())


def cases_of(cases: Cases) -> list[Case]:
    """Return a list of cases; functions are called, in the dtype and with the seed of now."""
    return [x() if callable(x) else x for x in (cases() if callable(cases) else cases)]


def programs_of(wrong: Program | tuple[Program, ...]) -> tuple[Program, ...]:
    """Return the wrong programs of one misconception."""
    return wrong if isinstance(wrong, tuple) else (wrong,)


class _Known:
    """The cases of an exercise, its programs, and their results, which are the same for all answers."""

    def __init__(self, exercise: Exercise):
        self.exercise = exercise
        asked = exercise.questions
        self.own = {id(q): cases_of(q.cases) for q in asked if q.cases is not None}
        self.cases = cases_of(exercise.cases) or [case for own in self.own.values() for case in own]
        self.right = exercise.via(exercise.right)
        self.via = {id(q): q.via(exercise.right) for q in asked if q.via}
        self.wrong = {
            sentence: [(program, exercise.via(program)) for program in programs_of(programs)]
            for sentence, programs in exercise.wrong.items()
        }
        made = [program for pairs in self.wrong.values() for _, program in pairs]
        self.found: Found = {id(p): {} for p in (self.right, *self.via.values(), *made)}


@lru_cache(maxsize=32)
def _known(exercise: Exercise, dtype: torch.dtype, seed: int) -> _Known:
    """Return what is known of an exercise, in a dtype and from a first seed."""
    return _Known(exercise)


class _Check:
    """Compare one answer with the programs of an exercise; each program runs once a case."""

    def __init__(self, known: _Known, answer: Program):
        self.known, self.exercise, self.answer = known, known.exercise, answer
        self.cases, self.right, self.wrong = known.cases, known.right, known.wrong
        self.program = self.exercise.via(answer)
        self.found: Found = defaultdict(dict)
        self.made: list[Program] = []

    def __call__(self, asked: Question) -> Answer:
        cases = self.known.own.get(id(asked), self.cases)
        via, answer, right = asked.via, self.program, self.right
        if via:
            answer, right = self._keep(via(self.answer)), self.known.via[id(asked)]
        nos = (no for case in cases if not (no := self._compared(asked, answer, right, case)))

        def all_alike(program: Program, wrong: Program) -> bool:
            if not self._all_alike(wrong):
                return False
            if not via:
                return True
            other = self._keep(via(program))
            return all(self._alike(answer, other, case) for case in cases)

        likely = self._likely(all_alike)
        if not via:
            likely += self._likely(lambda program, wrong: self._explains(wrong, cases))
        return next(nos, YES).because(*likely)

    def _keep(self, program: Program) -> Program:
        """Keep a program that was made, and so its identity, as long as its results are kept."""
        self.made.append(program)
        return program

    def _compared(self, asked: Question, answer: Program, right: Program, case: Case) -> Answer:
        """Compare the answer with the reference program in one case."""
        exercise, got = self.exercise, self._results(answer, case)
        if isinstance(got, Answer):
            return got
        wanted = self._results(right, case)
        if isinstance(wanted, Answer):
            raise RuntimeError(f"the reference program must have a result; got {wanted}")
        no = form_of(got, wanted, case, exercise.returns)
        slack = max(exercise.tolerance, *(COARSE.get(x.dtype, 0) for x in got))
        if no and asked.view:
            got, wanted = (self._viewed(asked.view, x, case) for x in (got, wanted))
        return no and difference(got, wanted, case, slack)

    def _viewed(self, view: Program, results: Results, case: Case) -> Results:
        result = results[0] if isinstance(self.exercise.returns, str) else results
        return (torch.as_tensor(view(result, *case)),)

    def _likely(self, explains: Callable[[Program, Program], bool]) -> list[Likely]:
        """Return each misconception beside the test whether its program explains the results."""
        return [
            (sentence, lambda programs=programs: any(starmap(explains, programs)))  # type: ignore[misc]
            for sentence, programs in self.wrong.items()
        ]

    def _all_alike(self, wrong: Program) -> bool:
        """Return whether a wrong program gives the results of the answer, in all cases."""
        failures_first = sorted(self.cases, key=partial(self._alike, self.program, self.right))
        alike = all(self._alike(self.program, wrong, case) for case in failures_first)
        return alike and any(isinstance(self._results(wrong, c), tuple) for c in self.cases)

    def _explains(self, wrong: Program, cases: Sequence[Case]) -> bool:
        """Return whether it does so in some cases, and is right wherever the answer is."""
        gives = (
            isinstance(self._results(wrong, c), tuple) and self._alike(self.program, wrong, c)
            for c in cases
        )
        return all(gives) and not any(
            self._alike(self.program, self.right, c) and not self._alike(wrong, self.right, c)
            for c in self.cases
        )

    def _alike(self, one: Program, other: Program, case: Case) -> bool:
        """Return whether two programs give the same results in a case."""
        pair = self._results(one, case), self._results(other, case)
        return alike(*pair, self.exercise.tolerance)

    def _results(self, program: Program, case: Case) -> Results | Answer:
        """Return the results of a program, or the answer with the reason why there are none."""
        kept = self.known.found.get(id(program), self.found[id(program)])
        if id(case) not in kept:
            kept[id(case)] = _guarded(partial(results_of, program, case, self.exercise.returns))
        return kept[id(case)]


def _guarded(run: Callable[[], T]) -> T | Answer:
    """Return a result, or the answer with the reason why there is none."""
    try:
        return run()
    except RefusedError as refused:
        return refused.answer
    except (Exception, SystemExit) as error:
        message = " ".join(str(error).split()) or "no message"
        return Answer("exception", f"{type(error).__name__}: {message}.")
