"""Every exercise in code: the reference passes, each wrong program is named, and others are refused."""

import ast
import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import torch
from course.weeks import chapters as credit_chapters
from course.weeks import week_of

from selfattn_book.exercises.checking.chapters import chapters, exercise_of
from selfattn_book.exercises.checking.exercise import programs_of
from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.exercises.checking.results import near, results_of
from selfattn_book.experiments.seeding import first_seed
from selfattn_book.properties.answer import RefusedError
from tests.book.pages import DOCS

CODE, STUDENTS = "a code", ("ada", "grace-42", "Émilie du Châtelet")
week_of = cache(week_of)


@pytest.fixture
def dtype(request):
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param)
    yield
    torch.set_default_dtype(before)


@cache
def exercises(chapter, student):
    """Return the exercises of a chapter, or of its assignment for a student."""
    if student is None:
        return [exercise_of(chapter)]
    return list(week_of(chapter).checked(CODE, student).values())


PLACES = [(chapter, None) for chapter in chapters()]
PLACES += [(chapter, student) for chapter in credit_chapters() for student in STUDENTS]
ALL = [
    pytest.param(exercise, id=f"{chapter}-{exercise.name}{f'-{student}' if student else ''}")
    for chapter, student in PLACES
    for exercise in exercises(chapter, student)
]


def programs(table):
    return [
        pytest.param(exercise, name, id=f"{param.id}-{name}")
        for param in ALL
        for exercise in param.values
        for name in getattr(exercise, table)
    ]


def said(report):
    """Return all that a report says of what is wrong, with the kinds of no."""
    nos = [answer for _, answer in report.results if not answer]
    return " ".join(f"{no.kind}: {no.reason} {no.misconception}" for no in nos)


def each(change):
    """Return a program that changes each result of another."""

    def of(program):
        def changed(*case):
            made = program(*case)
            if isinstance(made, torch.nn.Module):
                made.register_forward_hook(lambda module, inputs, output: change(output))
                return made
            if isinstance(made, dict):
                return {name: change(x) for name, x in made.items()}
            return tuple(map(change, made)) if isinstance(made, tuple) else change(made)

        return changed

    return of


def after_a_draw(program):
    """Return a program that builds its modules from other random numbers."""

    def drawn(*sizes):
        torch.rand(13)
        return program(*sizes)

    return drawn


FORMS = {
    "as it is": lambda program: program,
    "NumPy": each(lambda x: np.asarray(torch.as_tensor(x).detach())),
    "lists": each(lambda x: torch.as_tensor(x).tolist()),
    "32 bits": each(lambda x: x.float() if getattr(x, "dtype", 0) == torch.float64 else x),
}


CASES = [(torch.float32, "as it is"), *((torch.float64, form) for form in FORMS)]


@pytest.mark.parametrize(("dtype", "form"), CASES, indirect=["dtype"])
@pytest.mark.parametrize("exercise", ALL)
def test_the_reference_program_passes_in_every_form(exercise, dtype, form):
    assert said(exercise(FORMS[form](exercise.right))) == ""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], indirect=True)
@pytest.mark.parametrize(("exercise", "name"), programs("unusual"))
def test_other_right_programs_pass(exercise, name, dtype):
    assert said(exercise(exercise.unusual[name])) == ""


@pytest.mark.parametrize(("exercise", "sentence"), programs("wrong"))
def test_each_wrong_program_is_named_by_its_sentence(exercise, sentence):
    for program in programs_of(exercise.wrong[sentence]):
        if isinstance(program, type):  # of modules: then with other weights
            program = after_a_draw(program)
        report = exercise(program)
        assert report.points < report.possible
        assert sentence in {answer.misconception for _, answer in report.results}


@pytest.mark.parametrize("exercise", ALL)
def test_a_stub_defines_its_function_and_earns_nothing(exercise):
    (defined,) = ast.parse(exercise.stub).body
    assert defined.name == exercise.name
    names = {}
    exec("import torch\nfrom torch import nn\n" + exercise.stub, names)
    assert exercise(names[exercise.name]).points == 0


@cache
def anchors(page):
    """Return the addresses of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    kept = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("exercise", ALL)
def test_every_section_exists_and_a_gate_is_one_of_the_questions(exercise):
    for asked in exercise.questions:
        page, anchor = asked.section.split("#")
        assert anchor in anchors(DOCS / "chapters" / page.replace(".html", ".md"))
    assert exercise.gate is None or 0 <= exercise.gate < len(exercise.questions)


@pytest.mark.parametrize("chapter", chapters())
def test_a_page_checks_its_own_solution(chapter):
    text = (DOCS / "chapters" / f"{chapter}.md").read_text("utf-8")
    assert f"from selfattn_book.exercises.{chapter.replace('-', '_')} import check\n" in text
    for exercise in exercises(chapter, None):
        assert f"assert check({exercise.name}={exercise.name}" in text


WINDOW = exercise_of("masks")
REFUSED = {
    "another dtype": (lambda n, w: WINDOW.right(n, w).float(), "dtype: .* boolean; got float32"),
    "a batch": (lambda n, w: WINDOW.right(n, w)[None], r"shape: .* must have shape \(7, 7\)"),
    "None": (lambda n, w: None, "missing: it must return the mask; got None"),
    "an exception": (lambda n, w: torch.ones(n, 2) @ torch.ones(n, 2), "exception: RuntimeError"),
    "another signature": (lambda n: WINDOW.right(n, 3), "exception: TypeError"),
    "no function": (3, "missing: window_mask must be callable; got int"),
    "an exit": (lambda n, w: exit(), "exception: SystemExit"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_another_kind_of_result_is_told_apart(kind):
    answer, pattern = REFUSED[kind]
    report = WINDOW(answer)
    assert report.points == 0
    assert re.search(pattern, said(report))


def test_what_is_half_right_has_half_of_the_points():
    report = WINDOW(lambda n, width: WINDOW.right(n, n))
    assert (report.points, report.possible) == (3, 6)


@pytest.mark.parametrize(
    ("chapter", "begin", "points"),
    [
        ("query-key-value", "The scores are not divided", (2, 5)),
        ("decoder", "Every point attends to every other", (6, 14)),
    ],
)
def test_without_what_an_exercise_is_about_the_rest_counts_half(chapter, begin, points):
    exercise = exercise_of(chapter)
    (wrong,) = (program for said, program in exercise.wrong.items() if said.startswith(begin))
    report = exercise(wrong)
    assert (report.points, report.possible) == points
    gate = exercise.questions[exercise.gate].message
    assert f"half the points, because of: {gate}" in " ".join(repr(report).split())
    assert report.earned[exercise.gate] == 0


TABLE = [[0.5, 1.0], [2.0, 4.0]]
HOLDERS = {
    "tuples": tuple(map(tuple, TABLE)),
    "whole numbers among others": [[0.5, 1], [2, 4]],
    "fractions": [[Fraction(1, 2), Fraction(1)], [Fraction(2), Fraction(4)]],
    "in the graph": torch.tensor(TABLE, requires_grad=True),
    "16 bits": torch.tensor(TABLE).half(),
    "a view": np.array(TABLE)[::-1][::-1],
    "an array of objects": np.array(TABLE, dtype=object),
    "a list of tensors": list(torch.tensor(TABLE)),
    "a list of arrays": list(np.array(TABLE)),
    "lists of numbers of NumPy": [[np.float32(x) for x in row] for row in TABLE],
    "precisions mixed": [torch.tensor(TABLE[0]), torch.tensor(TABLE[1]).double()],
    "an iterator": map(list, TABLE),
}
NO_NUMBERS = {
    "None": (None, "missing", "it must return the table; got None"),
    "text": ("0.5", "missing", "got a value of type str"),
    "text inside": ([["0.5", "1"]] * 2, "missing", "got a value of type str"),
    "a dictionary": ({0: 0.5}, "missing", "got a value of type dict"),
    "ragged": ([[0.5], [1.0, 2.0]], "shape", r"got \(1,\) and \(2,\)"),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_numbers_are_read_in_all_that_holds_them(kind):
    (read,) = results_of(lambda: HOLDERS[kind], (), "the table")
    assert near(read, torch.tensor(TABLE), 1e-4)
    assert not read.requires_grad


@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_what_holds_no_numbers_is_refused(kind):
    got, what, message = NO_NUMBERS[kind]
    with pytest.raises(RefusedError, match=message) as refused:
        results_of(lambda: got, (), "the table")
    assert refused.value.answer.kind == what


def test_random_cases_change_with_the_first_seed():
    before = drawn(3, seed=1)
    assert before.equal(drawn(3, seed=1))
    with first_seed(1000):
        assert not before.equal(drawn(3, seed=1))
