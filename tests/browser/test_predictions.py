"""Predictions: no answer outside its fold, kept on the reader's machine, at the end in print."""

import re

import pytest
from course import predictions
from lxml import html

from tests.book.pages import SITE, built_pages
from tests.browser.looks import NO_STORAGE

CHAPTER = "chapters/masks.html"
PAGES = built_pages(having='data-prediction="')


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize("name", PAGES)
def test_what_answers_a_prediction_is_in_a_closed_fold_and_nowhere_else(name):
    """Each line that an answer prints is looked for on the page without this answer."""
    article = html.parse(str(SITE / name)).getroot().find(".//article")
    boxes = article.find_class("predict")
    folds = [fold for box in boxes for fold in box.find_class("answer")]
    assert len(folds) == len(boxes) > 0
    for fold in folds:
        assert fold.tag == "details"
        assert "open" not in fold.attrib
        assert re.search(r"\w{2}", fold.find("div").text_content())
        printed = [
            pre.text_content() for pre in fold.xpath(".//*[contains(@class, 'output')]//pre")
        ]
        inside = fold.text_content()
        before, _, after = article.text_content().partition(inside)
        rest = words(before + after)
        lines = [words(line) for text in printed for line in text.splitlines()]
        assert [line for line in lines if len(line) > 12 and line in rest] == []


def test_an_answer_is_not_seen_before_its_fold_is_opened(open_page):
    page = open_page((SITE / CHAPTER).as_uri(), scripts=False)
    for fold in page.locator("details.answer").all():
        assert not fold.locator("> div").is_visible()
        fold.locator("summary").first.click()
        assert fold.locator("> div").is_visible()


def test_a_prediction_is_kept_and_only_there(origin, open_page):
    page = open_page(f"{origin}/{CHAPTER}")
    first = page.locator(".predict").first
    first.locator("label").nth(1).click()
    page.reload()
    chosen = page.locator(".predict input:checked")
    assert chosen.count() == 1
    assert chosen.get_attribute("value") == "1"
    keys = page.evaluate("Object.keys(localStorage).filter(k => k.startsWith('predict:')).sort()")
    assert keys == [keys[0], f"{keys[0]}/time"]


def test_a_prediction_has_a_proof_that_cannot_be_edited(origin, open_page, tmp_path, capsys):
    page = open_page(f"{origin}/{CHAPTER}")
    box = page.locator(".predict:has(fieldset)").first
    assert not box.locator(".proof").is_visible()
    box.locator("label").nth(1).click()
    assert box.locator(".proof").is_visible()
    line = box.evaluate("proof")
    where, name, choice, time, _ = line.split(", ")
    assert (where, name, choice) == ("chapters/masks", box.get_attribute("id"), "2")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", time)
    files = [tmp_path / name for name in ("ada.txt", "bob.txt")]
    files[0].write_text(f"{line}\n", "utf-8")
    files[1].write_text(f"{line}\n\n{line.replace(', 2, ', ', 3, ')}\n", "utf-8")
    predictions.main([str(file) for file in files])
    counted = capsys.readouterr().out.splitlines()
    assert counted[:2] == ["ada.txt: 1 predictions", "bob.txt: 0 predictions"]
    reasons = [said.split(":")[0].strip() for said in counted[2:]]
    assert reasons == ["changed", "also in ada.txt"]


def test_a_prediction_can_be_made_where_nothing_can_be_kept(origin, open_page):
    raised = []
    page = open_page("about:blank")
    page.on("pageerror", lambda error: raised.append(error.stack))
    page.add_init_script(NO_STORAGE)
    page.goto(f"{origin}/{CHAPTER}")
    page.locator(".predict label").first.click()
    assert page.locator(".predict input:checked").count() == 1
    assert page.locator(".proof:visible").count() == 0
    assert [stack for stack in raised if "predict.js" in stack] == []


def test_in_print_answers_stand_at_the_end(origin, open_page):
    page = open_page(f"{origin}/{CHAPTER}")
    folds = page.locator("details.answer").count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    end = page.locator("article > section.printed-answers")
    assert end.locator("details[open]").count() == folds
    assert page.locator(".predict details").count() == 0
    assert end.locator("details.solution").count() == 0
    places = page.locator(".printed-place").all_inner_texts()
    assert places[0] == "Answer 1, at the end"
    assert len(places) == end.locator("h3").count() == folds
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".predict details.answer:not([open])").count() > 0
    assert page.locator(".printed-answers, .printed-place").count() == 0
