r"""Write the book's questions for learning platforms: as GIFT, and as a package of QTI 2.1.

The build leaves the questions of each chapter in `_build/html/questions/`, with their references
resolved. This writes `_build/questions/NAME.gift` for each chapter, all of them as `questions.gift`,
and `questions-qti21.zip`. Formulas are TeX between `\(` and `\)`, as platforms' MathJax reads them.
"""

import json
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "_build" / "html" / "questions"
MADE = ROOT / "_build" / "questions"
EPOCH = (2020, 1, 1, 0, 0, 0)  # so that the same questions make the same file
Chapter = dict[str, Any]  # its name, number, title and questions, as the build has left them

ITEM = """<?xml version="1.0" encoding="UTF-8"?>
<assessmentItem xmlns="http://www.imsglobal.org/xsd/imsqti_v2p1" identifier="{name}" title="{name}"
  adaptive="false" timeDependent="false">
<responseDeclaration identifier="RESPONSE" cardinality="single" baseType="identifier">
<correctResponse><value>{right}</value></correctResponse>
</responseDeclaration>
<outcomeDeclaration identifier="SCORE" cardinality="single" baseType="float">
<defaultValue><value>0</value></defaultValue>
</outcomeDeclaration>
<outcomeDeclaration identifier="FEEDBACK" cardinality="single" baseType="identifier"/>
<itemBody><choiceInteraction responseIdentifier="RESPONSE" shuffle="true" maxChoices="1">
<prompt>{question}</prompt>{choices}
</choiceInteraction></itemBody>
<responseProcessing>
<responseCondition><responseIf><match><variable identifier="RESPONSE"/><correct
identifier="RESPONSE"/></match><setOutcomeValue identifier="SCORE"><baseValue
baseType="float">1</baseValue></setOutcomeValue></responseIf></responseCondition>
<setOutcomeValue identifier="FEEDBACK"><variable identifier="RESPONSE"/></setOutcomeValue>
</responseProcessing>
{feedback}
</assessmentItem>
"""
CHOICE = '<simpleChoice identifier="{letter}">{option}</simpleChoice>'
FEEDBACK = (
    '<modalFeedback outcomeIdentifier="FEEDBACK" identifier="{letter}" showHide="show">'
    "{reason}</modalFeedback>"
)
TEST = """<?xml version="1.0" encoding="UTF-8"?>
<assessmentTest xmlns="http://www.imsglobal.org/xsd/imsqti_v2p1" identifier="{name}" title="{title}">
<testPart identifier="part" navigationMode="nonlinear" submissionMode="individual">
<assessmentSection identifier="section" title="{title}" visible="true">{items}</assessmentSection>
</testPart>
</assessmentTest>
"""
MANIFEST = """<?xml version="1.0" encoding="UTF-8"?>
<manifest xmlns="http://www.imsglobal.org/xsd/imscp_v1p1" identifier="questions">
<metadata><schema>QTIv2.1 Package</schema><schemaversion>1.0.0</schemaversion></metadata>
<organizations/>
<resources>{resources}</resources>
</manifest>
"""


def chapters() -> list[Chapter]:
    """Return the chapters with questions, in their order."""
    read = [
        json.loads(file.read_text("utf-8")) | {"name": file.stem} for file in BUILT.glob("*.json")
    ]
    return sorted(read, key=lambda chapter: chapter["number"])


def formula(content: str, options: dict[str, Any]) -> str:
    """Write a formula as TeX that a platform's MathJax finds."""
    return rf"\({escape(content, quote=False)}\)"


READER = MarkdownIt("commonmark", {"xhtmlOut": True}).use(dollarmath_plugin, renderer=formula)


def html(text: str) -> str:
    r"""Return a line of Markdown as HTML.

    Example:
        >>> print(html("Is *w* in $a < b$, or `x`?"))
        Is <em>w</em> in \(a &lt; b\), or <code>x</code>?
    """
    written = READER.renderInline(text)
    return re.sub(r'</?(span|div|eq)( class="math[^"]*")?>', "", written)


def options(question: Chapter) -> Iterator[dict[str, str]]:
    """Yield the options of a question, each with its letter and reason, as HTML."""
    for letter, option, why in zip(
        "abcdefgh", question["options"], question["reasons"], strict=False
    ):
        reason = f"This answer {why}" if why[:1].islower() else why
        yield {"letter": letter, "option": html(option), "reason": html(reason)}


def right(question: Chapter) -> str:
    """Return the letter of the right option."""
    return "abcdefgh"[question["right"]]


def gift(chapter: Chapter) -> str:
    """Return the questions of a chapter in Moodle's GIFT.

    Source: https://docs.moodle.org/en/GIFT_format
    """
    lines = [f"// {chapter['title']}\n$CATEGORY: {chapter['title'].replace('/', '-')}\n"]
    for question in chapter["questions"]:
        lines.append(f"::{question['name']}::[html]{gift_text(html(question['question']))} {{")
        for each in options(question):
            mark = "=" if each["letter"] == right(question) else "~"
            option, reason = gift_text(each["option"]), gift_text(each["reason"])
            lines.append(f"\t{mark}[html]{option}#[html]{reason}")
        lines.append("}\n")
    return "\n".join(lines)


def gift_text(text: str) -> str:
    """Escape the characters that mean something in GIFT."""
    return re.sub(r"([\\~=#{}:])", r"\\\1", text)


def qti_item(question: Chapter) -> str:
    """Return one question as an item of QTI, with a feedback for each option."""
    return ITEM.format(
        name=question["name"],
        right=right(question),
        question=html(question["question"]),
        choices="".join(CHOICE.format(**each) for each in options(question)),
        feedback="".join(FEEDBACK.format(**each) for each in options(question)),
    )


def qti_test(chapter: Chapter) -> str:
    """Return the questions of a chapter as a test of QTI."""
    names = [question["name"] for question in chapter["questions"]]
    items = [f'<assessmentItemRef identifier="{name}" href="{name}.xml"/>' for name in names]
    title = escape(chapter["title"])
    return TEST.format(name=chapter["name"], title=title, items="".join(items))


def resource(name: str, kind: str, needs: list[str]) -> str:
    """Return one entry of the manifest."""
    needed = "".join(f'<dependency identifierref="{other}"/>' for other in needs)
    return (
        f'<resource identifier="{name}" type="imsqti_{kind}_xmlv2p1" href="{name}.xml">'
        f'<file href="{name}.xml"/>{needed}</resource>'
    )


def package(found: list[Chapter]) -> Iterator[tuple[str, str]]:
    """Yield the files of the package."""
    items, tests = [], []
    for chapter in found:
        names = [question["name"] for question in chapter["questions"]]
        items += [resource(name, "item", []) for name in names]
        tests.append(resource(f"test-{chapter['name']}", "test", names))
        yield f"test-{chapter['name']}.xml", qti_test(chapter)
        yield from (
            (f"{question['name']}.xml", qti_item(question)) for question in chapter["questions"]
        )
    yield "imsmanifest.xml", MANIFEST.format(resources="".join(items + tests))


def main() -> None:
    """Write the questions of all chapters."""
    found = chapters() if BUILT.is_dir() else []
    if not found:
        sys.exit("There are no questions yet: run the session 'book' first.")
    MADE.mkdir(parents=True, exist_ok=True)
    for chapter in found:
        (MADE / f"{chapter['name']}.gift").write_text(gift(chapter), "utf-8")
    (MADE / "questions.gift").write_text("\n".join(map(gift, found)), "utf-8")
    with ZipFile(MADE / "questions-qti21.zip", "w", ZIP_DEFLATED) as archive:
        for name, text in package(found):
            archive.writestr(ZipInfo(name, EPOCH), text)
    count = sum(len(chapter["questions"]) for chapter in found)
    print(f"{count} questions of {len(found)} chapters are in {MADE}.")


if __name__ == "__main__":
    main()
