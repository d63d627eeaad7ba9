"""Each rule of lint reports a bad page at its line, and nothing on a good one."""

from pathlib import Path

import pytest
from bookproof.lint import __main__ as command
from bookproof.lint import cells, chapter, instructors, prose, whole
from bookproof.lint.page import Book, Page
from bookproof.verify.cells import read_notebook

from tests.book.pages import BOOK

CELL = "```{code-cell}\n%s\n```\n"
NOTE = """:::{instructors}
**In class** (50 minutes)
%s
**What students get wrong**
**Time**
**Marking**
* *Show it* (proof, 2 points)
  * First (1)
  * Second (1)
* *Try it* (experiment, %s points)
  * All (3)
:::
"""
ASKED = "```{exercise} Show it\n:a: b\n:c: d\n*A proof.*\n```\n"
ASKED += "```{exercise} Try it\n:a: b\n:c: d\n*An experiment.*\n```\n"
PLAN = "* 10 minutes: a\n" * 5
CLAIM = "```{claim} c\nIt is.\n```\n"
FIGURE = ":::{caption} f\n:::\n"
QUIZ = "## Quiz\n" + "".join(
    f"\n: (a) {a} (b) {b} (c) {c}\n\n```{{dropdown}} Answer\n**({right}).** %s\n```\n"
    for right, a, b, c in ("a123", "b123", "c123")
)
# Rule, a bad page, the lines that are reported, a good page.
TABLE = {
    "lines of a cell": (cells.sizes, CELL % ("x = 1\n" * 13), [2], CELL % ("import x\n" * 13)),
    "syntax": (cells.syntax, "A.\n" + CELL % "x = 1\ny = (", [4], CELL % "x = 1"),
    "columns": (cells.sizes, CELL % f"x = 1\ny = '{'y' * 80}'", [3], CELL % f"y = '{'y' * 78}'"),
    "definition": (
        cells.definitions,
        CELL % "def double(x): ...",
        [2],
        CELL % "def broken_double(x): ..." + "## Exercises\n" + CELL % "def double(x): ...",
    ),
    "neighbor": (
        cells.neighbors,
        CELL % "x = 1" + "\n" + CELL % ":check: one\nassert x" + CELL % "y = 2",
        [10],
        CELL % ":tags: [set-up]\nx = 1" + CELL % "y = 1" + "\nText.\n" + CELL % "z = 2",
    ),
    "neighbor in versus": (
        cells.neighbors,
        CELL % "x = 1" + CELL % "y = 2",
        [5],
        f":::{{versus}}\n:::\n{CELL % 'x = 1'}{CELL % 'y = 2'}:::{{versus-end}}\n:::\n",
    ),
    "hidden output": (
        cells.hidden_output,
        CELL % ":tags: [hide-output]\nx",
        [3],
        f":::{{predict}}\n:::\n{CELL % ':tags: [hide-output]'}\n:::{{predict-end}}\n:::\n",
    ),
    "undefined": (
        cells.undefined,
        CELL % ":tags: [remove-cell]\nx = 1" + CELL % "print(x)\nimport myst_nb",
        [6, 7],
        CELL % "x = 1" + CELL % "print(x)",
    ),
    "unseeded": (
        cells.seeded,
        CELL % "torch.randn(2)",
        [2],
        CELL % "torch.manual_seed(0)\ntorch.randn(2)",
    ),
    "fixed seed": (
        cells.movable_seeds,
        CELL % "x = 1\ntorch.manual_seed(11)",
        [3],
        CELL % "torch.manual_seed(11)  # given",
    ),
    "sentence": (
        prose.sentences,
        "# A\n\nIt is long. It is short.\n",
        [3],
        "It is long.\nIt is short.\n",
    ),
    "decimal": (
        prose.decimals,
        "It keeps\n0.49 of it, minus -0.5, then .62.\n\nIt grew 0.3x.\n",
        [2, 2, 2, 4],
        "{given}`0.49`, $0.5$, `0.5` and {glue:text}`x:.2f` in section 3.2.3, 2017. Then 9.\n",
    ),
    "word": (prose.words, "Good.\nA Blind row\n", [2], "A fully masked row; nobodys.\n"),
    "sections": (
        chapter.sections,
        "## A\n## Summary\n## Exercises\n",
        [1, 3],
        "# T\n## A\n## Summary\n## Quiz\n## Exercises\n## Going deeper\n## Further reading\n",
    ),
    "set-up": (
        chapter.set_up,
        CELL % "x = 1" + CELL % "import y",
        [1, 5],
        CELL % ":tags: [hide-input, set-up]\nimport y" + CELL % ":tags: [remove-cell]\nimport z",
    ),
    "set-up: no cell": (chapter.set_up, "Text.\n", [1], None),
    "note: no block": (instructors.instructors, "Text.\n", [1], None),
    "main path": (
        chapter.main_path_length,
        "word " * 1501 + "\n## Summary\n",
        [2],
        "word " * 1500 + "\n## Summary\n" + "word " * 9,
    ),
    "checked": (
        chapter.checked,
        CLAIM
        + "\n$$\nx\n$$ (e)\n\n"
        + CELL % ":check: e\nassert x" * 2
        + CELL % ":check: f\nassert x",
        [1, 7, 17],
        CLAIM + CELL % ":check: c\nassert x",
    ),
    "predictions": (chapter.predictions, ":::{predict}\n:::\n", [1], ":::{predict}\n:::\n" * 3),
    "quiz: an option": (chapter.quiz, QUIZ % ("(b)", "(c)", "(a)"), [1] * 3, None),
    "quiz": (
        chapter.quiz,
        QUIZ.replace("**(c)", "**(b)") % (("(a) (b) (c)",) * 3),
        [1],
        QUIZ.replace("(b) 2", "(b) 22").replace("(c) 3", "(c) 3 3") % (("(a) (b) (c)",) * 3),
    ),
    "exercises": (
        chapter.exercises,
        "## Exercises\n```{exercise} A\n:label: a\n```\n",
        [1, 1],
        "## Exercises\n"
        + "".join(
            f"```{{exercise}} A\n:label: {a}\n*Level 1 of 5, 5 minutes.*\n```\n"
            f"```{{solution-start}} {a}\n```\n"
            for a in "abcd"
        ),
    ),
    "listing": (chapter.listing, "Text.\n", [1], "```{listing} selfattn_book.masks.f\n```\n"),
    "deeper sections": (
        chapter.deeper_sections,
        "## A\n\nWell.\n\n## B\n\nIs it so?\n",
        [1],
        "## A\n\nIs it so?\n",
    ),
    "page length": (
        chapter.page_length,
        "word " * 3501,
        [1],
        "word " * 3500 + "\n:::{instructors}\nword word\n:::\n",
    ),
    "a claim after a prediction": (
        chapter.unspoiled,
        f":::{{predict}}\n:::\n\n:::{{predict-end}}\n:::\n\n{CLAIM}",
        [7],
        f":::{{predict}}\n:::\n\n{CLAIM}\n:::{{predict-end}}\n:::\n\nSo it is.\n",
    ),
    "a figure in a closed fold": (
        chapter.unspoiled,
        f":::{{predict}}\n:::\n{FIGURE}:::{{predict-end}}\n:::\n\n{{numref}}`f` shows it.\n",
        [8],
        f"{{numref}}`g`\n:::{{predict}}\n:::\n{FIGURE}{{numref}}`f`\n:::{{predict-end}}\n:::\n",
    ),
    "terms": (
        chapter.terms,
        "# {term}`a`\n\n{term}`mask` and {term}`masks <mask>`\n",
        [1, 1],
        "{term}`a`\n{term}`b`\n{term}`c`\n",
    ),
    "instructors": (
        instructors.instructors,
        "\n" + NOTE % ("* 10 minutes: a\n", 4) + "",
        [2, 2, 2],
        ASKED + NOTE % (PLAN + 'It says: "True was taken to mean hidden."\n', 3),
    ),
    "glossary": (
        whole.glossary,
        "```{glossary}\n:sorted:\n\nzebra\n  Striped\n\n"
        "mask\nveil\nveil\n  Hides.\n\n  [](../chapters/m.md)\n```",
        [1, 1, 4, 4, 4, 4],
        "```{glossary}\n\nmask\nveil\n  It hides.\n\n  [](../chapters/m.md)\n```",
    ),
}


def lines(rule, text):
    names = {chapter.deeper_sections: "page-deeper", instructors.instructors: "masks"}
    name = names.get(rule, "page")
    page = Page(Path(f"docs/chapters/{name}.md"), text)
    return sorted(line for line, _ in rule(page, BOOK))


@pytest.mark.parametrize(("rule", "bad", "reported", "good"), TABLE.values(), ids=TABLE)
def test_a_rule_reports_a_bad_page_at_its_line(rule, bad, reported, good):
    assert lines(rule, bad) == reported
    assert good is None or lines(rule, good) == []


def test_a_chapter_lists_the_page_below_it_and_does_not_need_it():
    text = "Text, {eq}`e`.\n\n```{toctree}\n\npage-deeper\n```\n"
    pages = [
        Page(Path("page.md"), text),
        Page(Path("page-deeper.md"), "## A\n\nIs it?\n\n$$\nx\n$$ (e)\n"),
        Page(Path("other.md"), "None, {eq}`e`.\n"),
        Page(Path("other-deeper.md"), "## A\n\nIs it?\n"),
    ]
    book = Book(BOOK.root, BOOK.settings, pages)
    found = [[line for line, _ in chapter.deeper(page, book)] for page in pages]
    assert found == [[1], [], [1], []]


def test_each_page_is_in_a_table_of_contents_and_has_labels_of_its_own():
    labels = "$$\nx\n$$ (e)\n\n:::{caption} f\n:::\n"
    pages = [
        Page(Path("docs/index.md"), "```{toctree}\nchapters/one\n```\n"),
        Page(Path("docs/chapters/one.md"), labels + ":::{caption} e\n:::\n"),
        Page(Path("docs/chapters/two.md"), labels),
    ]
    book = Book(BOOK.root, BOOK.settings, pages)
    found = list(whole.contents(pages[0], book))
    assert found == [(1, "each page is in a table of contents; got docs/chapters/two.md")]
    assert [[n for n, _ in whole.labels(page, book)] for page in pages] == [[], [3, 5], [3, 5]]


def test_a_picture_of_prerequisites_that_is_wrong_is_reported_by_its_differences():
    [page] = (page for page in BOOK.pages if page.name == "abilities")
    old, new = "14: [5, 8, 10, 11, 13], 15:", "14: [5, 8, 10], 22: [1], 15:"
    assert old in page.text
    found = list(whole.prerequisites(Page(page.path, page.text.replace(old, new)), BOOK))
    messages = ["[14] must be [5, 8, 10, 11, 13]; got [5, 8, 10]", "[22] must be nothing; got [1]"]
    assert [message for _, message in found] == [f"builds_on{message}" for message in messages]
    assert list(whole.prerequisites(page, BOOK)) == []


def test_a_cell_that_is_no_python_hides_no_other_finding(monkeypatch):
    pages = [
        Page(Path("docs/chapters/one.md"), "For nobody.\n" + CELL % "x = ("),
        Page(Path("docs/chapters/two.md"), CELL % "def double(x): ..."),
    ]
    monkeypatch.setattr(command, "EVERY_CHAPTER", {})
    monkeypatch.setattr(command, "other_files", lambda book: [])
    found = command.findings(Book(BOOK.root, BOOK.settings, pages))
    places = [(path.stem, line, rule) for path, line, rule, _ in found]
    assert places == [("one", 3, "cell-syntax"), ("one", 1, "word"), ("two", 2, "cell-definition")]


SEEDED = [
    "torch.manual_seed(0); nn.Linear(2, 3)",
    "set_seed(0); nn.Linear(2, 3)",
    "torch.rand(\n    2,\n    generator=g)",
    "torch.random.fork_rng()",
    "make = lambda: nn.Linear(2, 3)\nfit_seeds(make, seeds=[1])",
    "rng = np.random.default_rng(0)\nrng.normal()",
    "np.random.seed(0); np.random.randn(2)",
    "nn.ReLU(); nn.functional.softmax(x); nn.Sequential()",
]
UNSEEDED = [
    "torch.randn(2)",
    "torch.rand_like(x); torch.manual_seed(0)",
    "g = torch.Generator().manual_seed(0); torch.randn(2)",
    "torch.nn.Embedding(num_embeddings=2, embedding_dim=3)",
    "MultiHeadAttention(d_model=2, num_heads=1)",
    "MeanClassifier()",
    "make = lambda: nn.Linear(2, 3)\nmake()",
    "x.normal_()",
    "nn.init.xavier_uniform_(x)",
    "torch.manual_seed(0); np.random.randn(2)",
    "np.random.default_rng()",
]


@pytest.mark.parametrize(
    ("code", "count"), [*((code, 0) for code in SEEDED), *((code, 1) for code in UNSEEDED)]
)
def test_draws_without_a_seed_are_found(code, count):
    assert len(cells.unseeded(code)) == count


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("for seed in seeds(3):\n    torch.manual_seed(seed)", 0),
        ("torch.Generator().manual_seed(width)", 1),
        ("torch.Generator().manual_seed(moved(width))", 0),
        ("fit_seeds(make, seeds=range(3))", 1),
        ("fit_seeds(make, seeds=seeds(3))", 0),
        ("recipe = {'seeds': [1, 2]}", 1),
        ("square_sequences(8,\n    seed=13,  # given\n)", 0),
        ("np.random.RandomState(3)", 1),
    ],
)
def test_fixed_seeds_are_found(code, count):
    assert len(cells.fixed_seeds(code)) == count


def test_cells_are_those_that_the_build_runs():
    for page in BOOK.pages:
        notebook = read_notebook(page.text)
        built = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert [cell.code.strip() for cell in page.cells] == [c.source.strip() for c in built]
        checks = [cell.metadata.get("check") for cell in built]
        assert [cell.options.get("check") for cell in page.cells] == checks


def test_a_finding_is_printed_with_file_line_and_rule(capsys, monkeypatch):
    page = Page(Path("docs/chapters/page.md"), "# Page\n\nOne is 0.5 for nobody.\n")
    book = Book(BOOK.root, BOOK.settings, [page])
    monkeypatch.setattr(command, "EVERY_CHAPTER", {})
    monkeypatch.setattr(command, "other_files", lambda book: [])
    assert command.lint(book) == 1
    found = capsys.readouterr().out.splitlines()
    assert [line.rpartition(": ")[0] for line in found] == [
        "docs/chapters/page.md:3: decimal",
        "docs/chapters/page.md:3: word",
    ]
    book.pages = [Page(Path("page.md"), "# Page\n\nFor you.\n")]
    assert command.lint(book) == 0
