"""What a page tells machines of itself: where it lives, what it is, and which edition it belongs to."""

import json
import re
from html import unescape
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest
from bookproof.html.formulas import names, plain
from bookproof.html.opening import first_sentences
from small_books import Book

SITE = "https://site.example/book"
HOST = "https://host.example/book"
PROMISE = "You will find σ < 2 & more of it."


@pytest.fixture(scope="session")  # tests of a module need not run in a row
def known(home, built_once):
    """A small book that knows where it lives."""
    book = Book.copy(built_once, home / "book")
    where = [f"html_baseurl={SITE}", f"bookproof_repository={HOST}"]
    assert book.build(*[f"--define={setting}" for setting in where]).good
    return Book(book.root.rename(home / "known"))


def pages(book):
    docs = (book.root / "docs").glob("*.md")
    return {page.stem for page in docs}


def meta(html):
    found = re.findall(r'<meta (?:name|property)="([\w:]+)" content="([^"]*)"', html)
    return {name: unescape(value) for name, value in found}


def facts(html):
    script = re.search(r'<script type="application/ld\+json">(.*?)</script>', html)
    return json.loads(script[1])


def test_a_chapter_is_described_by_its_promise(built):
    message = meta(built.html("promise"))
    assert message["description"] == message["og:description"] == PROMISE
    written = 'content="You will find σ &lt; 2 &amp; more of it."'
    assert built.html("promise").count(written) == 2
    assert message["og:title"] == "A promise"
    assert message["og:type"] == "article"


def test_another_page_is_described_by_its_first_sentences(built):
    said = meta(built.html("index"))["description"]
    assert said == "Three pages of a few words. They are about very little."
    said = meta(built.html("data"))["description"]
    assert said == "It reaches no module, but a file."


def test_a_long_paragraph_describes_with_whole_sentences():
    long = "A" * 150 + ". " + "B" * 60 + ". C."
    assert first_sentences(long) == "A" * 150 + "."
    assert first_sentences("Ends at 2.5 of it. So.") == "Ends at 2.5 of it. So."


def test_the_facts_of_a_chapter(built):
    assert facts(built.html("promise")) == {
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
    assert facts(built.html("word"))["timeRequired"] == "PT7M"
    assert "ld+json" not in built.html("data")


def test_the_facts_of_the_book_stand_on_its_cover(built):
    message = facts(built.html("index"))
    assert (message["@type"], message["name"]) == ("Book", "A small book")
    assert message["description"].startswith("Three pages")


def test_nothing_has_an_address_as_long_as_there_is_none(built):
    for page in pages(built):
        html = built.html(page)
        assert 'rel="canonical"' not in html
        assert "issues" not in html
        assert not {"og:url", "og:image", "twitter:card"} & meta(html).keys()
    assert not {"url", "image"} & facts(built.html("index")).keys()
    site = built.root / "_build" / "html"
    assert not (site / "sitemap.xml").exists()
    assert not (site / "404.html").exists()


def test_every_page_has_one_address(known):
    for page in pages(known):
        address = f"{SITE}/" if page == "index" else f"{SITE}/{page}.html"
        html = known.html(page)
        canonical = re.findall(r'<link rel="canonical" href="(.*?)"', html)
        assert canonical == [address]
        assert meta(html)["og:url"] == address


def test_the_sitemap_lists_every_page(known):
    site = known.root / "_build" / "html"
    listed = ElementTree.parse(site / "sitemap.xml").getroot()
    places = [place.text for place in listed.findall("{*}url/{*}loc")]
    expected = {f"{SITE}/{page}.html" for page in pages(known) - {"index"}}
    assert len(places) == len(set(places))
    assert set(places) == expected | {f"{SITE}/"}


def test_facts_and_previews_have_addresses_once_they_are_known(known):
    card = f"{SITE}/_static/cover.png"
    book, chapter = facts(known.html("index")), facts(known.html("promise"))
    assert (book["url"], book["image"]) == (f"{SITE}/", card)
    assert chapter["url"] == f"{SITE}/promise.html"
    assert chapter["isPartOf"]["url"] == f"{SITE}/"
    message = meta(known.html("promise"))
    assert message["og:image"] == card
    assert message["twitter:card"] == "summary_large_image"


def test_the_page_of_nowhere_works_at_any_depth(known):
    html = known.html("404")
    targets = re.findall(r'\b(?:href|src|action)="([^"]*)"', html)
    assert any(target.startswith("/book/_static/") for target in targets)
    assert 'href="/book/index.html"' in html
    assert 'data-content_root="/book/"' in html
    elsewhere = ("/", "#", "https://")
    assert [target for target in targets if not target.startswith(elsewhere)] == []
    assert meta(html)["robots"] == "noindex"
    assert 'rel="canonical"' not in html
    assert meta(known.html("search"))["robots"] == "noindex"


def reports(html):
    found = re.findall(rf'href="{HOST}/issues/new\?([^"]*)"', html)
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


def test_every_page_takes_reports(known):
    assert all(reports(known.html(page)) for page in pages(known))


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


@pytest.fixture
def sections(built):
    script = (built.root / "_build" / "html" / "sections.js").read_text("utf-8")
    pages = json.loads(script.removeprefix("var PAGES = ").removesuffix(";\n"))
    return {page[0]: page for page in pages}


def test_the_search_knows_the_prose_of_every_section(built, sections):
    assert sections.keys() == {f"{page}.html" for page in pages(built)}
    _, title, (first, second, *_) = sections["promise.html"]
    assert title == "A promise"
    anchor, heading, terms, prose, words = first
    assert (anchor, heading, terms[-1]) == ("a-promise", "A promise", "dyad")
    assert prose.endswith("A dyad is a pair: d_model = W^Q.")
    assert words == "sigma"
    formula = "Here is nothing but a formula: ω, the last one"
    assert second[:2] == ["its-parts", "Its parts"]
    assert second[3] == formula
    assert {"alpha", "α", "sqrt", "omega"} <= set(second[4].split())


def test_the_search_knows_code_but_no_checks_and_no_answers(sections):
    script = json.dumps(sections)
    number = sections["number.html"][2][0]
    assert "answer" in number[4].split()
    assert "endswith" not in script
    assert "Forty-two" not in script
    assert "Nobody knows" not in script
    assert "Two of them" not in script
    assert "Your prediction" not in script
    assert "How many lines does this print?" in script
    assert "What is the question?" in script


def test_the_search_leads_to_things_of_the_reference_and_not_to_the_ledger(
    sections,
):
    places = {section[0]: section for section in sections["reference.html"][2]}
    assert places["tiny.numbers.answer"][1] == "answer"
    assert not any(place.startswith("ledger-") for place in places)


def test_what_the_search_knows_follows_an_edit(built, sections):
    before = sections["word.html"]
    built.edit("docs/promise.md", "A **dyad**", "A **couple**")
    assert built.build().good
    script = (built.root / "_build" / "html" / "sections.js").read_text("utf-8")
    assert '"couple"' in script
    assert '"dyad"' not in script
    assert json.dumps(before[1]) in script
