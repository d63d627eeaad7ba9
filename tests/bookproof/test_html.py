"""What the strict build refuses, with the book's own configuration on a book of one page."""

import re

import pytest
from alt_text import title_and_width
from book import NOTEBOOK


def test_a_page_with_mathematics_and_a_listing_is_built(build):
    listing = "selfattn_book.attention.masked_softmax"
    page = (
        f"# Page\n\n$x^2$ and\n\n```{{listing}} {listing}\n```\n\n"
        "```{toctree}\nextra\n```\n"
    )
    reference = (
        f"# Reference\n\n```{{eval-rst}}\n.. autofunction:: {listing}\n```\n"
    )
    code, messages = build(page, extra=reference)
    assert code == 0, messages
    html = (build.site / "page.html").read_text("utf-8")
    assert f'href="extra.html#{listing}"' in html
    assert "katex-html" in html
    assert "masked_fill" in html
    assert "Turn scores into weights" not in html


@pytest.mark.parametrize(
    ("page", "place", "message"),
    [
        (
            "# P\n\n```{listing} selfattn_book.masks.no_such_mask\n```\n",
            "page.md:3",
            "no_such_mask",
        ),
        (
            "# P\n\n```{listing} no_such_package.thing\n```\n",
            "page.md:3",
            "no_such_package",
        ),
        ("# P\n\n{eq}`nowhere`\n", "page.md:3", "nowhere"),
        ("# P\n\n{cite:t}`nobody1900nothing`\n", "page.md:3", "nobody1900nothing"),
        ("# P\n\n[](nowhere.md)\n", "page.md:3", "nowhere"),
        ("# P\n\n{py:func}`selfattn_book.no_such`\n", "page.md:3", "no_such"),
    ],
)
def test_what_points_nowhere_is_named_with_its_place(build, page, place, message):
    code, messages = build(page)
    assert code != 0
    assert place in messages
    assert message in messages


def test_broken_mathematics_is_named(build):
    code, messages = build("# P\n\n$\\frac{1}$\n")
    assert code != 0
    assert "page.md:3" in messages
    assert "KaTeX parse error" in messages


def test_a_page_outside_of_the_table_of_contents_is_named(build):
    code, messages = build("# P\n", extra="# Extra\n")
    assert code != 0
    assert "extra.md" in messages
    assert "toctree" in messages


def test_a_failing_cell_fails_the_build_twice(build):
    page = NOTEBOOK + "# P\n\n```{code-cell}\nassert 1 + 1 == 3\n```\n"
    for _ in range(2):
        code, messages = build(page)
        assert code != 0
        assert "page.md" in messages
        assert "assert 1 + 1 == 3" in messages


def test_a_picture_without_a_text_alternative_is_refused(build):
    drawing = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
    code, messages = build(NOTEBOOK + f"# P\n\n```{{code-cell}}\n{drawing}\n```\n")
    assert code != 0
    assert "page.md" in messages
    assert "no text alternative" in messages


def test_the_alt_text_of_a_picture_is_made_from_its_data(build):
    drawing = "from selfattn_book.plotting import heatmap\nheatmap([[1.0, 2.0]], title='Two');"
    code, messages = build(NOTEBOOK + f"# P\n\n```{{code-cell}}\n{drawing}\n```\n")
    assert code == 0, messages
    html = (build.site / "page.html").read_text("utf-8")
    assert 'alt="Two. Heat map, 1 rows by 2 columns. 0: 1.00, 2.00."' in html


def test_a_solution_is_folded_and_a_hidden_output_too(build):
    exercise = "```{exercise} T\n:label: e\n:nonumber:\nQ\n```\n"
    solution = "````{solution-start} e\n````\n\nA\n\n````{solution-end}\n````\n"
    hidden = "```{code-cell}\n:tags: [hide-output]\n6 * 7\n```\n"
    code, messages = build(NOTEBOOK + f"# P\n\n{exercise}\n{solution}\n{hidden}")
    assert code == 0, messages
    html = (build.site / "page.html").read_text("utf-8")
    assert "<summary>Solution</summary>" in html
    assert "<summary>Show the output</summary>" in html
    assert 'id="exercise-content"' not in html


def test_a_formula_keeps_the_mark_that_follows_it(build):
    code, messages = build(
        "# P\n\nA **bold word**. Here is $i$. And $j$, and $k$ alone.\n"
    )
    assert code == 0, messages
    html = (build.site / "page.html").read_text("utf-8")
    assert html.count('<span class="nobr">') == 2
    text = re.sub(r"<[^>]+>", "", html[html.index("A <strong>") :])
    assert text.startswith("A bold word. Here is ")
    assert ".." not in text.split("alone.")[0]


def test_the_bibliography_is_a_list_without_labels(build):
    page = "# P\n\n{cite:t}`bloem2019transformers`\n\n```{bibliography}\n```\n"
    code, messages = build(page)
    assert code == 0, messages
    html = (build.site / "page.html").read_text("utf-8")
    assert re.search(
        r'<ul class="citation-list">\s*<li class="citation" id="id\d+">', html
    )
    assert "doc-biblioentry" not in html
    assert 'class="label"' not in html


def test_an_equation_has_its_id_once(build):
    equation = "```{math}\n:label: sum\n1 + 1 = 2\n```\n\n"
    check = "```{code-cell}\n:check: sum\nassert 1 + 1 == 2\n```\n"
    code, messages = build(NOTEBOOK + "# P\n\n" + equation + check)
    assert code == 0, messages
    assert (build.site / "page.html").read_text("utf-8").count(
        'id="equation-sum"'
    ) == 1


def test_wide_pictures_are_marked(build):
    cells = [
        f"```{{code-cell}}\nheatmap([[1.0, 2.0]], ax=panels({count})[0]);\n```\n\n"
        for count in (1, 3)
    ]
    first = (
        "```{code-cell}\nfrom selfattn_book.figure import panels\n"
        "from selfattn_book.plotting import heatmap\n```\n\n"
    )
    code, messages = build(NOTEBOOK + "# P\n\n" + first + "".join(cells))
    assert code == 0, messages
    html = (build.site / "page.html").read_text("utf-8")
    images = re.findall(r"<img [^>]*_images[^>]*>", html)
    assert ["wide" in image for image in images] == [False, True]


@pytest.mark.parametrize(
    ("width", "points"), [("612pt", 612), ("100%", 0), ("9cm", 0)]
)
def test_the_width_of_a_picture_counts_if_it_is_in_points(tmp_path, width, points):
    file = tmp_path / "picture.svg"
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}"><title>A</title></svg>'
    file.write_text(svg, "utf-8")
    assert title_and_width(file) == ("A", points)
