"""The minutes of a page are counted: words, figures, and cells whose code is in sight."""

import re

import pytest
from bookproof.html.minutes import deeper, exercises, main, minutes
from docutils import nodes
from sphinx_exercise.nodes import exercise_node


def cell(*, hide_mode=None, has_code=True, **metadata):
    parts = [nodes.container(nb_element="cell_code_source")] if has_code else []
    look = {"hide_mode": hide_mode} if hide_mode else {}
    return nodes.container("", *parts, nb_element="cell_code", cell_metadata=metadata, **look)


def prose(count, word="word"):
    return nodes.paragraph("", " ".join([word] * count))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (prose(600), 3),
        (prose(1), 1),
        (prose(600, "x"), 1),
        (nodes.literal_block("", " ".join(["word"] * 600)), 1),
        (nodes.section("", *[nodes.figure()] * 4), 4),
        (
            nodes.figure("", nodes.caption("", " ".join(["word"] * 600))),
            1,
        ),
        (nodes.section("", *[cell()] * 5), 5),
        (nodes.section("", *[cell(hide_mode="output")] * 5), 5),
        (nodes.section("", *[cell(hide_mode="input")] * 5), 1),
        (nodes.section("", *[cell(hide_mode="all")] * 5), 1),
        (nodes.section("", *[cell(has_code=False)] * 5), 1),
        (nodes.section("", *[cell(check="it")] * 5), 1),
        (nodes.section("", prose(300), cell(), nodes.figure()), 4),
    ],
)
def test_a_reader_takes_so_many_minutes(part, expected):
    assert minutes([part]) == expected


def section(name, *parts):
    return nodes.section("", nodes.title("", name), *parts)


def test_the_main_path_ends_at_the_summary_and_what_is_deeper_has_its_own_minutes():
    task = exercise_node("", nodes.paragraph("", "20 minutes. In 5 minutes."))
    page = section(
        "A page",
        prose(400),
        section("Its idea", prose(800)),
        section("Summary", prose(2000)),
        section("Exercises", task),
        section("Deeper", prose(1600)),
        section("Where to read on", prose(1000)),
    )
    document = nodes.document(None, None)
    document += page
    assert (main(document), deeper(document), exercises(document)) == (6, 8, 20)


def test_a_page_says_them_and_so_does_the_cover(built):
    said = re.sub(r"<[^>]+>", "", built.html("promise"))
    assert "1 minutes to read, 1 for more, 5 for the exercises." in said


def test_minutes_of_anything_else_are_refused(built):
    built.edit("docs/promise.md", "{minutes}`main`", "{minutes}`all`")
    refused = built.build()
    assert not refused.good
    wanted = r"promise\.md:\d+: WARNING: minutes are of main, deeper, exercises; got 'all'"
    assert re.search(wanted, refused.said)
