"""What readers refer to has an address that lasts, and one that is lost fails the build."""

import re

import pytest
from bookproof.html.addresses import addresses, named

RECORD = "config/addresses.list"
NOTE = "--define=bookproof_note_addresses=1"


def record(book):
    return (book.root / RECORD).read_text("utf-8").split()


def promised(book, page):
    return set(addresses(page, book.html(page))) - {page}


def test_each_thing_is_named_and_not_counted(built):
    assert promised(built, "word") == {
        "word#ask",
        "word#claim-full-stop",
        "word#fig-a-line",
        "word#fig-long-line",
        "word#fig-short-line",
        "word#predict-failure",  # a name that was given
        "word#predict-how-many-lines-does-this-print",
        "word#quiz-of-words",  # and another one
    }
    assert promised(built, "number") == {
        "number#claim-double-is-even",
        "number#equation-twice",
        "number#listing-numbers-answer",
        "number#quiz-what-is-a-a-as-a",
    }
    assert 'id="ask-solution"' in built.html("word")


def test_an_address_stays_when_something_is_put_before_it(built):
    before = promised(built, "number")
    built.edit(
        "docs/number.md",
        "**1.** What is",
        "**1.** Who asks?\n: (a) I (b) You\n\n**2.** What is",
    )
    assert built.build().good
    assert promised(built, "number") - before == {"number#quiz-who-asks"}
    assert promised(built, "number") >= before


@pytest.mark.parametrize("page", ["word", "number"])
def test_what_asks_offers_its_address(built, page):
    html = built.html(page)
    linked = set(re.findall(r'class="headerlink lasting" href="#([^"]+)"', html))
    kinds = ("predict-", "quiz-", "ask")
    asks = {place.partition("#")[2] for place in promised(built, page)}
    assert linked == {name for name in asks if name.startswith(kinds)}


def test_two_things_with_one_name_are_named(built):
    question = "\n**2.** What is $a + a$, as a digit?\n: (a) 1 (b) 2\n"
    text = (built.root / "docs" / "number.md").read_text("utf-8")
    built.write("docs/number.md", text + question)
    result = built.build()
    assert not result.good
    assert "two things are called 'quiz-what-is-a-a-as-a'" in result.said


def test_the_record_of_the_small_book_is_whole(built):
    before = record(built)
    assert before == sorted(set(before))
    assert built.build(NOTE).good
    assert record(built) == before


def test_a_lost_address_fails_the_build_with_one_message_until_it_leads_on(built):
    built.edit("docs/word.md", "full-stop", "last-sign")
    built.edit("docs/word.md", "} short-line", "} thin-line")
    built.edit("docs/word.md", "`short-line`", "`thin-line`")
    for _ in range(2):
        result = built.build()
        assert not result.good
        assert result.said.count("WARNING") == 1
        lost = "word#claim-full-stop, word#fig-short-line"
        assert f"{lost} lead nowhere." in result.said
        assert "redirects.txt" in result.said
    redirects = (
        "word#claim-full-stop -> word#claim-last-sign\n"
        "word#fig-short-line -> word#fig-thin-line\n"
        "promise#its-price -> word#boxes\n"
    )
    built.write("config/redirects.txt", redirects)
    assert built.build(NOTE).good
    now = record(built)
    assert {"word#claim-last-sign", "word#fig-thin-line"} <= set(now)
    assert not {"word#claim-full-stop", "word#fig-short-line"} & set(now)


def test_new_addresses_are_noted_and_lost_ones_are_kept_until_they_lead_on(built):
    built.edit("docs/word.md", "full-stop", "last-sign")
    assert not built.build(NOTE).good
    assert {"word#claim-full-stop", "word#claim-last-sign"} <= set(record(built))


def test_a_page_that_moves_takes_its_addresses_along(built):
    page = built.root / "docs" / "promise.md"
    page.rename(page.with_name("vow.md"))
    built.edit("docs/index.md", "promise\n", "vow\n")
    result = built.build()
    assert "; promise, promise#halve lead nowhere." in result.said
    built.write("config/redirects.txt", "promise -> vow\n")
    assert built.build().good


def test_a_message_shows_a_few_of_many(built):
    built.write(RECORD, "".join(f"word#gone-{n}\n" for n in range(1, 8)))
    said = built.build().said
    assert "word#gone-4, word#gone-5 and 2 more lead nowhere." in said


def test_without_a_record_nothing_is_compared(built):
    built.edit("config/conf.py", '"addresses.list"', '""')
    (built.root / RECORD).unlink()
    assert built.build(NOTE).good
    assert not (built.root / RECORD).exists()


def test_the_first_words_make_a_name():
    assert named("quiz", "Don't *all* of $x$ rows, 2 of 3?") == "quiz-dont-all-of-x-rows-2"
