"""Figures have numbers and captions, chapters are counted through, equations with them."""

import re

FIGURE = re.compile(r"(?s)<figure.*?</figure>")


def figures(book, name):
    return [re.sub(r"<[^>]+>", "", f).split() for f in FIGURE.findall(book.html(name))]


def test_a_picture_and_its_caption_are_a_figure_that_can_be_referred_to(built):
    html = built.html("word")
    figure = FIGURE.findall(html)[2]
    assert 'id="fig-a-line"' in figure
    assert "<svg " in figure
    assert "a line" not in figure  # what the cell prints is no part of it
    assert "A line has <em>no</em> width." in figure
    assert re.search(r'href="#fig-a-line"><span class="std std-numref">Fig. 2.3', html)


def test_chapters_are_counted_through_all_parts_and_behind_them_there_are_letters(
    built,
):
    names = ("number", "word", "data", "reference")
    numbers = [re.search(r'section-number">(\w+)\. <', built.html(name))[1] for name in names]
    assert numbers == ["1", "2", "A", "B"]
    assert [words[:3] for words in figures(built, "word")] == [
        ["Fig.", "2.1", "It"],
        ["Fig.", "2.2", "Both"],
        ["Fig.", "2.3", "A"],
    ]
    assert "(1.1)" in built.page("number")
    of_a_table = r'<h[2-6]>\s*<span class="section-number">'
    assert not re.search(of_a_table, built.html("reference"))


FAULTS = {
    "this caption follows no cell with a picture": ":::{caption} lost\nNothing.\n:::",
    "nothing ends this predict in its section": ":::{predict}\nWhat?\n:::",
    "this versus-end ends nothing": ":::{versus-end}\n:::",
    "this prediction has no answer": ":::{predict}\nWhat?\n:::\n\n:::{predict-end}\n:::",
    "a versus holds four things: wrong, right, and a verdict on each; got 1": (
        ":::{versus}\n:::\n\nOne.\n\n:::{versus-end}\n:::"
    ),
    "the picture of this cell has no caption": "```{code-cell}\nwords.Line(9)\n```",
}


def test_what_does_not_fit_together_is_named_with_its_line(built):
    page = built.root / "docs" / "word.md"
    text = page.read_text("utf-8")
    places = {}
    for number, (why, fault) in enumerate(FAULTS.items()):
        text += f"\n## {number}\n\n"
        # A cell is known by its last line.
        places[why] = text.count("\n") + 1 + 2 * fault.startswith("```")
        text += f"{fault}\n"
    page.write_text(text, "utf-8")
    failed = built.build()
    assert not failed.good
    for why, line in places.items():
        assert f"docs/word.md:{line}: WARNING: {why}" in failed.said
