"""What the pages of the small book look like."""

import json
import re
from copy import deepcopy
from types import SimpleNamespace

import pytest
from bookproof.html import cover, numbers
from bookproof.html.addresses import addresses, named
from docutils import nodes
from lxml import html as lxml

TAGS = re.compile(r"<[^>]+>")


def words(html):
    return " ".join(TAGS.sub(" ", html).split())


# -- Listings, mathematics, tables, the bibliography -----------------------------------


def test_a_listing_links_to_the_reference_and_leaves_the_docstring_out(site):
    html = site.html("number")
    listing = html[html.index("This is the code") : html.index("A <strong>")]
    assert 'href="reference.html#tiny.numbers.answer"' in listing
    assert "numbers.answer" in listing
    assert "Return the answer." not in listing
    assert "return 42" in site.page("number")


def test_mathematics_is_rendered_and_keeps_the_mark_that_follows(site):
    html = site.html("number")
    assert "katex-html" in html
    assert html.count('id="equation-twice"') == 1
    assert html.count('<span class="nobr">') == 3
    text = TAGS.sub("", html[html.index("A <strong>") :])
    assert text.startswith("A whole number is here: ")
    assert ".." not in text.split("halves it")[0]


def test_a_header_of_a_table_says_of_what(site):
    head = re.findall(r"<th [^>]*>", site.html("word"))
    assert len(head) == 2
    assert all('scope="col"' in cell for cell in head)
    of_letters = site.html("promise").partition("<thead>")[2].partition("</thead>")[0]
    assert re.findall(r"<(t[hd])\b", of_letters) == ["th", "td", "th"]
    assert of_letters.count("</td>") == 1


def test_the_bibliography_is_a_list_without_labels(site):
    html = site.html("word")
    assert re.search(r'<ul class="citation-list">\s*<li class="citation" id="id\d+">', html)
    assert "doc-biblioentry" not in html
    assert 'class="label"' not in html


def test_a_page_asks_for_a_file_only_where_it_has_what_that_is_for(site):
    asks = [
        ("<table" in html, "doctools.js" in html, "sphinx_highlight.js" in html)
        for html in map(site.html, ("index", "number", "promise"))
    ]
    assert set(asks) == {(True, True, False), (False, False, False)}


def test_a_line_that_is_printed_in_pieces_is_one(site):
    assert site.page("data").count("one line of three pieces\n  and another\n") == 1


# -- Pictures and figures --------------------------------------------------------------


def test_a_picture_stands_in_its_page_with_the_text_that_it_brings(site):
    one, many, _ = re.findall(r'<div class="picture">(.*?)</div>', site.html("word"), re.DOTALL)
    assert one.startswith("<svg ")
    assert re.findall('aria-label="(.*?)"', one) == ["A line of 300 points."]
    assert '<path d="M0 4h300" />' in one
    assert many.count("<svg ") == many.count("</svg>") == 2  # not a third around them
    texts = ["A line of 200 points.", "A line of 100 points."]
    assert re.findall('aria-label="(.*?)"', many) == texts
    assert list(site.made("_images").glob("*.svg")) == []


def test_figures_have_captions_numbers_and_references(site):
    html = site.html("word")
    figures = re.findall(r"(?s)<figure.*?</figure>", html)
    starts = [words(figure.partition("<figcaption")[2]).split()[1:4] for figure in figures]
    assert starts == [["Fig.", "2.1", "It"], ["Fig.", "2.2", "Both"], ["Fig.", "2.3", "A"]]
    assert 'id="fig-a-line"' in figures[2]
    assert "<svg " in figures[2]
    assert "a line" not in figures[2]  # what the cell prints is no part of it
    assert "A line has <em>no</em> width." in figures[2]
    assert re.search(r'href="#fig-a-line"><span class="std std-numref">Fig. 2.3', html)


def test_a_live_figure_has_its_data_and_a_button_and_no_other_has(site):
    html = site.html("word")
    (figure,) = re.findall(r'(?s)<figure class="[^"]*\blive\b[^>]*>.*?</figure>', html)
    assert 'id="fig-a-line"' in figure
    assert "<metadata>120</metadata>" in figure
    assert '<div class="live-bar"><button type="button">Move the line</button></div>' in figure
    assert html.count("<metadata>") == html.count("live-bar") == 1


def test_chapters_are_counted_through_all_parts_and_behind_them_there_are_letters(site):
    names = ("number", "word", "data", "reference")
    numbers = [re.search(r'section-number">(\w+)\. <', site.html(name))[1] for name in names]
    assert numbers == ["1", "2", "A", "B"]
    assert "(1.1)" in site.page("number")
    assert not re.search(r'<h[2-6]>\s*<span class="section-number">', site.html("reference"))


# -- Folds, questions, boxes -----------------------------------------------------------


def test_a_solution_is_folded_and_a_hidden_output_too(site):
    html = site.html("word")
    labels = re.findall(r"<summary>(.*?)</summary>", html)
    whole = [TAGS.sub("", label) for label in labels]
    assert "Solution to Exercise (Ask)" in whole
    assert any(re.fullmatch(r"Show the output of cell \d+", name) for name in whole)
    assert not any(name.endswith("cell 0") for name in whole)  # of a cell that is hidden as a whole
    assert labels[whole.index("Solution to Exercise (Ask)")].startswith("Solution<span")
    assert len(set(whole)) == len(whole)
    assert 'id="exercise-content"' not in html


def test_an_exercise_and_a_question_are_headings_and_options_a_list(site):
    html = site.html("word")
    heading = r'<h(\d) class="admonition-title rubric">Exercise \(Ask\)<a [^>]*></a></h\1>'
    assert re.search(heading, html)
    [question] = re.findall(r'<h3 class="quiz-question rubric"[^>]*>(.*?)</h3>', html)
    assert TAGS.sub("", question).startswith("1. What does ")
    [options] = re.findall(r'(?s)<ol class="[^"]*options[^"]*">(.*?)</ol>', html)
    items = re.findall(r"(?s)<li>(.*?)</li>", options)
    texts = [re.sub(r"\s*<.*?>\s*", "", item) for item in items]
    assert texts == ["(a) Aword, not (c).", "(b)word", "(c) Nothing."]


def test_all_of_an_answer_is_in_one_fold_and_the_code_belongs_to_the_question(site):
    html = site.html("word")
    first, second = re.findall(r'(?s)<details class="answer">.*?</details>', html)
    outside = html.replace(first, "").replace(second, "")
    for part in ("of two lines", "Two of them.", "to prediction 1"):
        assert part in TAGS.sub("", first)
    for part in ("No.", "it did not", "to prediction 2"):
        assert part in TAGS.sub("", second)
    for part in ("Two of them.", "<p>No.", "and why"):
        assert part not in outside
        assert part not in TAGS.sub("", outside)
    assert "How many lines does this print?" in outside
    assert outside.count("of two lines") == 1  # in the code
    assert "hidden-cell" not in first + second  # no fold in a fold


def test_a_prediction_is_a_choice_or_a_line_to_write_on_under_a_key_of_its_own(site):
    html = site.html("word")
    assert len(re.findall(r'<input type="radio" name="prediction-1"', html)) == 3
    assert re.search(r'value="2"><span class="math', html)
    assert html.count('<label class="commit">Your prediction<input') == 1
    assert len(set(re.findall(r'data-prediction="(word/\w{12})"', html))) == 2


def test_wrong_code_says_so_and_where_and_stands_beside_right(site):
    html = site.html("word")
    labels = ["Wrong on purpose: the marked lines", "Wrong on purpose"]
    assert re.findall(r'wrong-label">(.*?)<', html) == labels
    marked = TAGS.sub("", "".join(re.findall(r'(?s)<span class="hll">(.*?)\n</span>', html)))
    assert "def broken_half" in marked
    assert "x // 2" in marked
    assert "math" not in marked
    versus = html[html.index('class="versus"') :]
    parts = ("side-wrong", "forgets", "side-right", "answer", "keeps it")
    places = [versus.index(part) for part in parts]
    assert places == sorted(places)
    one_block = r'right-code[^>]*>\s*<p class="right-label">Right</p>\s*<div class="highlight'
    assert re.search(one_block, versus), "the two codes would not begin on one line"


def test_minutes_are_counted(site):
    said = TAGS.sub("", site.html("promise"))
    assert "1 minutes to read, 5 for the exercises." in said


# -- Claims and the ledger -------------------------------------------------------------


def test_a_check_is_folded_under_its_name_and_its_target_leads_to_it(site):
    html = site.html("number")
    folds = re.findall(r'<details class="fold check( beside)?"><summary>(.*?)</summ', html)
    # One follows its target at once, and is the mark itself; the other one is far from it.
    assert [beside for beside, _ in folds] == [" beside", ""]
    assert [TAGS.sub("", name) for _, name in folds] == [
        "✓Check: double is even against an independent implementation",
        "✓Check: twice exactly, or to rounding",
    ]
    assert re.findall(r'class="check-mark" href="#check-([\w-]+)"', html) == ["twice"]
    for name in ("twice", "double-is-even"):
        assert f'id="check-{name}"' in html


def ledger(book):
    """Return the tables of the ledger, row by row, with the HTML of each cell."""
    tables = re.findall(r"(?s)<table.*?</table>", book.html("reference"))
    rows = [re.findall(r"(?s)<tr.*?</tr>", table) for table in tables]
    return [[re.findall(r"(?s)<td><p>(.*?)</p>", row) for row in part[1:]] for part in rows]


def test_the_ledger_has_a_table_a_page_in_the_order_of_what_is_checked(site):
    (equation, claim), [of_word] = ledger(site)
    html, text = site.html("reference"), site.page("reference")
    assert re.search(r"3 checks, run with Python 3\.\d+\.\d+, ipykernel \d", text)
    assert "; for those that draw, 2 shifts of all seeds are on record." in text
    assert "other seeds" in text
    html = html[html.index("3 checks, run") :]
    assert html.index(">A number<") < html.index("twice") < html.index(">A word<")
    assert TAGS.sub("", equation[0]) == "equation (1.1)"
    assert 'href="number.html#equation-twice"' in equation[0]
    assert 'href="number.html#check-twice"' in equation[-1]
    assert words(claim[1]) == "against an independent implementation"
    assert (words(equation[2]), words(claim[2])) == ("", "")  # nothing is drawn
    said, how, seeds, _, check = map(words, of_word)
    assert said == "The sentence ends with a full stop."
    assert (how, seeds, check) == ("as a property, on random inputs", "1 of 2", "full-stop")
    # It shows the mathematics of a claim, and drops its links.
    assert 'class="katex"' in claim[0]
    assert "By definition, " in claim[0]
    assert not re.search(r"\$|example\.org", claim[0])


def test_a_page_without_a_number_begins_with_its_own_first_figure(monkeypatch):
    counted = {
        "tour": {"figure": {"map": (2,), "row": (3,)}, "displaymath": {"mean": (1,)}},
        "data": {"figure": {"curve": (4, 1), "line": (4, 2)}},
    }

    def through_pages(self, env):
        env.toc_fignumbers = deepcopy(counted)

    monkeypatch.setattr(numbers, "count_through_pages", through_pages)
    env = SimpleNamespace(toc_fignumbers={})
    assert numbers.count_on_each_page(None, env) == ["tour", "data"]
    assert env.toc_fignumbers["tour"]["figure"] == {"map": (1,), "row": (2,)}
    assert env.toc_fignumbers["data"] == counted["data"]
    assert numbers.count_on_each_page(None, env) == []


# -- The cover and previews ------------------------------------------------------------


def chapters(book):
    """Return what the cover shows of each page: its name, and its words."""
    shown = book.html("index").partition('class="chapters"')[2]
    items = re.findall(r'(?s)<li data-page="(\w+)">(.*?)</li>', shown)
    return {name: words(item) for name, item in items}


def previews(book, name):
    """Return what is kept of a page, by its id."""
    head, _, kept = book.made(f"_static/previews/{name}.js").read_text("utf-8").partition(" = ")
    assert head == f'bookPreviews["{name}"]'
    return json.loads(kept.rstrip(";\n"))


def test_the_cover_shows_chapters_in_order_with_what_they_promise(site):
    shown, html = chapters(site), site.html("index")
    assert list(shown) == ["number", "word", "data", "reference", "promise", "changes"]
    assert shown["number"] == "1 A number Double 42, with 2.0 exactly, and halve it. 5 minutes"
    assert shown["word"] == "2 A word Draw a line. 7 minutes"
    assert shown["promise"] == "C A promise Find σ &lt; 2 &amp; more of it. 1 minutes"
    # A page beside chapters says what its front matter promises, or its first sentence.
    assert shown["changes"] == "D What changed Read what is new. 1 minutes"
    assert re.fullmatch(r"A Data It .*\. \d+ minutes", shown["data"])
    assert "<h3>Behind the book</h3>" in html
    pictures = re.findall(r'(?s)class="thumbnail" aria-hidden="true">(.*?)</span>', html)
    assert ["<path" in picture for picture in pictures[:2]] == [False, True]
    assert "A line of 300 points" not in html
    begin = re.search(r'(?s)<p class="begin">.*?</p>', html)[0]
    assert 'href="number.html"' in begin
    assert "Begin with chapter 1" in begin
    assert 'class="or"' not in begin


@pytest.mark.parametrize("numbered", [True, False])
def test_a_first_page_that_is_no_chapter_is_where_to_begin_and_the_chapter_comes_second(numbered):
    env = SimpleNamespace(
        titles={name: nodes.title("", name.title()) for name in ("tour", "words", "tables")},
        toc_secnumbers={"tables": {"": (1,)}} if numbered else {},
        metadata={"tour": {}, "words": {}, "tables": {"cover": cover.Shown(is_chapter=True)}},
    )
    builder = SimpleNamespace(get_relative_uri=lambda here, name: f"{name}.html")
    trees = [{"includefiles": ["tour", "words"]}, {"includefiles": ["absent", "tables"]}]
    begin = cover.begin(SimpleNamespace(env=env, builder=builder), "index", trees)
    assert begin.startswith('<p class="begin"><a href="tour.html"><span>Begin with</span> Tour</a>')
    way = "or with chapter 1:" if numbered else "or with"
    assert f'<span class="or">{way} <a href="tables.html">Tables</a></span>' in begin
    assert cover.begin(SimpleNamespace(env=env, builder=builder), "index", trees[:1]) == ""


def test_what_other_pages_lead_to_is_kept_for_them(site):
    kept = previews(site, "number")
    assert {"equation-twice", "claim-double-is-even"} <= set(kept)
    assert "katex" in kept["equation-twice"]
    assert re.fullmatch(r"(?s)<div.*</div>", kept["claim-double-is-even"])
    assert "check-twice" not in kept  # the cell of a check is no thing to be shown
    assert previews(site, "word").keys() == {"claim-full-stop"}  # its own links do not count


# -- A course --------------------------------------------------------------------------


def test_the_way_from_chapter_to_chapter_leads_past_what_goes_deeper(site):
    ways = {
        page: re.findall(r'<link rel="(next|prev)"[^>]* href="(.*?)"', site.html(page))
        for page in ("number", "number-deeper", "word")
    }
    assert ways["number"] == [("next", "word.html"), ("prev", "index.html")]
    assert ways["number-deeper"] == [("next", "word.html"), ("prev", "number.html")]
    assert ("prev", "number.html") in ways["word"]


def test_objectives_and_a_syllabus_are_made_of_the_chapters_own_words(site):
    said = re.findall(r"<li><p>After (.*?)</p>", site.html("index"))
    link = '<a class="reference internal" href="promise.html">A promise</a>'
    assert said == [f"{link} you will be able to halve a number, and double it."]
    (table,) = lxml.fromstring(site.html("index")).find_class("syllabus")
    rows = [
        [" ".join(" ".join(cell.itertext()).split()) for cell in row]
        for row in table.xpath(".//tr")
    ]
    assert rows[0][:3] == ["Week", "Read", "You will be able to"]
    assert [row[:2] for row in rows[1:]] == [
        ["1", "1 A number"],
        ["", "2 A word"],
        ["2", "C A promise"],
    ]
    minutes = "1 to read 5 for exercises"
    assert rows[3][2:] == ["Halve a number, and double it.", minutes, "Halve it", "2"]


# -- Editions, changes, addresses, redirects -------------------------------------------


def test_readers_are_told_their_part_of_each_version_that_has_one(site):
    html = site.html("changes")
    heads = re.findall(r'<section id="(version.*?)">\s*<h2>(.*?)<a', html)
    assert heads == [
        ("version-1-0", "Version 1.0, 12 October 1979"),
        ("version-0-8", "Version 0.8, 1 March 1978"),
    ]
    assert "A number has <em>two</em> parts" in html
    assert "faster" not in html
    assert 'href="word.html"' in html


def test_the_foot_of_a_page_names_its_edition_and_leads_to_what_changed(site):
    def foot(page):
        return re.search(r'<p class="edition">(.*?)</p>', site.html(page))[1]

    edition = 'Version 1.0, <time datetime="1979-10-12">12 October 1979</time>'
    link = '<a href="changes.html">What changed for readers</a>'
    assert foot("number") == f"{edition}. {link}"
    assert foot("changes") == edition
    card = json.loads(site.made("edition.json").read_text("utf-8"))
    assert card == {"version": "1.0", "date": "1979-10-12"}
    assert not site.made("editions.html").exists(), "without an address there is no list"


def promised(book, page):
    return set(addresses(page, book.html(page))) - {page}


def test_each_thing_is_named_and_not_counted(site):
    assert promised(site, "word") == {
        "word#ask",
        "word#claim-full-stop",
        "word#fig-a-line",
        "word#fig-long-line",
        "word#fig-short-line",
        "word#predict-failure",  # a name that was given
        "word#predict-how-many-lines-does-this-print",
        "word#quiz-what-does-d-print-as-b",
    }
    assert promised(site, "number") == {
        "number#claim-double-is-even",
        "number#equation-twice",
        "number#listing-numbers-answer",
        "number#quiz-what-is-a-a-as-a",
    }
    assert 'id="ask-solution"' in site.html("word")
    assert named("quiz", "Don't *all* of $x$ rows, 2 of 3?") == "quiz-dont-all-of-x-rows-2"


@pytest.mark.parametrize("page", ["word", "number"])
def test_what_asks_offers_its_address(site, page):
    linked = set(re.findall(r'class="headerlink lasting" href="#([^"]+)"', site.html(page)))
    asks = {place.partition("#")[2] for place in promised(site, page)}
    assert linked == {name for name in asks if name.startswith(("predict-", "quiz-", "ask"))}


def test_a_page_that_moved_leads_on_and_a_part_is_named_at_the_foot_of_its_old_page(site):
    html, link = site.html("old/numeral"), "../number.html#its-double"
    assert f'<meta http-equiv="refresh" content="0; url={link}">' in html
    assert '<link rel="canonical" href="../number.html">' in html
    assert f'<a href="{link}">A number</a>' in html
    assert 'location.replace("../number.html" + location.hash)' in html
    moved = re.search(r'<div class="moved.*?</div>', site.html("promise"))[0]
    assert '<p id="its-price">' in moved
    assert '<a href="word.html#boxes">A word</a>' in moved
    assert 'class="moved' not in site.html("word")
