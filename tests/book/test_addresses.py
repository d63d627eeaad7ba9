"""The record of lasting addresses is in order, and each of its pages is there or leads on."""

import re

from tests.book.pages import DOCS, ROOT

RECORD = (ROOT / "_config" / "addresses.list").read_text("utf-8").splitlines()
REDIRECTS = (ROOT / "_config" / "redirects.txt").read_text("utf-8")


def test_the_record_is_in_order_and_says_nothing_twice():
    assert sorted(set(RECORD)) == RECORD


def test_every_page_of_the_record_is_there_or_leads_on():
    moved = set(re.findall(r"^(\S+) -> ", REDIRECTS, re.M))
    there = {
        page.relative_to(DOCS).with_suffix("").as_posix()
        for page in DOCS.rglob("*.md")
    }
    pages = {address.partition("#")[0] for address in RECORD}
    assert pages - there - moved == set()


def test_no_address_is_merely_counted():
    counted = re.compile(r"#(id|predict-|quiz-|fig-|equation-|claim-)\d*$")
    assert [address for address in RECORD if counted.search(address)] == []


def test_exercises_predictions_questions_figures_equations_claims_and_listings_are_recorded():
    kinds = ("ex-", "predict-", "quiz-", "fig-", "equation-", "claim-", "listing-")
    for kind in kinds:
        assert sum(f"#{kind}" in address for address in RECORD) > 20, kind
