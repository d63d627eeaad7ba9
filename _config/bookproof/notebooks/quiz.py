"""Write the questions of a quiz beside the site, as Markdown, with their options and reasons."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .cells import numbered
from .markdown import within, written

FOLDER = "questions"
NUMBER = re.compile(r"^\*\*\d+\.\*\*\s*")
LETTER = re.compile(r"^\(([a-z])\)\s*")
RIGHT = re.compile(r"^\*\*\(([a-z])\)\.?\*\*\s*")


@dataclass
class Question:
    """A question, its options in order, the number of the right one, and a reason for each."""

    name: str
    question: str
    options: list[str]
    right: int
    reasons: list[str]


def questions(page: nodes.document, pagename: str) -> Iterator[Question]:
    """Yield the questions of a page that have an answer."""
    asked = [rubric for rubric in page.findall(nodes.rubric) if is_answered(rubric)]
    for number, rubric in enumerate(asked, 1):
        place = rubric.parent.index(rubric)
        options, answer = rubric.parent[place + 1 : place + 3]
        offered = [LETTER.sub("", written(item.children)) for item in options]
        right, reasons = right_and_reasons(lines(answer), len(offered))
        name = f"{pagename.rpartition('/')[2]}-{number}"
        yield Question(name, NUMBER.sub("", within(rubric)), offered, right, reasons)


def is_answered(rubric: nodes.rubric) -> bool:
    place = rubric.parent.index(rubric)
    after = rubric.parent[place + 1 : place + 3]
    is_question = "quiz-question" in rubric["classes"] and len(after) == 2
    return is_question and "sd-dropdown" in after[1].get("classes", ())


def lines(answer: nodes.Element) -> list[str]:
    paragraphs = answer.findall(nodes.paragraph)
    return [part for text in paragraphs for part in re.split(r" (?=\([a-z]\) )", within(text))]


def right_and_reasons(parts: list[str], count: int) -> tuple[int, list[str]]:
    """Return which option is right, and what is said of each; what is said of none belongs to it."""
    reasons, current = [""] * count, 0
    first = RIGHT.match(parts[0]) if parts else None
    if first is None:
        raise ValueError(f"an answer must begin with the right letter in bold; got {parts[:1]}")
    right = current = ascii_lowercase.index(first[1])
    for part in [RIGHT.sub("", parts[0]), *parts[1:]]:
        if letter := LETTER.match(part):
            current = ascii_lowercase.index(letter[1])
        reasons[current] = f"{reasons[current]} {LETTER.sub('', part)}".strip()
    return right, reasons


def write(app: Sphinx, pagename: str, template: str, context: Any, doctree: Any) -> None:
    if doctree is None:
        return
    page = numbered(app, pagename, doctree)
    if found := [asdict(question) for question in questions(page, pagename)]:
        number = app.env.toc_secnumbers.get(pagename, {}).get("", ())
        content = {"title": app.env.titles[pagename].astext(), "number": list(number)}
        file = Path(app.outdir, FOLDER, f"{pagename.rpartition('/')[2]}.json")
        file.parent.mkdir(exist_ok=True)
        text = json.dumps(content | {"questions": found}, indent=1, ensure_ascii=False)
        file.write_text(text + "\n", "utf-8")


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", write, priority=400)
