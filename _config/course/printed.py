"""Print exercises by hand: a page with numbers of their own for each student, and a key.

The pages are `printed.pdf` in the folder of a week, and the key is `printed-key.pdf` beside it.
"""

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from sphinxcontrib import katex

from _config.course.for_otter import worth
from _config.course.questions import READER
from _config.course.submissions import Student
from _config.course.weeks import ROOT, Exercise, Week
from tests.browser.site import launched

NUMBER = re.compile(r'`numbers\["(\w+)"\]([^`]*)`')
STYLES = ROOT / "_config" / "static" / "katex" / "katex.min.css"
SCRIPTS = Path(katex.__file__).parent
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="stylesheet" href="{styles}">
<script src="{scripts}/katex.min.js"></script><script src="{scripts}/auto-render.min.js"></script>
<style>
@page {{ size: A4; margin: 18mm; }}
body {{ font: 11pt/1.45 sans-serif; }}
section {{ break-after: page; }}
header, .answer {{ display: flex; gap: 1em; justify-content: space-between; align-items: end; }}
h1 {{ font-size: 15pt; }}
.answer b {{ width: 9em; }}
.answer span {{ flex: 1; height: 2.2em; border-bottom: 1px solid; }}
table {{ border-collapse: collapse; width: 100%; font-size: 9pt; }}
th, td {{ border: 1px solid #999; padding: .2em .4em; text-align: left; vertical-align: top; }}
tr {{ break-inside: avoid; }}
</style></head><body>{body}
<script>renderMathInElement(document.body, {{throwOnError: true}});</script></body></html>"""


def page(week: Week, exercise: Exercise, code: str, student: Student) -> str:
    """Return the page of a student as HTML: the exercise with that student's numbers, and lines."""
    numbers = week.drawn(code, student.id)
    asked = NUMBER.sub(lambda found: f"**{shown(numbers[found[1]])}**{found[2]}", exercise.text)
    right = week.checked(code, student.id)[exercise.name].right()
    lines = "".join(
        f'<p class="answer"><b>{name}</b>{"<span></span>" * len(listed(answer))}</p>'
        for name, answer in right.items()
    )
    who = f"<span>{escape(student.name)}</span><span>id: {escape(student.id)}</span>"
    text = f"# {exercise.title}\n\n{worth(exercise)}\n\n{asked}"
    head = f"<header><span>Week {week.number}: {escape(week.title)}</span>{who}</header>"
    return f"<section>{head}{READER.render(text)}{lines}</section>"


def key(week: Week, exercise: Exercise, code: str, who: Iterable[Student]) -> str:
    """Return the right numbers of all students as an HTML table, a student a row."""
    rows = []
    for student in who:
        right = week.checked(code, student.id)[exercise.name].right()
        cells = [student.id, student.name, *map(shown, right.values())]
        rows.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
    heads = "".join(f"<th>{head}</th>" for head in ("id", "name", *right))
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<h1>Key: {escape(exercise.title)}</h1><table><tr>{heads}</tr>{table}</table>"


def shown(value: Any) -> str:
    """Write a number or a list of them with four digits.

    Example:
        >>> shown([1 / 3, 2]), shown(20000), shown("halves")
        ('0.3333, 2', '20000', 'halves')
    """
    return ", ".join(f"{x:.4g}" if isinstance(x, float) else str(x) for x in listed(value))


def listed(value: Any) -> list[Any]:
    """Return a list as it is, and one value as a list."""
    return value if isinstance(value, list) else [value]


def write(week: Week, code: str, who: list[Student], folder: Path) -> int:
    """Print the pages and the key of a week, and return how many exercises by hand it has."""
    found = [exercise for exercise in week.exercises if exercise.kind == "by hand"]
    pages = [page(week, exercise, code, student) for student in who for exercise in found]
    keys = [key(week, exercise, code, who) for exercise in found]
    if found:
        with launched() as browser:
            for name, parts in {"printed": pages, "printed-key": keys}.items():
                file = folder / f"{name}.html"
                settings = {"styles": STYLES.as_uri(), "scripts": SCRIPTS.as_uri()}
                text = PAGE.format(title=escape(week.title), body="".join(parts), **settings)
                file.write_text(text, "utf-8")
                opened = browser.new_page()
                opened.goto(file.as_uri())
                opened.pdf(path=file.with_suffix(".pdf"), prefer_css_page_size=True)
                file.unlink()  # it leads to files of this machine
    return len(found)
