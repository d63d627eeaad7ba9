"""The parts of the engine that need no book: words, formulas, lines of code, style sheets."""

import re
from datetime import date
from types import SimpleNamespace

import pytest
from bookproof.fresh import end_tasks_loudly
from bookproof.html.citing import Cited, in_bibtex, in_words
from bookproof.html.elements import shorten_titles
from bookproof.html.folds import label_folds, wrong_lines
from bookproof.html.formulas import names, plain
from bookproof.html.lean import lean, words_of
from bookproof.html.minutes import exercises, main, minutes
from bookproof.html.opening import description, first_sentences
from bookproof.layers import read_layers
from bookproof.listing import caption_of, source_without_docstring
from bookproof.notebooks.markdown import block, line
from bookproof.notebooks.quiz import right_and_reasons
from docutils import nodes
from docutils.utils import new_document
from myst_nb.sphinx_ import HideCodeCellNode
from pybtex.database import parse_string
from sphinx.addnodes import pending_xref
from sphinx.errors import SphinxParallelError
from sphinx.util.parallel import ParallelTasks
from sphinx_exercise.nodes import exercise_node


@pytest.mark.parametrize(
    ("tex", "text", "named"),
    [
        (r"d_{\text{model}}", "d_model", set()),
        (r"W^Q", "W^Q", set()),
        (r"\sqrt D", "√D", {"sqrt"}),
        (r"\sqrt{2}\,\sigma^2", "√2 σ^2", {"sqrt", "sigma"}),
        (r"\lambda \le \Omega", "λ ≤ Ω", {"lambda", "le", "omega"}),
        (r"\varepsilon", "ε", {"epsilon"}),
        (r"\tfrac{1}{2} \ln x", "1 / 2 ln x", set()),
        (r"\operatorname{relu}(x)", "relu(x)", set()),
        (r"\begin{aligned} a &= b \\ c \end{aligned}", "a = b c", set()),
    ],
)
def test_a_formula_as_text(tex, text, named):
    assert (plain(tex), names(tex)) == (text, named)


def test_a_long_paragraph_describes_with_whole_sentences():
    long = "A" * 150 + ". " + "B" * 60 + ". C."
    assert first_sentences(long) == "A" * 150 + "."
    assert first_sentences("Ends at 2.5 of it. So.") == "Ends at 2.5 of it. So."


def test_a_description_leaves_out_a_link_whose_text_is_not_known_yet():
    said = nodes.paragraph("", "", nodes.Text("It collapses ("), pending_xref())
    said += nodes.Text("). How fast?")
    assert description(nodes.section("", said)) == "It collapses. How fast?"


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("x = 1\nbroken_x = 2", [2]),
        ("@cache\ndef broken():\n    pass", [1, 2, 3]),
        ("class BrokenNorm:\n    pass\n", [1, 2]),
        ("print(broken_x)", []),
        ("for broken in x:\n    pass", [1, 2]),
        ("no Python", []),
    ],
)
def test_wrong_is_what_defines_a_broken_name(code, lines):
    assert wrong_lines(code) == lines


# -- The Markdown of notebooks, and quizzes --------------------------------------------


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (nodes.Text("2*3 and a_b"), r"2\*3 and a\_b"),
        (nodes.Text("one\ntwo"), "one two"),
        (nodes.literal("", "a*b"), "`a*b`"),
        (nodes.literal("", "a`b"), "`` a`b ``"),
        (nodes.math("", "a < b"), "$a < b$"),
        (nodes.emphasis("", "so"), "*so*"),
    ],
)
def test_words_are_written_so_that_markdown_leaves_them_alone(node, expected):
    assert line(node) == expected


def test_lists_and_quotations_keep_their_parts_together():
    item = nodes.list_item("", nodes.paragraph("", "one"), nodes.paragraph("", "more"))
    assert block(nodes.bullet_list("", item)) == "* one\n\n  more"
    box = nodes.admonition("", nodes.title("", "Note"), nodes.paragraph("", "Mind."))
    assert block(box).split("\n") == ["> **Note**", "> ", "> Mind."]


def test_an_answer_names_its_letter_and_what_is_said_of_no_option_belongs_to_the_one_before():
    parts = ["**(a).** Yes.", "(b) no.", "Not at all.", "(c) no."]
    assert right_and_reasons(parts, 3) == (0, ["Yes.", "no. Not at all.", "no."])
    with pytest.raises(ValueError, match="must begin with the right letter in bold"):
        right_and_reasons(["It is (b)."], 3)


# -- Folds and minutes -----------------------------------------------------------------


def folded(*, tags=(), figure=False, place="above-input"):
    fold = HideCodeCellNode(prompt_show="Show the source", classes=[place])
    output = nodes.container("", *([nodes.figure()] if figure else []))
    return nodes.container("", fold, output, cell_index=4, cell_metadata={"tags": tags})


@pytest.mark.parametrize(
    ("made", "label", "is_last"),
    [
        (folded(), "Show the source", False),
        (folded(tags=["hide-input", "set-up"]), "Set-up", False),
        (folded(tags=["hide-input", "set-up"], figure=True), "Set-up", False),
        (folded(figure=True), "Code of this figure", True),
        (folded(figure=True, place="below-input"), "Show the source", False),
    ],
)
def test_a_fold_says_what_it_holds_and_the_code_of_a_figure_follows_it(made, label, is_last):
    label_folds(None, made, "page")
    fold = next(made.findall(HideCodeCellNode))
    assert (fold["prompt_show"], fold["cell"], made[-1] is fold) == (label, 5, is_last)


def cell(*, hide_mode=None, has_code=True, **metadata):
    parts = [nodes.container(nb_element="cell_code_source")] if has_code else []
    look = {"hide_mode": hide_mode} if hide_mode else {}
    return nodes.container("", *parts, nb_element="cell_code", cell_metadata=metadata, **look)


def section(name, *parts):
    title = [nodes.title("", name)] if name else []
    return nodes.section("", *title, *parts, ids=[nodes.make_id(name)])


def prose(count, word="word", kind=nodes.paragraph):
    return kind("", " ".join([word] * count))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (prose(600), 3),
        (prose(1), 1),
        (prose(600, "x"), 1),
        (prose(600, kind=nodes.literal_block), 1),
        (section("", *[nodes.figure()] * 4), 4),
        (nodes.figure("", prose(600, kind=nodes.caption)), 1),
        (section("", *[cell()] * 5), 5),
        (section("", *[cell(hide_mode="output")] * 5), 5),
        (section("", *[cell(hide_mode="input")] * 5), 1),
        (section("", *[cell(hide_mode="all")] * 5), 1),
        (section("", *[cell(has_code=False)] * 5), 1),
        (section("", *[cell(check="it")] * 5), 1),
        (section("", prose(300), cell(), nodes.figure()), 4),
    ],
)
def test_a_reader_takes_so_many_minutes(part, expected):
    assert minutes([part]) == expected


def test_the_main_path_ends_at_the_summary():
    task = exercise_node("", nodes.paragraph("", "20 minutes. In 5 minutes."))
    parts = {"Its idea": 800, "Summary": 2000, "Further reading": 1000}
    sections = [section(name, prose(count)) for name, count in parts.items()]
    document = nodes.document(None, None)
    document += section("A page", prose(400), *sections, section("Exercises", task))
    assert (main(document), exercises(document)) == (6, 20)


def test_the_error_of_a_page_is_raised_while_others_wait_to_be_written(monkeypatch):
    def fail(page):
        raise ValueError(f"no {page}")

    monkeypatch.setattr(ParallelTasks, "terminate", end_tasks_loudly)
    tasks = ParallelTasks(1)
    tasks.add_task(fail, "page 1")
    (pipe,) = tasks._precvs.values()
    pipe.poll(timeout=60)
    with pytest.raises(SphinxParallelError, match="no page 1"):
        tasks.add_task(fail, "page 2")


# -- Citations -------------------------------------------------------------------------

SIGNS = r"50 % of $x_1$ & #2 {a ~ b^c \d in Zürich"
ESCAPED = {"braceleft": "{", "backslash": "\\", "asciitilde": "~", "asciicircum": "^"}


def cited(**changed):
    known = {"key": "k", "author": "A", "book": "B", "version": "1_0", "address": ""}
    known |= {"published": date(2026, 5, 4), "title": SIGNS, "number": "3"}
    return Cited(**(known | changed))


def fields(cited):
    ((_, found),) = parse_string(in_bibtex(cited), "bibtex").entries.items()
    return found.fields


def test_a_citation_is_read_as_it_was_written():
    title = fields(cited())["title"]
    for escaped, sign in ESCAPED.items():
        title = title.replace(f"\\text{escaped}{{}}", sign)
    assert re.sub(r"\\([&%$#_])", r"\1", title) == f"{{{SIGNS}}}"
    said = in_words(cited(title="Is 1 < 2?", book="A & B"))
    assert said == "A (2026). Is 1 &lt; 2? Chapter 3 of <em>A &amp; B</em>, version 1_0."
    assert not {"year", "month"} & set(fields(cited(published=None)))
    assert in_words(cited(published=None)).startswith("A. ")
    for month in range(1, 13):
        day = date(2026, month, 1)
        assert fields(cited(published=day))["month"] == f"{day:%B}"


# -- The lean theme --------------------------------------------------------------------

PALETTES = """
html:not([data-theme]){--pst-color-text:#111;--pst-size:1px}
html[data-theme=light]{--pst-color-text:#111;--pst-size:1px;--only-here:1}
html[data-theme=dark]{--pst-color-text:#eee;--pst-size:1px;color-scheme:dark}
"""


def test_a_rule_stays_if_a_page_or_a_script_has_all_of_its_classes():
    css = ".a,.b .c,.a:not(.d){x:1}.d{x:2}p{x:3}@media print{.d{x:4}}@media print{.a{x:5}}"
    assert lean(css, {"a", "b"}) == ".a,.a:not(.d){x:1}p{x:3}@media print{.a{x:5}}"
    assert lean("/*! BSD *//* why */.a{x:1}", set()) == "/*! BSD */", "a licence stays"
    once = lean(PALETTES + ".a{x:1}/*# sourceMappingURL=a.css.map */", {"a"})
    assert lean(once, {"a"}) == once
    assert "sourceMappingURL" not in once


def test_colors_of_both_modes_are_said_once_as_pairs():
    said = lean(PALETTES, set())
    assert said.count("{") == 1
    assert "--pst-color-text:light-dark(#111,#eee)" in said
    assert "--pst-size:1px" in said
    assert not re.search("only-here|color-scheme", said)
    css = """
    html[data-theme="light"] .highlight .k { color: #6730C5 } /* Keyword */
    html[data-theme="light"] .highlight .n { color: #080808 }
    html[data-theme="dark"] .highlight .k { color: #dcc6e0; font-weight: bold }
    """
    said = lean(css, {"highlight", "k", "n"})
    assert ":root .highlight .k{color:light-dark(#6730C5,#dcc6e0)}" in said
    assert 'html[data-theme="light"] .highlight .n' in said  # the other side says nothing


@pytest.mark.parametrize(("page", "stays"), [("<i class='x'>", 0), ('<i class="fa-x">', 1)])
def test_the_font_of_icons_stays_where_a_page_shows_one(page, stays):
    css = '@font-face{font-family:"Font Awesome 6 Free";src:url(a.woff2)}'
    assert lean(css, words_of([page], [])).count("@font-face") == stays


# -- Layers and listings ----------------------------------------------------------------

PROJECT = """
[tool.importlinter]
root_package = "tiny"

[[tool.importlinter.contracts]]
name = "independent"
type = "independence"

[[tool.importlinter.contracts]]
name = "floors"
type = "layers"
layers = ["room", "words | numbers", "__main__"]
"""
TINY = {
    "room/__init__": '"""Run it."""\n',
    "words": '"""Words, in ``x``.\n\nMany."""\n',
    "numbers": "x = 1\n",
    "__main__": '"""The door."""\n',
}


def test_layers_come_from_the_top_with_what_each_module_is_for(tmp_path):
    project = tmp_path / "pyproject.toml"
    project.write_text(PROJECT, "utf-8")
    (tmp_path / "tiny" / "room").mkdir(parents=True)
    for module, text in TINY.items():
        (tmp_path / "tiny" / f"{module}.py").write_text(text, "utf-8")
    words = [("words", "Words, in x."), ("numbers", "")]
    floors = [[("room", "Run it.")], words, [("__main__", "The door.")]]
    assert read_layers(project) == ("tiny", floors)


class Counter:
    """It counts."""

    start = 1

    @property
    def count(self) -> int:
        """Return a number.

        Of the second kind.
        """

        # Added first, so that nothing is lost.
        return self.start + 1

    def _hidden(self):
        "One line."


COUNT = """@property
def count(self) -> int:
    # Added first, so that nothing is lost.
    return self.start + 1"""


def test_a_listing_is_the_source_without_docstrings():
    assert source_without_docstring(Counter.count.fget) == COUNT
    source = source_without_docstring(Counter)
    assert source.startswith("class Counter:\n    start = 1\n\n    @property")
    assert '"' not in source


def test_the_caption_is_the_name_in_the_package_and_links_to_the_reference():
    assert caption_of("tiny.numbers.answer") == "{py:obj}`numbers.answer <tiny.numbers.answer>`"
    assert caption_of("tiny") == "{py:obj}`tiny <tiny>`"
    assert caption_of("tiny.words.Line._make") == "`words.Line._make`"  # not in the reference


def linked(*names):
    """Return what links to pages read as, each of which a title is, in a book of these titles."""
    env = SimpleNamespace(titles={name: nodes.title("", name) for name in names})
    links = [nodes.reference("", "", nodes.inline("", name), internal=True) for name in names]
    page = new_document("page")
    page += nodes.paragraph("", "", *links)
    shorten_titles(SimpleNamespace(env=env), page, "page")
    return [link.astext() for link in links]


def test_a_link_to_a_page_ends_before_the_colon_of_its_title_unless_others_begin_so():
    titles = ["Masks", "The block: its parts", "Deeper: masks", "Deeper: the block"]
    assert linked(*titles) == ["Masks", "The block", "Deeper: masks", "Deeper: the block"]
