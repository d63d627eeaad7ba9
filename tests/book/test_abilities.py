"""The page of objectives says what the chapters say, and its picture shows what they need."""

import ast
import re

from tests.book.pages import CHAPTERS, DOCS, cells

ABILITIES = DOCS / "chapters" / "abilities.md"
TEXT = ABILITIES.read_text("utf-8")
PARTS = re.findall(
    r"```\{toctree\}\n:hidden:\n:caption: ([^\n]*)\n:numbered: 1\n\n(.*?)```",
    (DOCS / "index.md").read_text("utf-8"),
    re.DOTALL,
)
OF_CHAPTERS = {page.stem for page in CHAPTERS}
IN_ORDER = [
    name
    for _, listed in PARTS
    for name in re.findall(r"^chapters/(.*)$", listed, re.MULTILINE)
    if name in OF_CHAPTERS
]


def says(name: str, label: str) -> str:
    """Return what a chapter says behind a label of its opening."""
    text = (DOCS / "chapters" / f"{name}.md").read_text("utf-8")
    found = re.search(rf"^\*\*{label}\*\* (.*?)\n\n", text, re.DOTALL | re.M)
    assert found
    return found[1].replace("\n", " ")


def drawn(name: str) -> object:
    """Return a list or dictionary that the page draws."""
    for cell in cells(ABILITIES):
        for node in ast.parse(cell.code).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets) == name:
                return ast.literal_eval(node.value)
    raise AssertionError(f"no cell of the page makes {name}")


def test_every_chapter_has_its_place():
    assert set(IN_ORDER) == OF_CHAPTERS


def test_the_promises_of_all_parts_are_shown():
    of_parts = [
        part
        for part, listed in PARTS
        if any(f"chapters/{name}\n" in listed for name in OF_CHAPTERS)
    ]
    assert re.findall(r"^```\{objectives\} (.*)$", TEXT, re.M) == of_parts


def test_the_picture_names_the_chapters():
    titles = [
        re.search(r"^# (.*)$", (DOCS / "chapters" / f"{name}.md").read_text(), re.M)
        for name in IN_ORDER
    ]
    assert drawn("chapters") == [title[1] for title in titles if title]


def test_the_picture_shows_what_chapters_need():
    needed = [
        sorted(
            {
                IN_ORDER.index(other) + 1
                for other in re.findall(r"\]\(([\w-]+)\.md", says(name, "You need"))
                if other in OF_CHAPTERS
            }
        )
        for name in IN_ORDER
    ]
    assert drawn("builds_on") == needed


def test_no_chapter_needs_a_later_one():
    assert all(
        other < number
        for number, needed in enumerate(drawn("builds_on"), 1)
        for other in needed
    )


def test_the_picture_names_the_parts():
    firsts = {}
    for part, listed in PARTS:
        names = re.findall(r"^chapters/(.*)$", listed, re.MULTILINE)
        of_part = [name for name in names if name in OF_CHAPTERS]
        if of_part:
            firsts[part] = IN_ORDER.index(of_part[0]) + 1
    assert drawn("parts") == firsts
