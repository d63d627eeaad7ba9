"""What a page tells machines and other sites: where it is, what it is, its notebook, how to cite it."""

import json
import re
import sys
from html import unescape
from types import SimpleNamespace
from urllib.parse import parse_qs
from xml.etree import ElementTree

import nbformat
import pytest
from bookproof.html.outward import WORDS
from bookproof.notebooks import installing
from pybtex.database import parse_string
from small_books import HOST, SITE

PROMISE = "You will find σ < 2 & more of it."


def pages(book):
    return {page.stem for page in (book.root / "docs").glob("*.md")}


def meta(html):
    found = re.findall(r'<meta (?:name|property)="([\w:]+)" content="([^"]*)"', html)
    return {name: unescape(value) for name, value in found}


def facts(html):
    return json.loads(re.search(r'<script type="application/ld\+json">(.*?)</script>', html)[1])


def test_a_page_is_described_by_its_promise_or_its_first_sentences(site):
    html = site.html("promise")
    message = meta(html)
    assert message["description"] == message["og:description"] == PROMISE
    assert html.count('content="You will find σ &lt; 2 &amp; more of it."') == 2
    assert (message["og:title"], message["og:type"]) == ("A promise", "article")
    cover = "Three pages of a few words. They are about very little."
    assert meta(site.html("index"))["description"] == cover
    assert meta(site.html("data"))["description"] == "It reaches no module, but a file."


def test_the_facts_of_chapters_and_of_the_book(site):
    assert facts(site.html("promise")) == {
        "@context": "https://schema.org",
        "@type": "LearningResource",
        "learningResourceType": "chapter",
        "name": "A promise",
        "description": PROMISE,
        "teaches": "halve a number, and double it.",
        "timeRequired": "PT1M",
        "isPartOf": {"@type": "Book", "name": "A small book"},
        "author": {"@type": "Organization", "name": "nobody"},
        "inLanguage": "en",
        "version": "1.0",
        "license": "https://licence.example/free",
        "educationalLevel": "beginner",
        "datePublished": "1979-10-12",
    }
    assert facts(site.html("word"))["timeRequired"] == "PT7M"
    assert "ld+json" not in site.html("data")
    book = facts(site.html("index"))
    assert (book["@type"], book["name"]) == ("Book", "A small book")
    assert book["description"].startswith("Three pages")


def test_nothing_has_an_address_as_long_as_there_is_none(site):
    for html in map(site.html, pages(site)):
        assert 'rel="canonical"' not in html
        assert "issues" not in html
        assert not {"og:url", "og:image", "twitter:card"} & meta(html).keys()
    assert not {"url", "image"} & facts(site.html("index")).keys()
    assert not any(site.made(name).exists() for name in ("sitemap.xml", "404.html"))


def test_every_page_has_one_address_which_the_sitemap_lists(known):
    places = {page: f"{SITE}/{page}.html" for page in pages(known)} | {"index": f"{SITE}/"}
    for page, address in places.items():
        html = known.html(page)
        assert re.findall(r'<link rel="canonical" href="(.*?)"', html) == [address]
        assert meta(html)["og:url"] == address
    root = ElementTree.parse(known.made("sitemap.xml")).getroot()
    assert sorted(place.text for place in root.findall("{*}url/{*}loc")) == sorted(places.values())
    moved = f'<link rel="canonical" href="{SITE}/number.html">'
    assert moved in known.html("old/numeral")


def test_facts_and_previews_have_addresses_once_they_are_known(known):
    card = f"{SITE}/_static/cover.png"
    book, chapter = facts(known.html("index")), facts(known.html("promise"))
    assert (book["url"], book["image"]) == (f"{SITE}/", card)
    assert chapter["url"] == f"{SITE}/promise.html"
    assert chapter["isPartOf"]["url"] == f"{SITE}/"
    message = meta(known.html("promise"))
    assert (message["og:image"], message["twitter:card"]) == (card, "summary_large_image")


def test_each_page_has_its_own_card_where_cards_are_made(built):
    cards = "-Dbookproof_cards=_static/cards/{page}.png"
    assert built.build(cards).good
    assert not [name for name in meta(built.html("word")) if name.startswith("og:image")]
    assert built.build(f"-Dhtml_baseurl={SITE}", cards).good
    word, promise, cover = (meta(built.html(page)) for page in ("word", "promise", "index"))
    assert word["og:image"] == f"{SITE}/_static/cards/word.png"
    labels = re.findall(r'<svg[^>]*aria-label="(.*?)"', built.html("word"))
    assert word["og:image:alt"] == labels[0]
    assert promise["og:image"] == f"{SITE}/_static/cards/promise.png"
    assert promise["og:image:alt"] == f"A promise. {PROMISE}"
    assert cover["og:image"] == f"{SITE}/_static/cover.png"
    assert "og:image:alt" not in cover


def test_a_card_says_what_a_wide_page_shows():
    panels = ["wide", "narrow"], ["wide"]
    for classes in panels:
        drawn = "".join(f'<svg class="{c}" aria-label="A {c} &lt; B"></svg>' for c in classes)
        assert WORDS.findall(drawn) == ["A wide &lt; B"]


def test_the_page_of_nowhere_works_at_any_depth(known):
    html = known.html("404")
    targets = re.findall(r'\b(?:href|src|action)="([^"]*)"', html)
    assert any(target.startswith("/book/_static/") for target in targets)
    assert 'href="/book/index.html"' in html
    assert 'data-content_root="/book/"' in html
    assert [target for target in targets if not target.startswith(("/", "#", "https://"))] == []
    assert 'rel="canonical"' not in html
    for name in ("404", "search", "editions"):
        assert meta(known.html(name))["robots"] == "noindex"


def test_every_foot_leads_to_the_list_of_editions(known):
    assert f'<a href="{SITE}/editions.html">All editions</a>' in known.html("number")
    link = '<a href="v1.0/index.html">Version 1.0</a>, 12 October 1979'
    assert link in known.html("editions")


def reports(html):
    found = re.findall(rf'href="{HOST}//?issues/new\?([^"]*)"', html)
    asked = [parse_qs(unescape(query)) for query in found]
    return [(query["title"][0], query["body"][0]) for query in asked]


def test_an_error_is_reported_with_its_place(known):
    html = known.html("promise")
    section, *_, page = reports(html)
    assert section[0] == "Error in: A promise, Its parts"
    assert f"{SITE}/promise.html#its-parts\n" in section[1]
    assert "Version: 1.0 1979-10-12\n" in section[1]
    assert page[0] == "Error in: A promise"
    assert f"{SITE}/promise.html\n" in page[1]
    assert 'aria-label="Report an error in the section Its parts"' in html
    assert all(reports(known.html(page)) for page in pages(known))


# -- How to cite -----------------------------------------------------------------------


def box(book, page):
    return re.search(r'(?s)<details class="fold cite.*?</details>', book.html(page))[0]


def bibtex(book, page):
    text = re.search(r'(?s)<pre class="bibtex">(.*?)</pre>', box(book, page))[1]
    ((key, found),) = parse_string(unescape(text), "bibtex").entries.items()
    return key, found


def test_a_chapter_is_cited_as_part_of_the_book_and_the_cover_as_the_book(site):
    key, found = bibtex(site, "word")
    assert (key, found.type) == ("a-small-book-word", "incollection")
    assert dict(found.fields) == {
        "title": "{A word}",
        "booktitle": "{A small book}",
        "chapter": "2",
        "edition": "Version 1.0",
        "year": "1979",
        "month": "October",
    }
    assert [str(person) for person in found.persons["author"]] == ["{Nobody}"]
    said = "Nobody (1979). A word. Chapter 2 of <em>A small book</em>, version 1.0.</p>"
    assert f"<p>{said}" in box(site, "word")
    assert "Appendix A of" in box(site, "data")
    key, found = bibtex(site, "index")
    assert (key, found.type) == ("a-small-book", "book")
    assert found.fields["title"] == "{A small book}"
    assert "chapter" not in found.fields


def test_the_address_is_that_of_the_edition_once_it_is_known(site, known):
    assert "href" not in box(site, "word")
    where = f"{SITE}/v1.0/"
    assert bibtex(known, "word")[1].fields["url"] == f"{where}word.html"
    assert bibtex(known, "index")[1].fields["url"] == where
    assert f'<a href="{where}word.html">' in box(known, "word")


# -- Notebooks -------------------------------------------------------------------------


def notebook(book, name):
    return nbformat.read(book.made(f"notebooks/{name}.ipynb"), as_version=4)


def sources(book, name, kind):
    return [c.source for c in notebook(book, name).cells if c.cell_type == kind]


def offered(book, name):
    """The links of the line that offers a notebook."""
    line = re.search(r'<p class="notebook">(.*?)</p>', book.html(name))[1]
    return re.findall(r'href="(.*?)"', line)


def test_only_pages_with_code_in_sight_are_notebooks(site):
    nbformat.validate(notebook(site, "word"))
    assert notebook(site, "word").metadata.kernelspec.name == "python3"
    assert [cell.id for cell in notebook(site, "word").cells][:2] == ["cell-0", "cell-1"]
    assert {file.stem for file in site.made("notebooks").iterdir()} == {"data", "number", "word"}
    assert "notebooks/" not in site.html("promise")


def test_a_notebook_has_the_code_of_the_page_and_says_what_the_page_says(site):
    install, first, second, check, *_ = sources(site, "word", "code")
    assert install.startswith("try:")
    assert (first, second) == ("from tiny import words", 'print("word", words.sentence())')
    assert check.startswith("# checks: full stop\nassert")
    text = "\n\n".join(sources(site, "word", "markdown"))
    assert text.startswith("# A word\n\nIt reaches that module")
    for part in (
        "> **Claim.** The sentence ends with a full stop.",
        "Both are shorter than Fig. 2.1.",
        "**Fig. 2.1.** It fits.",
        "**Predict**\n\nHow many lines does this print?",
        "What is the question?\n\n**Your answer**",
        "| part | length |\n|---|---|\n| word | 4 |",
    ):
        assert part in text
    assert "Your prediction" not in text
    assert "$$\nd = a + a \\tag{1.1}\n$$" in "\n\n".join(sources(site, "number", "markdown"))


def test_links_and_offers_lead_to_what_is_known(site, known):
    assert "See also A word." in "\n".join(sources(site, "number", "markdown"))
    text = "\n".join(sources(known, "number", "markdown"))
    assert f"See also [A word]({SITE}/word.html)." in text
    assert offered(site, "word") == ["notebooks/word.ipynb"]
    colab = "https://colab.research.google.com/github/some/book/blob/notebooks-v1.0/word.ipynb"
    binder = "https://mybinder.org/v2/gh/some/book/notebooks-v1.0?labpath=word.ipynb"
    assert offered(known, "word") == ["notebooks/word.ipynb", colab, binder]


def test_the_foot_says_how_to_check_the_page_and_offers_no_colab_that_would_not_find_it(built):
    run = "-Dbookproof_run=python -m tiny verify {page},number,length"
    files = "-Dbookproof_files.PDF=files/{page}.pdf"
    assert built.build("-Dbookproof_repository=https://git.example/some/book", run, files).good
    assert '<a href="files/word.pdf">PDF</a>' in built.html("word")
    assert "files/" not in built.html("index")
    assert offered(built, "word") == ["notebooks/word.ipynb", "number.html#length"]
    assert "<code>python -m tiny verify word</code>" in built.html("word")


def first_cell(book, **modules):
    """Run the first cell of a notebook where these modules can be had; return what it installs."""
    installed = []
    source = re.sub(r"%pip install (.*)", r"pip('\1')", sources(book, "word", "code")[0])
    with pytest.MonkeyPatch.context() as patch:
        for name, module in {"tiny": None, **modules}.items():
            patch.setitem(sys.modules, name, module)
        exec(source, {"pip": installed.append})
    return installed


def test_the_first_cell_installs_what_is_missing_and_names_another_edition(
    site, known, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    assert first_cell(site, tiny=SimpleNamespace(__version__="1.0")) == []
    assert capsys.readouterr().out == ""
    first_cell(site, tiny=SimpleNamespace(__version__="0.8"))
    said = "This notebook belongs to edition 1.0 of tiny; this is 0.8.\n"
    assert capsys.readouterr().out == said
    name = "tiny-1.0-py3-none-any.whl"
    with pytest.raises(
        ModuleNotFoundError, match=rf"needs edition 1\.0 of tiny\. Put {name} beside"
    ):
        first_cell(site)
    assert first_cell(known) == [f"--quiet {SITE}/v1.0/{name}"]
    (tmp_path / name).touch()
    assert first_cell(site) == first_cell(known) == [f"--quiet {name}"]


def test_options_for_pip_come_before_what_it_installs():
    source = installing("tiny", "1.0", "https://site.example/", "--pre otter")
    calls = re.findall(r"%pip install --quiet (.*)", source)
    name = "tiny-1.0-py3-none-any.whl"
    assert calls == [f"--pre otter {name}", f"--pre otter https://site.example/v1.0/{name}"]


# -- What a search looks through -------------------------------------------------------


def sections(book):
    script = book.made("sections.js").read_text("utf-8")
    found = json.loads(script.removeprefix("var PAGES = ").removesuffix(";\n"))
    return {page[0]: page for page in found}


def test_the_search_knows_the_prose_of_every_section(site):
    found = sections(site)
    assert found.keys() == {f"{page}.html" for page in pages(site)}
    _, title, (first, second, *_) = found["promise.html"]
    anchor, heading, terms, prose, words = first
    assert (title, anchor, heading, terms[-1]) == ("A promise", "a-promise", "A promise", "dyad")
    assert prose.endswith("A dyad is a pair: d_model = W^Q.")
    assert words == "sigma"
    formula = "Here is nothing but a formula: ω, the last one"
    assert (*second[:2], second[3]) == ("its-parts", "Its parts", formula)
    assert {"alpha", "α", "sqrt", "omega"} <= set(second[4].split())


def test_the_search_knows_code_but_no_checks_and_no_answers(site):
    found = sections(site)
    script = json.dumps(found)
    assert "answer" in found["number.html"][2][0][4].split()
    for part in ("How many lines does this print?", "What is the question?"):
        assert part in script
    for part in ("endswith", "Forty-two", "Nobody knows", "Two of them", "Your prediction"):
        assert part not in script
    places = {section[0]: section for section in found["reference.html"][2]}
    assert places["tiny.numbers.answer"][1] == "answer"
    assert not any(place.startswith("ledger-") for place in places)
