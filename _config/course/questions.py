r"""Write the book's questions for learning platforms: as GIFT, and as a package of QTI 2.1.

The build leaves the questions of each chapter in `_build/html/questions/`, with their references
resolved. This writes `_build/questions/NAME.gift` for each chapter, all of them as `questions.gift`,
and `questions-qti21.zip`. Formulas are TeX between `\(` and `\)`, as platforms' MathJax reads them.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "_build" / "html" / "questions"
MADE = ROOT / "_build" / "questions"
QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
MATCH = "http://www.imsglobal.org/question/qti_v2p1/rptemplates/match_correct"
EPOCH = (2020, 1, 1, 0, 0, 0)  # so that the same questions make the same file


@dataclass
class Chapter:
    """The questions of a chapter, as the build has left them."""

    name: str
    title: str
    questions: list[dict[str, Any]]


def chapters() -> list[Chapter]:
    """Return the chapters that ask something, in their order."""
    read = [(file.stem, json.loads(file.read_text("utf-8"))) for file in BUILT.glob("*.json")]
    read.sort(key=lambda pair: pair[1]["number"])
    return [Chapter(name, page["title"], page["questions"]) for name, page in read]


# -- Markdown as HTML -------------------------------------------------------------------


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


def reason(text: str) -> str:
    """Return what is said of an option as a sentence of its own.

    Example:
        >>> reason("is true of later rows."), reason("It is 1.")
        ('This answer is true of later rows.', 'It is 1.')
    """
    return f"This answer {text}" if text[:1].islower() else text


# -- GIFT ----------------------------------------------------------------------------------


def gift(chapter: Chapter) -> str:
    """Return the questions of a chapter in Moodle's GIFT.

    Source: https://docs.moodle.org/en/GIFT_format
    """
    head = f"// {chapter.title}\n$CATEGORY: {chapter.title.replace('/', '-')}\n"
    return "\n".join([head, *map(gift_question, chapter.questions)])


def gift_question(asked: dict[str, Any]) -> str:
    """Return one question, with a feedback for each option."""
    marks = ["=" if number == asked["right"] else "~" for number in range(len(asked["options"]))]
    options = [
        f"\t{mark}[html]{gift_text(option)}#[html]{gift_text(reason(why))}"
        for mark, option, why in zip(marks, asked["options"], asked["reasons"], strict=True)
    ]
    question = f"::{asked['name']}::[html]{gift_text(asked['question'])} {{"
    return "\n".join([question, *options, "}\n"])


def gift_text(text: str) -> str:
    """Return HTML in which GIFT takes no letter for its own."""
    return re.sub(r"([\\~=#{}:])", r"\\\1", html(text))


# -- QTI 2.1 ---------------------------------------------------------------------------------


def item(asked: dict[str, Any]) -> str:
    """Return one question as an item of QTI, with a feedback for each option."""
    offered = list(zip("abcdefgh", asked["options"], asked["reasons"], strict=False))
    right = offered[asked["right"]][0]
    choices = "".join(
        f'<simpleChoice identifier="{letter}">{html(option)}</simpleChoice>'
        for letter, option, _ in offered
    )
    feedback = "".join(
        f'<modalFeedback outcomeIdentifier="FEEDBACK" identifier="{letter}" showHide="show">'
        f"{html(reason(why))}</modalFeedback>"
        for letter, _, why in offered
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<assessmentItem xmlns="{QTI}" identifier="{asked["name"]}" title="{asked["name"]}"
  adaptive="false" timeDependent="false">
<responseDeclaration identifier="RESPONSE" cardinality="single" baseType="identifier">
<correctResponse><value>{right}</value></correctResponse>
</responseDeclaration>
<outcomeDeclaration identifier="SCORE" cardinality="single" baseType="float">
<defaultValue><value>0</value></defaultValue>
</outcomeDeclaration>
<outcomeDeclaration identifier="FEEDBACK" cardinality="single" baseType="identifier"/>
<itemBody><choiceInteraction responseIdentifier="RESPONSE" shuffle="true" maxChoices="1">
<prompt>{html(asked["question"])}</prompt>{choices}
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


def test(chapter: Chapter) -> str:
    """Return the questions of a chapter as a test of QTI."""
    parts = "".join(
        f'<assessmentItemRef identifier="{asked["name"]}" href="{asked["name"]}.xml"/>'
        for asked in chapter.questions
    )
    title = escape(chapter.title)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<assessmentTest xmlns="{QTI}" identifier="{chapter.name}" title="{title}">
<testPart identifier="part" navigationMode="nonlinear" submissionMode="individual">
<assessmentSection identifier="section" title="{title}" visible="true">{parts}</assessmentSection>
</testPart>
</assessmentTest>
"""


def manifest(found: list[Chapter]) -> str:
    """Return the list of what is in the package."""
    items = [
        resource(asked["name"], "imsqti_item_xmlv2p1", [])
        for chapter in found
        for asked in chapter.questions
    ]
    tests = [
        resource(
            f"test-{chapter.name}",
            "imsqti_test_xmlv2p1",
            [asked["name"] for asked in chapter.questions],
        )
        for chapter in found
    ]
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<manifest xmlns="http://www.imsglobal.org/xsd/imscp_v1p1" identifier="questions">
<metadata><schema>QTIv2.1 Package</schema><schemaversion>1.0.0</schemaversion></metadata>
<organizations/>
<resources>{"".join([*items, *tests])}</resources>
</manifest>
"""


def resource(name: str, kind: str, needs: list[str]) -> str:
    """Return one entry of the list."""
    needed = "".join(f'<dependency identifierref="{other}"/>' for other in needs)
    return (
        f'<resource identifier="{name}" type="{kind}" href="{name}.xml">'
        f'<file href="{name}.xml"/>{needed}</resource>'
    )


def package(found: list[Chapter]) -> Iterator[tuple[str, str]]:
    """Yield the files of the package."""
    yield "imsmanifest.xml", manifest(found)
    for chapter in found:
        yield f"test-{chapter.name}.xml", test(chapter)
        for asked in chapter.questions:
            yield f"{asked['name']}.xml", item(asked)


def main() -> None:
    """Write the questions of all chapters."""
    found = chapters() if BUILT.is_dir() else []
    if not found:
        sys.exit("There are no questions yet: run the session 'book' first.")
    MADE.mkdir(parents=True, exist_ok=True)
    for chapter in found:
        (MADE / f"{chapter.name}.gift").write_text(gift(chapter), "utf-8")
    (MADE / "questions.gift").write_text("\n".join(map(gift, found)), "utf-8")
    with ZipFile(MADE / "questions-qti21.zip", "w", ZIP_DEFLATED) as archive:
        for name, text in package(found):
            archive.writestr(ZipInfo(name, EPOCH), text)
    count = sum(len(chapter.questions) for chapter in found)
    print(f"{count} questions of {len(found)} chapters are in {MADE}.")


if __name__ == "__main__":
    main()
