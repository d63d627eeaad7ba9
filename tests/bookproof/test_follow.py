"""What a page shows of others follows them, and each edition has what it is for."""

import json
import re

import pytest
from lxml import html
from test_site import chapters, ledger, previews, promised, words

PREDICTION = (
    ":::{predict}\n:choices: more | fewer\nHow many?\n:::\n\nTwo.\n\n:::{predict-end}\n:::\n\n"
)
TERMS = "\n```{glossary}\nanswer\n  It is 42.\n\nquestion\n  Nobody knows.\n```\n"
QUESTION = "**1.** Who asks?\n: (a) I (b) You\n\n**2.** What is"


def test_pages_follow_others_though_nobody_has_touched_them(built):
    keys = re.findall(r'data-prediction="(word/\w{12})"', built.html("word"))
    built.edit("docs/word.md", "The sentence ends", "A sentence ends")
    built.edit("docs/word.md", "draw a line", "draw a long line")
    built.edit("docs/word.md", "Will it fail?", "Will it stop?")
    built.edit("docs/promise.md", "halve a number, and double it", "do as you like")
    built.edit("docs/promise.md", "A **dyad**", "A **couple**")
    built.edit("CHANGELOG.md", "The first pages.", "The very first pages.")
    assert built.build().good
    cover = built.html("index")
    assert words(ledger(built)[1][0][0]) == "A sentence ends with a full stop."
    assert chapters(built)["word"].startswith("2 A word Draw a long line.")
    assert "you will be able to do as you like." in cover
    assert "The very first pages." in built.html("changes")
    script = built.made("sections.js").read_text("utf-8")
    assert '"couple"' in script
    assert '"dyad"' not in script
    after = re.findall(r'data-prediction="(word/\w{12})"', built.html("word"))
    assert [new == old for new, old in zip(after, keys, strict=True)] == [True, False]

    built.edit("config/reseeded.json", '"digest": "', '"digest": "of other cells ')
    assert built.build().good
    assert words(ledger(built)[1][0][2]) == "–"


def test_what_is_added_to_a_page_is_found_elsewhere(built):
    """A term where it is linked, a prediction on the reading sheet; addresses stay what they were."""
    before = promised(built, "number")
    text = (built.root / "docs" / "data.md").read_text("utf-8")
    built.write("docs/data.md", text + TERMS)
    built.edit("docs/number.md", "It reaches one", "The {term}`answer` reaches one")
    built.edit("docs/number.md", "**1.** What is", QUESTION)
    built.edit("docs/promise.md", "# A promise\n", "# A promise\n\nWhat is $\\sigma$?\n")
    built.edit("docs/promise.md", "## Its *parts*\n", f"{PREDICTION}## Its *parts*\n")
    assert built.build().good
    [(name, kept)] = previews(built, "data").items()
    assert name == "term-answer"
    assert "It is 42." in kept
    assert "question" not in kept
    assert promised(built, "number") == {*before, "number#quiz-who-asks"}

    sheet = built.html("sheets/promise")
    said = " ".join(html.fromstring(sheet).text_content().split())
    assert "C A promise 1 minutes to read, 5 for exercises; builds on 2" in said
    assert "How many? more fewer" in said
    assert "Two." not in said
    assert "<h2>To look up</h2><div" in sheet  # the card
    assert "Halve it By hand. Level 1 of 5, 5 minutes" in said
    assert 'class="question"><p>What is <' in sheet
    assert "<h2>Words</h2>" not in sheet  # it has none
    assert 'href="sheets/promise.html"' in built.html("promise")


def paragraphs(book, page):
    """The beginnings of a page's paragraphs that have an address, by it."""
    found = re.findall(r'(?s)<p id="(p-[\w-]+)">(.*?)</p>', book.html(page))
    for name, inner in found:
        link = (
            f'<a class="headerlink paragraph" href="#{name}" tabindex="-1" aria-hidden="true"></a>'
        )
        assert inner.endswith(link)
    return {name: inner[:20] for name, inner in found}


def test_the_address_of_a_paragraph_survives_edits_elsewhere_and_at_its_end(built):
    before = paragraphs(built, "promise")
    assert len(before) > 3
    first = "Nothing is free, and so nothing is here without its price."
    built.edit("docs/promise.md", "A promise\n\n", f"A promise\n\n{first}\n\n{first}\n\n")
    built.edit("docs/promise.md", "= W^Q$.", "= W^Q$. It has two parts.")
    assert built.build().good
    after = paragraphs(built, "promise")
    assert before.items() <= after.items()
    new, again = list(after)[:2]
    assert again == f"{new}-2"


CREDIT = """
def setup(app):
    from bookproof.html.places import containers

    def know(app, doctree, docname):
        for place in containers(doctree, "syllabus"):
            place["credit"] = {"word": ["9 minutes", "2 points"]}

    app.connect("doctree-resolved", know, priority=100)
"""


ANSWER = "```{dropdown} Answer\n**(b).** It does.\nFor it must.\n(a) is $d$.\n(c) does not.\n```\n"


def test_weeks_have_a_column_for_credit_and_questions_are_written_beside_the_site(built):
    with (built.root / "config" / "conf.py").open("a") as file:
        file.write(CREDIT)
    options = ": (a) A *word*, not (c). (b) `word` (c) Nothing."
    built.edit("config/conf.py", '"sphinx_exercise",', '"sphinx_exercise", "sphinx_design",')
    built.edit("docs/word.md", options, f"{options}\n\n{ANSWER}")
    assert built.build().good
    (table,) = html.fromstring(built.html("index")).find_class("syllabus")
    last = [" ".join(" ".join(row[-1].itertext()).split()) for row in table.xpath(".//tr")]
    assert last == ["For credit", "", "9 minutes 2 points", ""]
    page = json.loads(built.made("questions/word.json").read_text("utf-8"))
    assert page["title"] == "A word"
    assert page["questions"] == [
        {
            "name": "word-1",
            "question": "What does $d$ print, as (b) says?",
            "options": ["A *word*, not (c).", "`word`", "Nothing."],
            "right": 1,
            "reasons": ["is $d$.", "It does. For it must.", "does not."],
        }
    ]


# -- Editions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "solutions", "notes"),
    [("", True, False), ("students", False, False), ("instructors", True, True)],
)
def test_each_edition_has_what_it_is_for(built, name, solutions, notes):
    missed = "word#fig-of-a-solution"
    with (built.root / "config" / "addresses.list").open("a") as file:
        file.write(f"{missed}\n")
    in_code = "```{code-cell}\nprint(6 * 7)\n```"
    built.edit("docs/word.md", "asked for it.\n", f"asked for it.\n\n{in_code}\n")
    made = built.build(f"-Dbookproof_edition={name}")
    # A figure in a solution is missed by the whole book alone.
    assert made.good == (name == "students")
    assert (f"{missed} lead nowhere" in made.said) == (name != "students")
    notebook = built.made("notebooks/word.ipynb").read_text("utf-8")
    assert ("Nobody knows" in built.page("word")) == solutions
    for part in ("Nobody knows", "6 * 7"):
        assert (part in notebook) == notes, "in a notebook, solutions are for instructors alone"
    assert ('"source": "..."' in notebook) == (solutions and not notes)
    assert ('class="fold solution printed"' in built.html("word")) == notes
    assert "What is the question?" in built.page("word")
    script = built.made("sections.js").read_text("utf-8")
    assert not re.search("Nobody knows|Many halve", script), "a search finds neither"
    files = [file for file in built.made("").rglob("*") if file.is_file()]
    with_note = {file.name for file in files if b"Many halve" in file.read_bytes()}
    assert with_note == ({"promise.html"} if notes else set())
