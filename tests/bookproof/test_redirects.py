"""An address that was leads to where its page, or its part of a page, is now."""

import re

RECORD = "config/redirects.txt"


def test_a_page_that_moved_leads_on(built):
    html = built.html("old/numeral")
    link = "../number.html#its-double"
    assert f'<meta http-equiv="refresh" content="0; url={link}">' in html
    assert '<link rel="canonical" href="../number.html">' in html
    assert f'<a href="{link}">A number</a>' in html
    assert 'location.replace("../number.html" + location.hash)' in html


def test_a_part_that_moved_is_named_at_the_foot_of_its_old_page(built):
    moved = re.search(r'<div class="moved.*?</div>', built.html("promise"))[0]
    assert '<p id="its-price">' in moved
    assert '<a href="word.html#boxes">A word</a>' in moved
    assert 'class="moved' not in built.html("word")


def test_the_canonical_address_is_that_of_the_page_where_the_site_is_known(built):
    assert built.build("--define=html_baseurl=https://b.org/book").good
    message = '<link rel="canonical" href="https://b.org/book/number.html">'
    assert message in built.html("old/numeral")


def test_a_page_that_moves_leaves_its_address_behind(built):
    page = built.root / "docs" / "promise.md"
    page.rename(page.with_name("vow.md"))
    built.edit("docs/index.md", "promise\n", "vow\n")
    built.write(RECORD, "promise -> vow\n")
    assert built.build().good
    assert 'url=vow.html"' in built.html("promise")
    assert not (built.root / "_build" / "html" / "old" / "numeral.html").exists()


def test_an_address_that_is_given_up_leaves_the_site(built):
    built.write(RECORD, "")
    assert built.build().good
    assert not (built.root / "_build" / "html" / "old" / "numeral.html").exists()
    assert 'class="moved' not in built.html("promise")


LEAD_NOWHERE = [
    ("one => word", "a redirect reads 'old -> new'; got 'one => word'"),
    ("two -> nowhere", "a redirect leads to a page of the book; got nowhere"),
    (
        "three -> word#nothing",
        "a redirect leads to a part of a page; word has no nothing",
    ),
    ("two -> data", "what was leads to one place; got a second one"),
    ("data -> word", "the page data is still there"),
    ("four -> five", "a redirect leads to a page of the book; got five"),
    ("five -> four", "a redirect leads to a page of the book; got four"),
    ("six#part -> word", "only a page can say where a part of it went"),
    ("word#boxes -> data", "the page word still has the part boxes"),
    ("data#a -> word#b", "a redirect leads to a part of a page; word has no b"),
    ("word#b -> number#a", "a redirect leads to a part of a page; number has no a"),
]


def test_what_leads_nowhere_fails_the_build_with_its_line(built):
    lines = ["# one line above", *(line for line, _ in LEAD_NOWHERE)]
    built.write(RECORD, "\n".join([*lines, "seven -> word", ""]))
    for _ in range(2):  # and again, until it is put right
        result = built.build()
        assert not result.good
        found = re.findall(r"redirects\.txt:(\d+): WARNING: (.*)", result.said)
        message = {int(number): why for number, why in found}
        assert sorted(message) == list(range(2, 2 + len(LEAD_NOWHERE)))
        for number, (_, said) in enumerate(LEAD_NOWHERE, 2):
            assert said in message[number]


def test_a_record_that_is_missing_is_named(built):
    (built.root / RECORD).unlink()
    result = built.build()
    assert not result.good
    assert "bookproof_redirects names" in result.said
