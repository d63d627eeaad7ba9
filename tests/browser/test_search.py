"""The search page as a reader uses it, over a network and from a folder."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from lxml import html

from tests.book.pages import SITE

RESULTS = "#search-results li"
SHOWN = """entries => entries.map(entry => [entry.querySelector('a'), entry.querySelector('p')])
    .map(([a, p]) => [a.getAttribute('href'), a.innerText, p.innerText])"""


@pytest.fixture(params=["network", "folder"])
def search(request, origin, open_page):
    """Return a function that asks, and gives the results: address, heading and excerpt of each."""
    root = origin if request.param == "network" else SITE.as_uri()

    def search(query):
        noticed = []
        page = open_page(f"{root}/search.html?q={quote(query)}", noticed=noticed)
        page.wait_for_selector("#search-results [role=status]")
        assert noticed == []
        return page.locator(RESULTS).evaluate_all(SHOWN)

    return search


def addresses(results):
    return [address for address, _, _ in results]


@pytest.mark.parametrize(
    ("query", "address"),
    [
        ("causal mask", "chapters/masks.html#the-causal-mask"),
        ("softmax", "chapters/attention-without-weights.html#four-words-by-hand"),
        ("causal_mask", "appendix/reference/masks.html#selfattn_book.masks.causal_mask"),
        ("gradient of the softmax", "chapters/stuck-softmax.html#the-gradient-of-the-softmax"),
    ],
)
def test_what_defines_a_term_comes_first(search, query, address):
    assert addresses(search(query))[0] == address


def test_excerpts_are_prose(search):
    results = search("rows sum to one")
    assert "rows sum to one" in results[0][2]
    for _, _, excerpt in results:
        assert 0 < len(excerpt) < 260
        assert not re.search(r"\\[a-z]+|assert |import |Skip to|tensor\(\[", excerpt)


@pytest.mark.parametrize("query", ["sigma", "σ"])
def test_a_letter_is_found_by_its_name_and_by_itself(search, query):
    results = search(query)
    found = addresses(results)
    assert "chapters/notation.html#in-experiments-and-proofs" in found
    assert (
        "chapters/why-divide-deeper.html#which-conditions-does-the-root-rest-on" in found
        or query == "σ"
    )
    assert any("σ" in excerpt for _, _, excerpt in results)


@pytest.mark.parametrize("query", ["sqrt", "d_head", "W^Q", "alpha", "masked_fill"])
def test_what_stands_in_formulas_and_code_is_found(search, query):
    assert len(search(query)) > 3


def test_the_ledger_comes_last(search):
    found = addresses(search("causal mask"))
    assert len(found) > 10
    assert not any("ledger" in address for address in found[:-1])


def test_every_result_leads_somewhere(search):
    for address in addresses(search("attention")):
        name, _, anchor = address.partition("#")
        html = (SITE / name).read_text("utf-8")
        assert not anchor or f'id="{anchor}"' in html, address


def test_nothing_found_is_said(origin, open_page):
    page = open_page(f"{origin}/search.html?q=zebra")
    assert page.get_by_role("status").inner_text() == "Nothing was found for “zebra”."


def test_a_search_needs_no_mouse(origin, open_page):
    page = open_page(f"{origin}/search.html")
    page.keyboard.type("causal mask")
    page.keyboard.press("Enter")
    page.wait_for_selector(RESULTS)
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('#search-results') !== null"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/chapters/masks.html#*")


def test_only_the_search_page_loads_what_is_searched(origin, open_page):
    asked = []
    page = open_page(f"{origin}/index.html")
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{origin}/chapters/masks.html")
    assert not any("sections.js" in url or "search.js" in url for url in asked)
    page.goto(f"{origin}/search.html?q=mask")
    page.wait_for_selector(RESULTS)
    assert any("sections.js" in url for url in asked)


# The field's words, as a reader would type them.
STANDARD = Path(__file__).with_name("standard_terms.txt").read_text("utf-8").splitlines()


def same_section(one, other):
    """Whether two addresses are of one section, which may have two names."""
    (page, _, name), (other_page, _, other_name) = (x.partition("#") for x in (one, other))
    if page != other_page or not (name and other_name):
        return one == other
    tree, named = html.parse(str(SITE / page)), '[@id="{0}" or span/@id="{0}"]'
    return bool(tree.xpath(f"//section{named.format(name)}{named.format(other_name)}"))


def test_a_standard_term_leads_to_the_section_that_teaches_it(origin, open_page):
    glossary = html.parse(str(SITE / "appendix" / "glossary.html")).getroot()
    sections, names = {}, []
    for entry in glossary.xpath('//dl[contains(@class, "glossary")]/*'):
        if entry.tag == "dt":
            names.append(entry.text_content().rstrip("#¶").strip().lower())
            continue
        links = [link.get("href") for link in entry.xpath("p[last()]//a")]
        sections |= {name: [link.removeprefix("../") for link in links] for name in names}
        names = []
    page, wrong = open_page(f"{origin}/search.html"), {}
    # What is searched is read once, and then asked for each term.
    ask = (SITE / "_static" / "search.js").read_text("utf-8")
    for term in STANDARD:
        page.evaluate("query => history.replaceState({}, '', query)", f"?q={quote(term)}")
        page.evaluate(ask)
        first = page.locator(RESULTS).locator("a").first.get_attribute("href")
        if not any(same_section(first, link) for link in sections.get(term.lower(), ())):
            wrong[term] = first
    assert len(STANDARD) > 80
    assert wrong == {}
