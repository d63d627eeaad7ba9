"""Rules for a chapter: its parts in their order, and a main path that fits one sitting."""

import re
from collections.abc import Iterator

from .page import DEEPER, Book, Finding, Page

CAPTION = re.compile(r"^:::\{caption\}.*?^:::$", re.DOTALL | re.MULTILINE)
WORD = r"[A-Za-z]{2,}"
NO_WORD = re.compile(r"\$[^$]*\$|\{[\w:-]+\}|`[^`]*`|\]\([^)]*\)")
LABEL = r"^(?::label: |```\{claim\} |:::\{caption\} |\$\$\s*\()([\w-]+)"
STATEMENT = r"^(?:```\{claim\} |```\{math\}\n:label: |\$\$\s*\()([\w-]+)"
REFERENCE = r"\{(?:eq|numref|ref|claim|prf:ref)\}`(?:[^`<]*<)?([\w-]+)>?`"
TERM = r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`"


def count_words(text: str) -> int:
    """Count the words of a text, without captions, formulas and code."""
    return len(re.findall(WORD, NO_WORD.sub("", CAPTION.sub("", text))))


def main_path(page: Page) -> str:
    """Return the prose before the summary, which is the main path."""
    return page.prose.partition("\n## Summary\n")[0]


def minutes(page: Page, book: Book) -> float:
    """Estimate the minutes of the main path, as the build does for its readers."""
    main = main_path(page)
    cells = sum(cell.is_open for cell in page.cells if cell.line < page.section("Summary").start)
    figures = main.count(":::{caption}")
    return count_words(main) / book.settings["limits"]["words_a_minute"] + figures + cells


def sections(page: Page, book: Book) -> Iterator[Finding]:
    """End with the sections of every chapter, in their order."""
    if not re.search(r"^# .", page.prose, re.M):
        yield 1, "a chapter begins with a title"
    wanted = book.settings["chapter"]["sections"]
    headings = [(n, found[1]) for n, found in page.find(r"^## (.*)$", page.prose)]
    if [name for _, name in headings[-len(wanted) :]] != wanted or len(headings) == len(wanted):
        yield headings[-1][0] if headings else 1, f"a chapter ends with {', '.join(wanted)}"


def opening(page: Page, book: Book) -> Iterator[Finding]:
    """Open with a question and a figure, and then with a box of labeled lines."""
    chapter, limit = book.settings["chapter"], book.settings["limits"]["question_words"]
    head, box, rest = page.text.partition(f":::{{admonition}} {chapter['opening']}")
    if not box:
        yield 1, f"a chapter has a box {chapter['opening']!r}"
        return
    line, inside = head.count("\n") + 1, rest.partition("\n:::")[0]
    for label in chapter["labels"]:
        if f"**{label}**" not in inside:
            yield line, f"the box has a line {label!r}"
    if chapter["time"] not in page.lines:
        yield line, "the minutes are counted by the build"
    if ":::{caption}" not in head or "?" not in head.partition(":::{caption}")[0]:
        yield 1, "a question and a figure stand above the box"
    question = page.prose.partition("\n# ")[2].partition("\n")[2].partition(":::{admonition}")[0]
    if (count := count_words(question)) > limit:
        yield 1, f"the opening question has at most {limit} words; got {count}"


def set_up(page: Page, book: Book) -> Iterator[Finding]:
    """Import everything in the first cell, which is folded."""
    if not page.cells:
        yield 1, "a chapter has a first cell, with its imports"
        return
    first, *others = page.cells
    if not {"hide-input", "set-up"} <= set(re.findall(r"[\w-]+", first.tags)):
        yield first.line, "the first cell is folded, and tagged set-up"
    solutions = page.between("solution")
    for cell in others:
        if "remove-cell" in cell.tags or any(cell.line in part for part in solutions):
            continue
        if re.search(r"^(import|from) \w", cell.code, re.MULTILINE):
            yield cell.start, "imports belong into the first cell"


def main_path_length(page: Page, book: Book) -> Iterator[Finding]:
    """Keep the main path within one sitting."""
    limits, main = book.settings["limits"], main_path(page)
    end = page.section("Summary").start
    found = {
        "main_words": count_words(main),
        "main_minutes": minutes(page, book),
        "main_statements": sum(line < end for line, _ in page.find(STATEMENT)),
        "main_cells": sum(cell.is_open for cell in page.cells if cell.line < end),
    }
    for name, count in found.items():
        if count > limits[name]:
            what = name.removeprefix("main_")
            yield end, f"a main path has at most {limits[name]} {what}; got {count:.0f}"


def checked(page: Page, book: Book) -> Iterator[Finding]:
    """Check each claim and each equation with a label once, and nothing else."""
    stated = {found[1]: line for line, found in page.find(STATEMENT)}
    checks = [(cell.options["check"], cell.line) for cell in page.cells if cell.is_check]
    names = [name for name, _ in checks]
    for name, line in stated.items():
        if (count := names.count(name)) != 1:
            yield line, f"a claim or an equation has one check; got {count} of {name}"
    for name, line in checks:
        if name not in stated:
            yield line, f"a check names a claim or an equation of its page; got {name}"


def predictions(page: Page, book: Book) -> Iterator[Finding]:
    """Ask the reader to predict an output."""
    least = book.settings["limits"]["predictions"]
    if (count := page.prose.count(":::{predict}\n")) < least:
        yield 1, f"a chapter asks for at least {least} predictions; got {count}"


def quiz(page: Page, book: Book) -> Iterator[Finding]:
    """Ask three questions; explain each option; give away no answer by its letter or length."""
    start, text = page.section("Quiz").start, page.part("Quiz")
    answers = re.findall(r"\{dropdown\} Answer\n(.*?)```", text, re.DOTALL)
    asked = re.findall(r"^: (.*)\n\n```\{dropdown\} Answer\n\*\*\((\w)\)", text, re.M)
    if not len(answers) == len(asked) == 3:
        yield start, f"a quiz has three questions with answers; got {len(asked)}"
        return
    for answer in answers:
        if missing := {"(a)", "(b)", "(c)"} - set(re.findall(r"\([abc]\)", answer)):
            yield start, f"an answer explains each option; {', '.join(sorted(missing))} is missing"
    options = [re.split(r" ?\([abc]\) ", line)[1:] for line, _ in asked]
    right = ["abc".index(letter) for _, letter in asked]
    if sorted(right) != [0, 1, 2]:
        yield start, "each letter is right once"
    wins = [three[r] == max(three, key=len) for three, r in zip(options, right, strict=True)]
    if sum(wins) > 1:
        yield start, "the right option is the longest at most once"


def exercises(page: Page, book: Book) -> Iterator[Finding]:
    """Set four graded exercises, each with a solution."""
    count = book.settings["limits"]["exercises"]
    labels = re.findall(r"\{exercise\}.*\n:label: (\S+)", page.text)
    graded = re.findall(r"Level [1-5] of 5, \d+ minutes", page.text)
    start = page.section("Exercises").start
    if not len(labels) == len(graded) == count:
        found = f"{len(labels)} exercises and {len(graded)} levels"
        yield start, f"a chapter has {count} exercises with a level; got {found}"
    if re.findall(r"\{solution-start\} (\S+)", page.text) != labels:
        yield start, "each exercise has a solution, in the same order"


def listing(page: Page, book: Book) -> Iterator[Finding]:
    """Show the tested code."""
    if f"{{listing}} {book.settings['package']}." not in page.text:
        yield 1, "a chapter lists code of the package"


def page_length(page: Page, book: Book) -> Iterator[Finding]:
    """Keep the page short, folds included; notes for instructors are not in the readers' edition."""
    limit = book.settings["limits"]["page_words"]
    notes = {n for block in page.blocks if block.kind == "instructors" for n, _ in block.body}
    read = (line for n, line in enumerate(page.prose.splitlines(), 1) if n not in notes)
    if (count := len(re.findall(WORD, NO_WORD.sub("", "\n".join(read))))) > limit:
        yield 1, f"a page has at most {limit} words; got {count}"


def deeper(page: Page, book: Book) -> Iterator[Finding]:
    """Refer to nothing that only the page below the chapter explains, except to the page."""
    for other in (other for other in book.pages if other.name == page.name + DEEPER):
        labels = {label[1] for _, label in other.find(LABEL)}
        for line, found in page.find(REFERENCE):
            if found[1] in labels:
                yield line, f"a chapter does not need what goes deeper; got {found[1]}"
        if f"\n{other.name}\n" not in page.text:
            rule = "the table of contents of a chapter lists the page below it"
            yield 1, f"{rule}; got no {other.name}"


def deeper_sections(page: Page, book: Book) -> Iterator[Finding]:
    """Let each section of a page that goes deeper begin with a question."""
    starts = [n for n, _ in page.find(r"^## ", page.prose)] if page.is_deeper else []
    for start in starts:
        first = "\n".join(page.prose.splitlines()[start - 1 :]).split("\n\n")[:2]
        if "?" not in "\n".join(first):
            yield start, "a section that goes deeper begins with a question"


def unspoiled(page: Page, book: Book) -> Iterator[Finding]:
    """State no claim right after a prediction, and use no figure outside of its fold."""
    for fold in page.between("predict"):
        inside = "\n".join(page.lines[fold.start : fold.stop])
        figures = set(re.findall(r"^:::\{caption\} ([\w-]+)", inside, re.M))
        for line, found in page.find(REFERENCE):
            if found[1] in figures and line not in fold and not _is_hidden(page, line):
                yield line, f"a figure that the text uses is not in a closed fold; got {found[1]}"
        after = next((b for b in page.blocks if b.line > fold.stop), None)
        between = page.lines[fold.stop + 1 : after.line - 1 if after else fold.stop + 1]
        text = [line for line in between if line.strip()]
        if after and after.kind == "claim" and len(text) < 2:
            yield after.line, "no claim follows a prediction directly"


def _is_hidden(page: Page, line: int) -> bool:
    """Return whether a line is in a solution, in an answer or in notes for instructors."""
    kinds = ("dropdown", "instructors")
    folds = [range(b.line, b.end + 1) for b in page.blocks if b.kind in kinds]
    return any(line in fold for fold in (*folds, *page.between("solution")))


def terms(page: Page, book: Book) -> Iterator[Finding]:
    """Link to a few terms of the glossary, each once, in prose."""
    least, most = book.settings["limits"]["terms"]
    links = [found[1] for _, found in page.find(TERM)]
    if not least <= len(links) <= most:
        yield 1, f"a chapter links to {least} to {most} terms; got {len(links)}"
    if twice := {term for term in links if links.count(term) > 1}:
        yield 1, f"a term is linked once; got {', '.join(sorted(twice))} twice"
    lines = page.prose.splitlines()
    for line, found in page.find(TERM):
        if "{term}`" not in lines[line - 1] or lines[line - 1].lstrip().startswith(("#", "|", ":")):
            yield line, f"a term is linked in prose; got {found[1]}"
