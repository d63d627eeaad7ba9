"""Copies are found, independent answers are not, and questions in person are about one's own answer."""

import json
import re
from dataclasses import replace
from itertools import combinations

import pytest
import torch

from _config.course import orals, similar
from _config.course.gradebook import Row
from _config.course.grading import Graded, QuestionResult
from _config.course.submissions import Student, named
from _config.course.weeks import week_of

CODE = "a code"
MASKS = week_of("masks")
PUBLISHED = MASKS.exercises[0].cells["solution"]

# Right answers written independently; the last two follow the plan of the published solution.
INDEPENDENT = {
    "in place": """
def packed_mask(sentence):
    b, t = sentence.size()
    mask = sentence.unsqueeze(-1) == sentence.unsqueeze(-2)
    mask[:, :, :numbers["prompt"]] = True
    mask = torch.tril(mask)
    pad = sentence == -1
    mask[pad] = False
    mask = mask.masked_fill(pad.unsqueeze(1), False)
    return mask.unsqueeze(1)
""",
    "loops": """
def packed_mask(sentence):
    B, T = sentence.shape
    out = torch.zeros(B, 1, T, T, dtype=torch.bool)
    for b in range(B):
        for i in range(T):
            for j in range(i + 1):
                if sentence[b, i] == -1 or sentence[b, j] == -1:
                    continue
                if j < numbers["prompt"] or sentence[b, i] == sentence[b, j]:
                    out[b, 0, i, j] = True
    return out
""",
    "helpers": """
def not_padding(s):
    return (s >= 0)[:, :, None] & (s >= 0)[:, None, :]

def packed_mask(sentence):
    length = sentence.size(1)
    positions = torch.arange(length)
    causal = positions[:, None] >= positions
    own = sentence[..., None] == sentence[:, None]
    to_prompt = (positions < numbers["prompt"]).expand(length, length)
    return ((own | to_prompt) & causal & not_padding(sentence)).unsqueeze(1)
""",
    "with the book": """
from selfattn_book.masks import causal_mask

def packed_mask(sentence):
    T = sentence.size(1)
    same = sentence[:, :, None] == sentence[:, None, :]
    p = torch.zeros(T, dtype=torch.bool)
    p[:numbers["prompt"]] = True
    padding = sentence < 0
    visible = causal_mask(T) & (same | p)
    visible = visible & ~padding[:, :, None] & ~padding[:, None, :]
    return visible[:, None, :, :]
""",
}
PAST, REAL = PUBLISHED.splitlines()[2], PUBLISHED.splitlines()[5]
COPIES = {
    "renamed": re.sub("sentence|same|real", lambda name: name[0][:2], PUBLISHED).replace(
        "(se):", '(se: torch.Tensor) -> torch.Tensor:\n    """My own."""'
    ),
    "in another order": PUBLISHED.replace(REAL + "\n", "").replace(PAST, f"{REAL}\n{PAST}"),
    "with a line for show": PUBLISHED.replace("    return", "    print(mask.shape)\n    return"),
}


def test_independent_answers_are_right_and_not_flagged():
    for source in INDEPENDENT.values():
        assert check(source)
    shapes = [similar.shape(source) for source in [PUBLISHED, *INDEPENDENT.values()]]
    assert min(shape.total() for shape in shapes) >= similar.SMALLEST
    highest = max(similar.likeness(*pair) for pair in combinations(shapes, 2))
    assert highest < similar.THRESHOLD - 0.2


@pytest.mark.parametrize("copy", COPIES)
def test_a_disguised_copy_is_flagged(copy):
    assert check(COPIES[copy])
    likeness = similar.likeness(similar.shape(PUBLISHED), similar.shape(COPIES[copy]))
    assert similar.THRESHOLD + 0.05 < likeness == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("def f(a):\n    return a + 1", "def g(b: int) -> int:\n    return b + 2", True),
        ("def f(a):\n    return a", 'def f(a):\n    "A."\n    return a', True),
        ("def f(a): ...", 'def f(a):\n    "A."', False),
        ("def f(a):\n    return a + 1", "def f(a):\n    return a + 1.0", False),
        ("def f(a):\n    return len(a)", "def f(a):\n    return sum(a)", False),
        ("def f(a):\n    return a.T", "def f(a):\n    return a.mT", False),
    ],
)
def test_names_and_numbers_are_not_compared_but_what_is_called_is(one, other, alike):
    assert (similar.shape(one) == similar.shape(other)) is alike


@pytest.fixture
def row(tmp_path):
    """Return a function that makes the row of a notebook that has been graded."""

    def make(student, *sources):
        cells = [{"cell_type": "code", "source": source} for source in sources]
        cells.append({"cell_type": "markdown", "source": "Thank you (for everything"})
        file = tmp_path / f"{student}.ipynb"
        file.write_text(json.dumps({"cells": cells}), "utf-8")
        return Row(Student(student), named(file.name, file=file), graded=grade(file))

    return make


def check(source, student="ada"):
    """Check an answer in this process: these tests trust it."""
    names = {"torch": torch, "numbers": MASKS.drawn(CODE, student)}
    exec(source, names)
    return MASKS.checked(CODE, student)["packed_mask"](names["packed_mask"])


def grade(file):
    cells = json.loads(file.read_text("utf-8"))["cells"]
    sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    report = check("\n".join(source for source in sources if "%" not in source), file.stem)
    results = [
        QuestionResult("packed_mask", x.message, x.points * bool(yes), x.points, yes.reason)
        for x, yes in report.results
    ]
    return Graded(file.stem, CODE, results)


def test_copies_are_listed_once_and_with_the_published_solution(row):
    renamed, moved, _ = COPIES.values()
    loops, other = (INDEPENDENT[name] for name in ("loops", "helpers"))
    sources = {"ada": renamed, "bob": loops, "eve": moved, "joe": other.replace("causal", "x")}
    rows = [row(student, "%timeit 1 + 1", source) for student, source in sources.items()]
    head, *groups = similar.table(MASKS, [*rows, row("zoë", other)])
    assert head == ["exercise", "at least alike", "students"]
    assert [names for *_, names in groups] == ["(the published solution), ada, eve", "joe, zoë"]
    assert all(float(least) >= similar.THRESHOLD for _, least, _ in groups)


def test_what_the_stub_gives_and_very_short_answers_do_not_count(row):
    source = INDEPENDENT["loops"]
    rows = [row(student, source) for student in "ab"]
    assert len(similar.table(MASKS, rows)) == 2
    given = MASKS.exercises[0].cells | {"stub": source}
    with_more = replace(MASKS, exercises=[replace(MASKS.exercises[0], cells=given)])
    assert len(similar.table(with_more, rows)) == 1
    rows = [row(student, "def packed_mask(s):\n    return (s > 1) & (s < 3)") for student in "ab"]
    assert len(similar.table(MASKS, rows)) == 1


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"cells": [1]}', '{"cells": [{"cell_type": "code"}]}', "[" * 99_999, "\xff"]
    + [json.dumps({"cells": [{"cell_type": "code", "source": f"def packed_mask(s): {x}"}]})
       for x in ("return " + "(" * 999, "return " + "-" * 9_999 + "1", "\ud800", "\0")],
)  # fmt: skip
def test_a_notebook_that_cannot_be_read_has_no_answer(text, tmp_path):
    (tmp_path / "x.ipynb").write_text(text, "latin-1")
    file = named("x.ipynb", file=tmp_path / "x.ipynb")
    row = Row(Student("ada"), file, graded=Graded("ada", CODE))
    assert len(similar.table(MASKS, [row])) == 1
    assert orals.sheet(MASKS, "a key", [row], 1, grade).count("**Ask.**") == 1


def test_helpers_belong_to_an_answer_and_other_functions_do_not(row):
    source = INDEPENDENT["helpers"] + "\ndef unused(x):\n    return x"
    made = row("ada", source, "def packed_mask(s): return not_padding(s)", "%time 2")
    assert similar.answer(made.submission.file, "packed_mask").splitlines() == [
        "def packed_mask(s):",
        "    return not_padding(s)",
        "def not_padding(s):",
        "    return (s >= 0)[:, :, None] & (s >= 0)[:, None, :]",
    ]


# -- In person ------------------------------------------------------------------------------


def test_numbers_are_changed_one_at_a_time(row):
    sheet = orals.sheet(MASKS, "a key", [row("ada", PUBLISHED)], 1, grade)
    numbers = MASKS.drawn(CODE, "ada")
    layers, width = numbers["layers"], numbers["width"]
    before, asked = layers * (width - 1) + 1, sheet.split("**Ask.** In `masked_row`")[1]
    after = {
        f"`layers` be {layers + 1} instead of {layers}": before + width - 1,
        f"`width` be {width + 1} instead of {width}": before + layers,
    }
    (changed,) = (number for words, number in after.items() if words in asked)
    assert f"* `reach`: from {before:.1f} to {changed:.1f}" in asked
    assert asked.count("* `") == 1


def test_the_key_draws_the_students(row):
    rows = [row(student, MASKS.exercises[0].cells["stub"]) for student in "abcdefgh"]
    sheets = [orals.sheet(MASKS, key, rows, 3, grade) for key in "kkl"]
    first, again, other = (re.findall("^## .*", sheet, re.MULTILINE) for sheet in sheets)
    assert len(first) == len(other) == 3
    assert first == again != other


@pytest.mark.parametrize("name", INDEPENDENT)
def test_the_key_says_what_the_answer_misses_without_the_part(name, row):
    made = row("ada", INDEPENDENT[name].replace("= -1", "= -7"))  # some miss padding
    sheet = orals.sheet(MASKS, "a key", [made], 1, grade).split("`masked_row`")[0]
    part = sheet.split("```python\n")[1].split("\n```")[0]
    rest = dict(orals.deletions(similar.answer(made.submission.file, "packed_mask")))[part]
    report = check("from selfattn_book.masks import causal_mask\n" + rest)
    missed = {asked.message for asked, yes in report.results if not yes}
    missed -= {one.message for one in made.graded.results if not one.points}
    assert 1 <= len(missed) < 5
    assert {line[2:].split(": ")[0] for line in sheet.splitlines() if line[:2] == "* "} == missed


def test_operands_and_changes_can_be_deleted():
    code = "def f(a):\n    b = a * 2\n    b[0] = 1\n    b = b + a\n    return (a - b) @ a"
    found = dict(orals.deletions(code))
    operands = {"* 2", "a *", "+ a", "b +", "@ a", "a - b @", "- b", "a -"}
    assert found.keys() == operands | {"b[0] = 1", "b = b + a"}
    assert found["* 2"] == code.replace("a * 2", "a")
    assert found["b[0] = 1"] == code.replace("b[0] = 1", "pass")
