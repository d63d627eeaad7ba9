"""A site says which edition it is, and lists those that there are."""

import json
import re

from bookproof.html.edition import list_editions


def test_a_site_has_a_card_of_its_edition(built):
    card = (built.root / "_build" / "html" / "edition.json").read_text("utf-8")
    assert json.loads(card) == {"version": "1.0", "date": "1979-10-12"}


def test_without_an_address_there_is_no_list_of_editions(built):
    assert not (built.root / "_build" / "html" / "editions.html").exists()


def test_every_foot_leads_to_the_list_of_editions(built):
    assert built.build("--define=html_baseurl=https://b.org/book").good
    link = '<a href="https://b.org/book/editions.html">All editions</a>'
    assert link in built.html("number")
    listed = built.html("editions")
    assert 'content="noindex"' in listed
    assert '<a href="v1.0/index.html">Version 1.0</a>, 12 October 1979' in listed


def test_editions_are_listed_as_they_come():
    html = list_editions([{"version": "2.0", "date": "2027-01-02"}, {"version": "1.0", "date": ""}])
    assert re.findall(r"<li>(.*)</li>", html) == [
        '<a href="v2.0/index.html">Version 2.0</a>, 2 January 2027',
        '<a href="v1.0/index.html">Version 1.0</a>',
    ]
