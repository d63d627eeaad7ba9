"""The rules that every page and every chapter keeps, so that a reader finds one book."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig

from tests.book.pages import CHAPTERS, DOCS, PAGES, PageCell, cells, prose

BUILD_SETTINGS = MdParserConfig(
    enable_extensions={"amsmath", "colon_fence", "deflist", "dollarmath"}
)
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
every_chapter = pytest.mark.parametrize(
    "page", CHAPTERS, ids=lambda page: page.stem
)


def places(page: Path, wrong: list[PageCell]) -> list[str]:
    return [f"{page.name}:{cell.line}" for cell in wrong]


@every_page
def test_what_verify_reads_is_what_the_build_runs(page):
    notebook = read_myst_markdown_notebook(page.read_text("utf-8"), BUILD_SETTINGS)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    built = [(cell.source.strip(), cell.metadata.get("check")) for cell in code]
    read = [(cell.code.strip(), cell.options.get("check")) for cell in cells(page)]
    assert read == built


@every_page
def test_no_cell_is_longer_than_twelve_lines(page):
    assert places(page, [cell for cell in cells(page) if is_long(cell)]) == []


def is_long(cell: PageCell) -> bool:
    """Count the lines that say something; what is imported at the head of a page does not."""
    return len([line for line in cell.source if not IMPORT.match(line)]) > 12


IMPORT = re.compile(r"(import|from) \w")


@every_page
def test_no_line_of_code_is_cut_on_the_page(page):
    wide = [
        cell for cell in cells(page) if max(map(len, cell.source), default=0) > 84
    ]
    assert places(page, wide) == []


@every_page
def test_functions_are_defined_in_exercises_or_broken_on_purpose(page):
    stray = [
        cell
        for cell in cells(page)
        if not cell.in_exercises and has_stray_def(cell)
    ]
    assert places(page, stray) == []


def has_stray_def(cell: PageCell) -> bool:
    tree = ast.walk(ast.parse(cell.code))
    kinds = (ast.FunctionDef, ast.ClassDef)
    names = [node.name for node in tree if isinstance(node, kinds)]
    return any(not name.startswith("broken_") for name in names)


@every_page
def test_a_sentence_stands_between_two_cells(page):
    """Cells that the reader does not see do not count, and wrong may stand beside right."""
    text = page.read_text("utf-8")
    beside = re.findall(r"(?s):::\{versus\}.*?:::\{versus-end\}", text)
    seen = [
        c
        for c in cells(page)
        if "remove" not in c.tags and "check" not in c.options
        if not any(c.code in box for box in beside)
    ]
    assert places(page, [cell for cell in seen if cell.follows_cell]) == []


@every_page
def test_chance_has_a_seed(page):
    only_shapes = {"notation"}
    code = "\n".join(cell.code for cell in cells(page))
    assert page.stem in only_shapes or unseeded(code) == []


@every_page
def test_cells_in_sight_need_no_other(page):
    """A reader copies them in their order, and has the package and not the tools of the book."""
    hidden = ("remove-cell", "remove-input")
    seen = [c.code for c in cells(page) if not any(tag in c.tags for tag in hidden)]
    assert undefined("\n".join(seen)) == []
    assert not any("myst_nb" in code for code in seen)


def undefined(code: str) -> list[str]:
    """Return the names that are used before anything gives them a meaning."""
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F821"]
    found = subprocess.run(
        [*ruff, "--output-format=json", "-"],
        input=code,
        capture_output=True,
        text=True,
    )
    return [finding["message"] for finding in json.loads(found.stdout)]


def test_the_search_for_undefined_names_finds_them():
    assert undefined("lucky = 1\nprint(lucky)") == []
    assert undefined("print(lucky)\nlucky = 1") == ["Undefined name `lucky`"]


# What draws from a library's global generator, and what seeds that.
LAYERS = "Linear|Bilinear|Embedding|Multihead|Transformer|Conv|RNN|LSTM|GRU|Dropout"
CHANCE = {
    rf"(torch\.)?(rand(?!om)|normal|bernoulli|multinomial|nn\.({LAYERS}))\w*"
    r"|F\.dropout|.*\.(normal|uniform|xavier_\w+|kaiming_\w+)_"
    r"|MultiHeadAttention|\w+Classifier": {"torch.manual_seed", "set_seed"},
    r"(np|numpy)\.random\.(?!seed)\w+": {"np.random.seed"},
}


def unseeded(code: str) -> list[str]:
    """Return the calls that draw from a global generator before it has a seed."""
    tree = ast.parse(code)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [ast.unparse(call.func) for call in calls]
    functions = (ast.FunctionDef, ast.Lambda)
    late = [f for f in ast.walk(tree) if isinstance(f, functions)]
    inside = {id(node) for f in late for node in ast.walk(f)}
    found = []
    for call in calls:
        if not (wanted := seeds_of(call)):
            continue
        seeds = [c for c, name in zip(calls, names, strict=True) if name in wanted]
        if (
            id(call) in inside
        ):  # it runs later: any seed may be meant, or fit_seeds'
            seeds += [c for c in calls if "seeds" in {k.arg for k in c.keywords}]
        else:
            seeds = [c for c in seeds if place(c) < place(call)]
        if not seeds:
            found.append(ast.unparse(call))
    return found


def seeds_of(call: ast.Call) -> set[str]:
    """Return what may be called before a call that draws from a global generator."""
    name = ast.unparse(call.func)
    own = "generator" in {keyword.arg for keyword in call.keywords}
    own |= bool(re.search(r"\.(default_rng|RandomState)$", name) and call.args)
    seeds = [seed for drawn, seed in CHANCE.items() if re.fullmatch(drawn, name)]
    return seeds[0] if seeds and not own else set()


def place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


@pytest.mark.parametrize(
    "code",
    [
        "torch.manual_seed(0); nn.Linear(2, 3)",
        "set_seed(0); nn.Linear(2, 3)",
        "torch.randn(2, generator=chance)",
        "torch.rand(\n    2,\n    generator=chance)",
        "torch.random.fork_rng()",
        "make = lambda: nn.Linear(2, 3)\nfit_seeds(make, seeds=[1])",
        "def draw():\n    return torch.rand(2)\ntorch.manual_seed(0)\ndraw()",
        "rng = np.random.default_rng(0)\nrng.normal()",
        "np.random.seed(0); np.random.randn(2)",
        "nn.ReLU(); nn.functional.softmax(x); nn.Sequential()",
    ],
)
def test_the_search_for_chance_lets_pass(code):
    assert unseeded(code) == []


@pytest.mark.parametrize(
    "code",
    [
        "torch.randn(2)",
        "torch.rand_like(x); torch.manual_seed(0)",
        "torch.randperm(5)",
        "g = torch.Generator().manual_seed(0); torch.randn(2)",
        "nn.Linear(2, 3)",
        "torch.nn.Embedding(num_embeddings=2, embedding_dim=3)",
        "nn.MultiheadAttention(2, 1)",
        "MultiHeadAttention(d_model=2, num_heads=1)",
        "MeanClassifier()",
        "make = lambda: nn.Linear(2, 3)\nmake()",
        "x.normal_()",
        "nn.init.xavier_uniform_(x)",
        "torch.manual_seed(0); np.random.randn(2)",
        "np.random.default_rng()",
        "np.random.RandomState()",
    ],
)
def test_the_search_for_chance_finds(code):
    assert len(unseeded(code)) == 1


@every_page
def test_every_page_is_in_the_table_of_contents(page):
    contents = (DOCS / "index.md").read_text("utf-8")
    name = page.relative_to(DOCS).with_suffix("").as_posix()
    assert name == "index" or re.search(rf"^{name}$", contents, re.MULTILINE)


@every_page
def test_every_seed_can_be_moved(page):
    """So that ``verify --first-seed`` asks on other seeds; but a source's own stay as they are."""
    stuck = [cell for cell in cells(page) if stuck_seeds(cell.code)]
    assert places(page, stuck) == []


def stuck_seeds(code: str) -> list[str]:
    """Return the lines that write a seed down and do not say that a source gives it."""
    lines, found = code.splitlines(), []
    for node in ast.walk(ast.parse(code)):
        for seed in written_seeds(node):
            line = lines[seed.lineno - 1]
            if not line.endswith("# given"):
                found.append(line)
    return found


def written_seeds(node: ast.AST) -> list[ast.expr]:
    """Return what a call, or a dictionary of arguments, takes for a seed without `chance`."""
    seeds: list[ast.expr] = []
    if isinstance(node, ast.Call):
        seeds += [k.value for k in node.keywords if k.arg in ("seed", "seeds")]
        name = ast.unparse(node.func).split(".")[-1]
        seeds += node.args[:1] * (
            name in ("manual_seed", "RandomState", "default_rng")
        )
    elif isinstance(node, ast.Dict):
        named = zip(node.keys, node.values, strict=True)
        seeds += [
            v for k, v in named if k and ast.unparse(k) in ("'seed'", "'seeds'")
        ]
    return [
        seed for seed in seeds if not re.search(r"seed|moved\(", ast.unparse(seed))
    ]


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("torch.manual_seed(11)", 1),
        ("torch.manual_seed(11)  # given", 0),
        ("for seed in seeds(3):\n    torch.manual_seed(seed)", 0),
        ("torch.Generator().manual_seed(width)", 1),
        ("torch.Generator().manual_seed(moved(width))", 0),
        ("fit_seeds(make, seeds=range(3))", 1),
        ("fit_seeds(make, seeds=seeds(3))", 0),
        ("recipe = {'seeds': [1, 2]}", 1),
        ("square_sequences(8,\n    seed=13,  # given\n)", 0),
        ("square_sequences(8,\n    seed=13)  # given", 0),
        ("np.random.RandomState(3)", 1),
    ],
)
def test_the_search_for_seeds_finds_them(code, count):
    assert len(stuck_seeds(code)) == count


@every_page
def test_prose_has_one_sentence_a_line(page):
    """A change then shows which sentence has changed."""
    body = prose(page)
    crowded = re.findall(
        r"^[A-Z][^|\n]*[a-z`)]\. [A-Z][a-z]+ .*$", body, re.MULTILINE
    )
    assert crowded == []


@every_chapter
def test_a_chapter_opens_with_what_it_does(page):
    opening = re.search(
        r":::\{admonition\} What this chapter does.*?^:::", prose(page), re.M | re.S
    )
    assert opening is not None
    for label in ("You will", "Afterwards you can", "You need", "Time"):
        assert f"**{label}**" in opening.group()


@every_chapter
def test_a_chapter_asks_to_predict_three_times(page):
    assert prose(page).count(":::{predict}\n") >= 3


@every_page
def test_a_hidden_output_answers_a_prediction(page):
    """A fold of its own would hide it from a reader who has nothing to predict."""
    inside = re.findall(
        r"(?s)^:::\{predict\}\n.*?^:::\{predict-end\}",
        page.read_text("utf-8"),
        re.M,
    )
    hidden = [cell for cell in cells(page) if "hide-output" in cell.tags]
    stray = [c.line for c in hidden if not any(c.code in box for box in inside)]
    assert stray == []


@every_chapter
def test_a_chapter_has_three_quiz_questions_that_explain_every_option(page):
    quiz = prose(page).split("## Quiz")[1].split("## Exercises")[0]
    answers = re.findall(r"\{dropdown\} Answer\n(.*?)```", quiz, re.DOTALL)
    assert len(answers) == 3
    for answer in answers:
        assert {"(a)", "(b)", "(c)"} <= set(re.findall(r"\([abc]\)", answer))


@every_chapter
def test_a_quiz_cannot_be_passed_by_its_looks(page):
    """Each letter is right once, and the right option is the longest at most once."""
    quiz = prose(page).split("## Quiz")[1].split("## Exercises")[0]
    asked = re.findall(
        r"^: (.*)\n\n```\{dropdown\} Answer\n\*\*\((\w)\)", quiz, re.M
    )
    options = [re.split(r" ?\([abc]\) ", line)[1:] for line, _ in asked]
    right = ["abc".index(letter) for _, letter in asked]
    assert sorted(right) == [0, 1, 2]
    longest = [max(three, key=len) for three in options]
    wins = [
        three[r] == long
        for three, r, long in zip(options, right, longest, strict=True)
    ]
    assert sum(wins) <= 1


@every_chapter
def test_a_chapter_has_four_graded_exercises_with_solutions(page):
    text = page.read_text("utf-8")
    labels = re.findall(r"\{exercise\}.*\n:label: (\S+)", text)
    graded = re.findall(r"Level [1-5] of 5, \d+ minutes", text)
    solved = re.findall(r"\{solution-start\} (\S+)", text)
    assert len(labels) == 4
    assert len(graded) == 4
    assert solved == labels


@every_chapter
@pytest.mark.parametrize(
    "section", ["Summary", "Quiz", "Exercises", "Where to read on"]
)
def test_a_chapter_has_its_sections(page, section):
    assert f"\n## {section}\n" in prose(page)


@every_chapter
def test_a_chapter_shows_the_tested_code(page):
    assert "{listing} selfattn_book." in page.read_text("utf-8")
