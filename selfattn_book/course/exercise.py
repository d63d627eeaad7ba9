"""An exercise in code: what an answer must define, and what is asked of it, point by point."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from selfattn_book.reasons.answer import Answer, question

WIDTH = 78  # letters in a line, as a page and a terminal show them


@dataclass(frozen=True)
class Asked:
    """One thing that an answer must do.

    Args:
        told: it in words, as in ``"each row sums to one"``.
        ask: given the answer, says yes, or no with a reason and the likely misconception.
        reread: the section that explains it, as in ``"masks.html#the-equation"``.
        points: what it is worth.
    """

    told: str
    ask: Callable[[Any], Answer]
    reread: str
    points: int = 1


@dataclass(frozen=True)
class Exercise:
    """What an answer must define, and what is asked of it.

    Args:
        name: of the function or class that the answer defines.
        stub: what a student begins with.
        questions: in the order in which a student should mend what is wrong.

    Example:
        >>> doubles = Answer("mathematics", "twice 3 is 6; got 9.")
        >>> ask = lambda f: Answer("yes") if f(3) == 6 else doubles
        >>> twice = Exercise("twice", "def twice(n): ...", [Asked("twice 3 is 6", ask, "a.html#b")])
        >>> twice(lambda n: 2 * n)
        twice: 1 of 1 points
          yes  twice 3 is 6
        >>> twice(lambda n: n * n)
        twice: 0 of 1 points
          no   twice 3 is 6: twice 3 is 6; got 9. Read again: a.html#b
        >>> twice(lambda n: n / "2").points
        0
    """

    name: str
    stub: str
    questions: Sequence[Asked]

    def __call__(self, answer: object) -> "Report":
        """Ask an answer everything."""
        if not callable(answer):
            rule = f"{self.name} must be something to call"
            no = Answer("missing", f"{rule}; got {type(answer).__name__}.")
            return Report(self.name, [(asked, no) for asked in self.questions])
        return Report(
            self.name, [(asked, _ask(asked, answer)) for asked in self.questions]
        )


@dataclass(frozen=True, repr=False)
class Report:
    """What an answer was asked, and what came of it; printed, it is one line for each question."""

    name: str
    results: Sequence[tuple[Asked, Answer]]

    @property
    def points(self) -> int:
        """Return the points that the answer has earned."""
        return sum(asked.points for asked, answer in self.results if answer)

    @property
    def possible(self) -> int:
        """Return the points that there are."""
        return sum(asked.points for asked, _ in self.results)

    def __bool__(self) -> bool:
        """Tell whether nothing is wrong."""
        return self.points == self.possible

    def __repr__(self) -> str:
        """Say it in words; one reason that stands for several questions is given once."""
        lines, told = (
            [f"{self.name}: {self.points} of {self.possible} points"],
            set(),
        )
        for asked, answer in self.results:
            if answer:
                lines.append(f"  yes  {asked.told}")
                continue
            reason = " ".join(filter(None, [answer.reason, answer.misconception]))
            why = (
                "as above"
                if reason in told
                else f"{reason} Read again: {asked.reread}"
            )
            told.add(reason)
            lines.append(f"  no   {asked.told}: {why}")
        return "\n".join(
            fill(line, WIDTH, subsequent_indent=7 * " ", break_on_hyphens=False)
            for line in lines
        )


def checker(exercises: Sequence[Exercise]) -> Callable[..., bool]:
    """Return what a page hands its readers: a check of answers by name.

    Example:
        >>> always = Asked("it can be called", lambda f: Answer("yes"), "a.html#b")
        >>> check = checker([Exercise("twice", "def twice(n): ...", [always])])
        >>> check(twice=lambda n: 2 * n)
        twice: 1 of 1 points
          yes  it can be called
        True
        >>> check(thrice=lambda n: 3 * n)
        Traceback (most recent call last):
        TypeError: check takes an answer by name, as in check(twice=twice); got thrice.
    """
    by_name = {exercise.name: exercise for exercise in exercises}

    def check(**answers: object) -> bool:
        """Say what is right and what is wrong, and tell whether nothing is wrong."""
        if not answers or answers.keys() - by_name.keys():
            rule = f"check takes an answer by name, as in check({exercises[0].name}={exercises[0].name})"
            raise TypeError(f"{rule}; got {', '.join(answers) or 'none'}.")
        reports = [by_name[name](answer) for name, answer in answers.items()]
        print(*reports, sep="\n")
        return all(reports)

    return check


def _ask(asked: Asked, answer: object) -> Answer:
    """Ask one question; what stops the answer in any way is a no."""
    try:
        return question(asked.ask)(answer)
    except (Exception, SystemExit) as error:
        said = " ".join(str(error).split()) or "no message"
        return Answer("exception", f"{type(error).__name__}: {said}.")
