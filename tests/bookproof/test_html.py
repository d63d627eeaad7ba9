"""What pages of the small book look like, and what a strict build refuses to make of a page."""

import re


def test_a_listing_links_to_the_reference_and_leaves_the_docstring_out(built):
    html = built.html("number")
    listing = html[html.index("This is the code") : html.index("A <strong>")]
    assert 'href="reference.html#tiny.numbers.answer"' in listing
    assert "numbers.answer" in listing
    assert "Return the answer." not in listing
    assert "return 42" in built.page("number")


def test_mathematics_is_rendered_and_an_equation_has_its_id_once(built):
    html = built.html("number")
    assert "katex-html" in html
    assert html.count('id="equation-twice"') == 1


def test_many_pages_are_written_side_by_side_each_with_its_own_formulas(built):
    names = [f"page_{number}" for number in range(20)]
    formulas = {name: [f"x_{{{name}}} + {n}" for n in range(50)] for name in names}
    for name, own in formulas.items():
        text = "\n".join(f"${formula}$" for formula in own)
        built.write(f"docs/{name}.md", f"# {name}\n\n{text}\n")
    built.edit("docs/index.md", "promise\nch", "\n".join(["promise", *names, "ch"]))
    assert built.build().good
    for name, own in formulas.items():
        found = re.findall(r"<annotation[^>]*>(.*?)</annotation>", built.html(name))
        assert found == own

    built.edit("docs/page_17.md", "+ 49", r"+ \nothing")
    broken = built.build()
    assert not broken.good
    assert "docs/page_17.md" in broken.said
    assert broken.said.count("nothing") == 1


def test_a_formula_keeps_the_mark_that_follows_it(built):
    html = built.html("number")
    assert html.count('<span class="nobr">') == 3
    text = re.sub(r"<[^>]+>", "", html[html.index("A <strong>") :])
    assert text.startswith("A whole number is here: ")
    assert ".." not in text.split("halves it")[0]


def test_a_picture_stands_in_its_page_with_the_text_that_it_brings(built):
    one, many, _ = re.findall(r'<div class="picture">(.*?)</div>', built.html("word"), re.DOTALL)
    assert one.startswith("<svg ")
    assert re.findall('aria-label="(.*?)"', one) == ["A line of 300 points."]
    assert '<path d="M0 4h300" />' in one
    assert many.count("<svg ") == many.count("</svg>") == 2  # not a third around them
    texts = ["A line of 200 points.", "A line of 100 points."]
    assert re.findall('aria-label="(.*?)"', many) == texts
    assert list((built.root / "_build" / "html").glob("_images/*.svg")) == []


def test_a_line_that_is_printed_in_pieces_is_one(built):
    assert built.page("data").count("one line of three pieces\n  and another\n") == 1


def test_a_solution_is_folded_and_a_hidden_output_too(built):
    html = built.html("word")
    labels = re.findall(r"<summary>(.*?)</summary>", html)
    whole = [re.sub(r"<.*?>", "", label) for label in labels]
    assert "Solution to Exercise (Ask)" in whole
    assert any(re.fullmatch(r"Show the output of cell \d+", name) for name in whole)
    assert labels[whole.index("Solution to Exercise (Ask)")].startswith("Solution<span")
    assert len(set(whole)) == len(whole)
    assert 'id="exercise-content"' not in html


def test_an_exercise_and_a_question_are_headings_and_options_a_list(built):
    html = built.html("word")
    assert re.search(
        r'<h(\d) class="admonition-title rubric">Exercise \(Ask\)<a [^>]*></a></h\1>',
        html,
    )
    [question] = re.findall(r'<h3 class="quiz-question rubric"[^>]*>(.*?)</h3>', html)
    assert re.sub(r"<.*?>", "", question).startswith("1. What does ")
    [options] = re.findall(r'(?s)<ol class="[^"]*options[^"]*">(.*?)</ol>', html)
    texts = [
        re.sub(r"\s*<.*?>\s*", "", item) for item in re.findall(r"(?s)<li>(.*?)</li>", options)
    ]
    assert texts == ["(a) Aword, not (c).", "(b)word", "(c) Nothing."]


def test_a_header_of_a_table_says_of_what(built):
    head = re.findall(r"<th [^>]*>", built.html("word"))
    assert len(head) == 2
    assert all('scope="col"' in cell for cell in head)
    of_letters = built.html("promise").partition("<thead>")[2].partition("</thead>")[0]
    assert re.findall(r"<(t[hd])\b", of_letters) == ["th", "td", "th"]
    assert of_letters.count("</td>") == 1


def test_the_bibliography_is_a_list_without_labels(built):
    html = built.html("word")
    entry = r'<ul class="citation-list">\s*<li class="citation" id="id\d+">'
    assert re.search(entry, html)
    assert "doc-biblioentry" not in html
    assert 'class="label"' not in html


FAULTS = [
    ("```{listing} tiny.numbers.no_such_thing\n```", "no_such_thing"),
    ("```{listing} no_such_package.thing\n```", "no_such_package"),
    ("{eq}`nowhere`", "nowhere"),
    ("{cite:t}`nobody1900nothing`", "nobody1900nothing"),
    ("[](nothing.md)", "nothing"),
    ("{py:func}`tiny.no_such`", "no_such"),
    ("$\\frac{1}$", "KaTeX parse error"),
    ("![](dot.svg)", "this picture has no text alternative"),
    ("```{claim} nothing\n```", "ontent block expected"),
]


def test_every_fault_of_a_page_is_named_with_its_place(built):
    """Each on a line that begins so fails a strict build; that of one is tried elsewhere."""
    built.write("docs/dot.svg", '<svg xmlns="http://www.w3.org/2000/svg"/>')
    built.write("docs/faults.md", "# F\n\n" + "\n\n".join(text for text, _ in FAULTS))
    built.write("docs/outside.md", "# Outside of the table of contents\n")
    built.edit("docs/index.md", "data\n", "data\nfaults\n")
    failed = built.build()
    assert not failed.good
    line = 3
    for text, why in FAULTS:
        place = rf"^.*docs/faults\.md:{line}: (WARNING|ERROR|CRITICAL): .*{re.escape(why)}"
        assert re.search(place, failed.said, re.MULTILINE), (text, why)
        line += len(text.splitlines()) + 1
    assert re.search(r"docs/outside\.md: WARNING: .*toctree", failed.said)


def test_a_picture_that_a_cell_computes_needs_a_text_alternative(built):
    built.edit("tiny/words.py", "A line of {self.points} points.", " ")
    failed = built.build()
    assert not failed.good
    lines = re.findall(r"word\.md:(\d+): WARNING: this picture has no", failed.said)
    assert lines == ["41", "49", "76"]


def test_a_picture_in_a_page_has_no_ids(built):
    built.edit("tiny/words.py", "<path d", "<path id='line' d")
    failed = built.build()
    assert not failed.good
    lines = re.findall(r"word\.md:(\d+): WARNING: this picture has ids", failed.said)
    assert lines == ["41", "49", "76"]


def test_what_nobody_needs_to_hear_may_be_silent(built):
    built.edit(
        "tiny/words.py",
        'aria-label="A line of {self.points} points."',
        'aria-hidden="true"',
    )
    assert built.build().good


def test_a_page_asks_for_a_file_only_where_it_has_what_that_is_for(built):
    asks = [
        ("<table" in html, "doctools.js" in html, "sphinx_highlight.js" in html)
        for html in map(built.html, ("index", "number", "promise"))
    ]
    assert set(asks) == {(True, True, False), (False, False, False)}
