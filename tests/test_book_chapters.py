"""The rules that every page and every chapter keeps, so that a reader finds one book."""

import ast
import re
from pathlib import Path

import pytest
from book import CHAPTERS, DOCS, PAGES, PageCell, cells, prose
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig

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
    assert (
        places(page, [cell for cell in cells(page) if len(cell.source) > 12]) == []
    )


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
    """Cells that the reader does not see do not count."""
    seen = [
        c
        for c in cells(page)
        if "remove" not in c.tags and "check" not in c.options
    ]
    assert places(page, [cell for cell in seen if cell.follows_cell]) == []


@every_page
def test_chance_has_a_seed(page):
    random = r"torch\.(randn?|randint|randperm)\(|nn\.\w+\(\d|MultiHeadAttention\("
    code = "\n".join(cell.code for cell in cells(page))
    for call in re.finditer(random, code):
        line = code[call.start() : code.find("\n", call.start())]
        needs_none = "generator=" in line or "manual_seed" in code[: call.start()]
        assert needs_none or page.stem in {"notation"}, f"{page.name}: {line}"


@every_page
def test_every_page_is_in_the_table_of_contents(page):
    contents = (DOCS / "index.md").read_text("utf-8")
    name = page.relative_to(DOCS).with_suffix("").as_posix()
    assert name == "index" or re.search(rf"^{name}$", contents, re.MULTILINE)


@every_page
def test_prose_has_one_sentence_a_line(page):
    """A change then shows which sentence has changed."""
    body = prose(page)
    crowded = re.findall(
        r"^[A-Z][^|\n]*[a-z`)]\. [A-Z][a-z]+ .*$", body, re.MULTILINE
    )
    assert [line for line in crowded if not line.startswith(("(", "* "))] == []


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
    assert prose(page).count("{admonition} Predict") >= 3


@every_chapter
def test_a_chapter_has_three_quiz_questions_that_explain_every_option(page):
    quiz = prose(page).split("## Quiz")[1].split("## Exercises")[0]
    answers = re.findall(r"\{dropdown\} Answer\n(.*?)```", quiz, re.DOTALL)
    assert len(answers) == 3
    for answer in answers:
        assert {"(a)", "(b)", "(c)"} <= set(re.findall(r"\([abc]\)", answer))


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
def test_a_chapter_has_the_length_of_an_assignment(page):
    main = prose(page).split("## Quiz")[0]
    words = len(re.findall(r"[A-Za-z]{2,}", re.sub(r"\$[^$]*\$|`[^`]*`", "", main)))
    assert 1200 <= words <= 2500
    main_cells = [cell for cell in cells(page) if not cell.in_exercises]
    shown = [
        c for c in main_cells if "remove" not in c.tags and "check" not in c.options
    ]
    assert 8 <= len(shown) <= 25


@every_chapter
def test_a_chapter_shows_the_tested_code(page):
    assert "{listing} selfattn_book." in page.read_text("utf-8")


@every_chapter
def test_the_minutes_of_the_exercises_add_up(page):
    text = page.read_text("utf-8")
    minutes = re.findall(r"Level [1-5] of 5, (\d+) minutes", text)
    stated = re.search(
        r"Time\*\* \d+ minutes to read, (\d+) for the exercises", text
    )
    assert stated is not None
    assert int(stated[1]) == sum(map(int, minutes))
