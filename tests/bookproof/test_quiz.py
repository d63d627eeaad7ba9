"""The questions of a quiz are read off the page, each with a reason for every option."""

import json

import pytest
from bookproof.notebooks.quiz import told

ANSWER = """
```{dropdown} Answer
**(b).** It does.
For it must.
(a) is $d$.
(c) does not.
```
"""


def test_questions_are_written_beside_the_site(built):
    after = built.root / "docs" / "word.md"
    options = ": (a) A *word*, not (c). (b) `word` (c) Nothing."
    assert options in after.read_text("utf-8")
    built.edit(
        "config/conf.py",
        '"sphinx_exercise",',
        '"sphinx_exercise", "sphinx_design",',
    )
    built.edit("docs/word.md", options, options + "\n" + ANSWER)
    assert built.build().good
    file = built.root / "_build" / "html" / "questions" / "word.json"
    page = json.loads(file.read_text("utf-8"))
    assert page["title"] == "A word"
    (asked,) = page["questions"]
    assert asked == {
        "name": "word-1",
        "question": "What does $d$ print, as (b) says?",
        "options": ["A *word*, not (c).", "`word`", "Nothing."],
        "right": 1,
        "reasons": ["is $d$.", "It does. For it must.", "does not."],
    }


def test_an_answer_that_names_no_letter_is_refused():
    with pytest.raises(ValueError, match="must begin with the right letter in bold"):
        told(["It is (b)."], 3)


def test_what_is_said_of_no_option_belongs_to_the_one_before():
    right, reasons = told(["**(a).** Yes.", "(b) no.", "Not at all.", "(c) no."], 3)
    assert right == 0
    assert reasons == ["Yes.", "no. Not at all.", "no."]
