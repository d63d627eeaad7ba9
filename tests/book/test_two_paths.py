"""A chapter has a main path that one sitting holds, and behind it what can be skipped without loss.

The main path is all that stands above the summary.
"""

import re
from pathlib import Path

import pytest

from tests.book.pages import CHAPTERS, DOCS, PageCell, cells, prose

WORDS, MINUTES, STATEMENTS, OPEN_CELLS = 1500, 25, 10, 8
BEFORE_QUERIES, TO_THE_BLOCK, WHOLE_WAY = 45, 330, 480  # minutes
QUESTION = 60  # words, before the picture that opens a chapter
READING = 200  # words a minute; a figure and an open cell take a minute each
CAPTION = re.compile(r"^:::\{caption\}.*?^:::$", re.DOTALL | re.MULTILINE)
NO_WORD = re.compile(r"\$[^$]*\$|\{[\w:-]+\}|`[^`]*`|\]\([^)]*\)")

every_chapter = pytest.mark.parametrize(
    "page", CHAPTERS, ids=lambda page: page.stem
)


def above(page: Path, heading: str) -> str:
    """Return what stands above a heading of the second level."""
    head, found, _ = page.read_text("utf-8").partition(f"\n## {heading}\n")
    assert found, f"{page.name} has no section {heading}"
    return head


def words(text: str) -> int:
    """Count the words of a text, without captions, formulas and names of code."""
    text = CAPTION.sub("", text)
    return len(re.findall(r"[A-Za-z]{2,}", NO_WORD.sub("", text)))


def cells_above(page: Path, heading: str) -> list[PageCell]:
    last = above(page, heading).count("\n") + 1
    return [cell for cell in cells(page) if cell.line <= last]


def is_open(cell: PageCell) -> bool:
    """Tell whether a reader sees the code without opening a fold."""
    return "check" not in cell.options and not re.search(
        r"remove-cell|remove-input|hide-input|hide-cell", cell.tags
    )


def words_of_main_path(page: Path) -> int:
    main = prose(page).partition("\n## Summary\n")[0]
    return words(main)


@every_chapter
def test_the_main_path_is_short(page):
    assert words_of_main_path(page) <= WORDS


@every_chapter
def test_the_main_path_fits_one_sitting(page):
    assert minutes(page) <= MINUTES


@every_chapter
def test_the_main_path_states_and_runs_few_things(page):
    main = above(page, "Summary")
    claims = re.findall(r"^```\{claim\}", main, re.MULTILINE)
    labels = re.findall(
        r"^```\{math\}\n:label:|^\$\$\s*\([\w-]+\)$", main, re.MULTILINE
    )
    assert len(claims) + len(labels) <= STATEMENTS
    shown = [cell.line for cell in cells_above(page, "Summary") if is_open(cell)]
    assert len(shown) <= OPEN_CELLS, shown


@every_chapter
def test_the_sections_stand_in_their_order(page):
    headings = re.findall(r"^## (.*)$", prose(page), re.MULTILINE)
    last = ["Summary", "Quiz", "Exercises", "Deeper", "Where to read on"]
    assert headings[-len(last) :] == last
    assert len(headings) > len(last)


@every_chapter
def test_the_first_screen_holds_a_question_and_a_picture(page):
    head, box, _ = page.read_text("utf-8").partition(
        ":::{admonition} What this chapter does"
    )
    assert box
    asked, caption, _ = head.partition(":::{caption}")
    assert caption, "a picture stands above the box"
    assert "?" in asked
    question = prose(page).partition("\n# ")[2].partition("\n")[2]
    assert words(question.partition(":::{admonition}")[0]) <= QUESTION


@every_chapter
def test_imports_and_settings_are_one_folded_cell_at_the_head(page):
    first, *others = cells(page)
    assert {"hide-input", "set-up"} <= set(re.findall(r"[\w-]+", first.tags))
    late = [
        cell.line
        for cell in others
        if "remove-cell" not in cell.tags and not cell.in_solution
        if re.search(r"^(import|from) \w", cell.code, re.MULTILINE)
    ]
    assert late == []


LABELS = (
    r"^:label: ([\w-]+)",
    r"^```\{claim\} ([\w-]+)",
    r"^:::\{caption\} ([\w-]+)",
    r"^\$\$\s*\(([\w-]+)\)$",
)
REFERENCE = re.compile(
    r"\{(?:eq|numref|ref|claim|prf:ref)\}`(?:[^`<]*<)?([\w-]+)>?`"
)


@every_chapter
def test_nothing_above_depends_on_what_is_deeper(page):
    text = page.read_text("utf-8")
    high, _, deep = text.partition("\n## Deeper\n")
    labels = {
        label for kind in LABELS for label in re.findall(kind, deep, re.MULTILINE)
    }
    assert labels & set(REFERENCE.findall(high)) == set()


@every_chapter
def test_each_deeper_section_answers_a_question(page):
    deep = prose(page).partition("\n## Deeper\n")[2]
    deep = deep.partition("\n## Where to read on\n")[0]
    sections = re.split(r"^### ", deep, flags=re.MULTILINE)[1:]
    assert sections
    silent = [
        section.splitlines()[0]
        for section in sections
        if "?" not in "\n".join(section.split("\n\n")[:2])
    ]
    assert silent == []


@every_chapter
def test_the_minutes_are_counted_by_the_build(page):
    line = (
        "**Time** {minutes}`main` minutes for the main path, {minutes}`deeper` "
        "for *Deeper*, {minutes}`exercises` for the exercises."
    )
    assert line in page.read_text("utf-8").splitlines()


def minutes(page: Path) -> float:
    """Count how long the main path takes, as the build does for its readers."""
    figures = above(page, "Summary").count(":::{caption}")
    shown = sum(map(is_open, cells_above(page, "Summary")))
    return words_of_main_path(page) / READING + figures + shown


def in_order() -> list[Path]:
    """Return the chapters that stand before the part *Deeper*, in their order."""
    contents = (
        (DOCS / "index.md").read_text("utf-8").partition(":caption: Deeper")[0]
    )
    names = re.findall(r"^chapters/([\w-]+)$", contents, re.MULTILINE)
    pages = {page.stem: page for page in CHAPTERS}
    return [pages[name] for name in names if name in pages]


def test_queries_and_keys_are_met_early():
    first, second, third = in_order()[:3]
    assert third.stem == "query-key-value"
    assert minutes(first) + minutes(second) <= BEFORE_QUERIES


def test_the_whole_way_is_a_day_of_reading():
    chapters = in_order()
    to_the_block = chapters[: [page.stem for page in chapters].index("block") + 1]
    assert sum(map(minutes, to_the_block)) <= TO_THE_BLOCK
    assert sum(map(minutes, chapters)) <= WHOLE_WAY
