"""Each page whose code can be seen is a notebook, too: in its words, with its code, for any Jupyter."""

import json
import re
import sys
from types import SimpleNamespace

import nbformat
import pytest
from bookproof.notebooks.markdown import block, line
from docutils import nodes


def notebook(book, name):
    file = book.root / "_build" / "html" / "notebooks" / f"{name}.ipynb"
    return nbformat.read(file, as_version=4)


def sources(book, name, kind):
    return [c.source for c in notebook(book, name).cells if c.cell_type == kind]


def test_a_notebook_is_one(built):
    nbformat.validate(notebook(built, "word"))
    assert notebook(built, "word").metadata.kernelspec.name == "python3"


def test_only_pages_with_code_in_sight_are_notebooks(built):
    made = (built.root / "_build" / "html" / "notebooks").iterdir()
    assert {file.stem for file in made} == {"data", "number", "word"}
    assert "notebooks/word.ipynb" in built.html("word")
    assert "notebooks/" not in built.html("promise")


def test_it_has_the_code_of_the_page_in_its_order_and_nothing_that_was_removed(
    built,
):
    install, first, second, check, *_ = sources(built, "word", "code")
    assert install.startswith("try:")
    assert first == "from tiny import words"
    assert second == 'print("word", words.sentence())'
    assert check.startswith("# checks: full stop\nassert")


def test_it_says_what_the_page_says(built):
    text = "\n\n".join(sources(built, "word", "markdown"))
    assert text.startswith("# A word\n\nIt reaches that module")
    assert "> **Claim.** The sentence ends with a full stop." in text
    assert "Both are shorter than Fig. 2.1." in text
    assert "**Fig. 2.1.** It fits." in text
    assert "**Predict**\n\nHow many lines does this print?" in text
    assert "Your prediction" not in text
    assert "**Solution**\n\nNobody knows" in text
    assert "| part | length |\n|---|---|\n| word | 4 |" in text


def test_equations_have_their_numbers(built):
    text = "\n\n".join(sources(built, "number", "markdown"))
    assert "$$\nd = a + a \\tag{1.1}\n$$" in text


def test_links_lead_to_the_site_where_it_is_known(built):
    before = "\n".join(sources(built, "number", "markdown"))
    assert "See also A word." in before
    built.edit("config/conf.py", 'html_baseurl = ""', 'html_baseurl = "https://b.org"')
    assert built.build().good
    text = "\n".join(sources(built, "number", "markdown"))
    assert "See also [A word](https://b.org/word.html)." in text


def offered(book, name):
    """The links of the line that offers a notebook."""
    line = re.search(r'<p class="notebook">(.*?)</p>', book.html(name))[1]
    return re.findall(r'href="(.*?)"', line)


def test_what_is_not_known_is_not_offered(built):
    assert offered(built, "word") == ["notebooks/word.ipynb"]


@pytest.mark.parametrize(
    ("repository", "elsewhere"),
    [
        (
            "https://github.com/some/book/",
            [
                "https://colab.research.google.com/github/some/book/blob/notebooks-v1.0/word.ipynb",
                "https://mybinder.org/v2/gh/some/book/notebooks-v1.0?labpath=word.ipynb",
            ],
        ),
        ("https://git.example/some/book", []),
    ],
)
def test_colab_and_binder_are_offered_for_what_they_find(built, repository, elsewhere):
    assert built.build(f"--define=bookproof_repository={repository}").good
    assert offered(built, "word") == ["notebooks/word.ipynb", *elsewhere]


# -- The first cell -------------------------------------------------------------------


def first_cell(book, capsys, **modules):
    """Run the first cell of a notebook where these modules can be had; return what it installs."""
    installed = []
    source = sources(book, "word", "code")[0]
    runnable = re.sub(r"%pip install (.*)", r"pip('\1')", source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "tiny", None)
        for name, module in modules.items():
            patch.setitem(sys.modules, name, module)
        exec(runnable, {"pip": installed.append})
    return installed, capsys.readouterr().out


def test_the_edition_is_taken_as_it_is_there(built, capsys):
    tiny = SimpleNamespace(__version__="1.0")
    assert first_cell(built, capsys, tiny=tiny) == ([], "")


def test_another_edition_is_named(built, capsys):
    _, said = first_cell(built, capsys, tiny=SimpleNamespace(__version__="0.8"))
    assert said == "This notebook belongs to edition 1.0 of tiny; this is 0.8.\n"


def test_a_missing_package_is_asked_for_where_nobody_knows_where_it_lies(built, capsys):
    with pytest.raises(ModuleNotFoundError, match=r"needs edition 1\.0 of tiny"):
        first_cell(built, capsys)


def test_a_missing_package_comes_from_its_edition_of_the_site(built, capsys):
    assert built.build("--define=html_baseurl=https://b.org/book").good
    installed, _ = first_cell(built, capsys)
    wheel = "https://b.org/book/v1.0/tiny-1.0-py3-none-any.whl"
    assert installed == [f"--quiet {wheel}"]


# -- The words ------------------------------------------------------------------------


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
    assert re.split(r"\n", block(box)) == ["> **Note**", "> ", "> Mind."]


def test_it_is_the_same_when_it_is_made_again(built):
    file = built.root / "_build" / "html" / "notebooks" / "word.ipynb"
    before = file.read_text("utf-8")
    assert built.build("-E").good
    assert file.read_text("utf-8") == before
    assert [c["id"] for c in json.loads(before)["cells"]][:2] == [
        "cell-0",
        "cell-1",
    ]
