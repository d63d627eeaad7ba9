"""What a learning platform takes in is what the pages ask, with the right answer right."""

import json
import re
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
from course import questions

from tests.schemas.qti import wrong

QTI = {"q": "http://www.imsglobal.org/xsd/imsqti_v2p1"}
ASKED = {
    "name": "odd-1",
    "question": "Is $a < b$ = {c}?",
    "options": ["`~a`: yes", "No & *no*", "Never"],
    "right": 1,
    "reasons": ["is wrong.", "Because it is.", "is wrong, too."],
}
PAGE = {"title": "A & B", "number": [2], "questions": [ASKED]}


@pytest.fixture(autouse=True)
def built(monkeypatch, tmp_path):
    """The questions of one page, as a build leaves them."""
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "odd.json").write_text(json.dumps(PAGE), "utf-8")
    monkeypatch.setattr(questions, "BUILT", tmp_path / "built")
    monkeypatch.setattr(questions, "MADE", tmp_path / "made")


def test_gift_has_each_option_with_its_reason():
    questions.main()
    text = (questions.MADE / "odd.gift").read_text("utf-8")
    assert text == (questions.MADE / "questions.gift").read_text("utf-8")
    assert r"::odd-1::[html]Is \\(a &lt; b\\) \= \{c\}? {" in text
    assert "\t~[html]<code>\\~a</code>\\: yes#[html]This answer is wrong.\n" in text
    assert "\t=[html]No &amp; <em>no</em>#[html]Because it is.\n" in text
    assert len(re.findall(r"^\t[~=]", text, re.MULTILINE)) == 3


def test_a_package_of_qti_holds_what_it_lists():
    questions.main()
    with ZipFile(questions.MADE / "questions-qti21.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    listed = ElementTree.fromstring(files.pop("imsmanifest.xml"))
    named = {e.get("href") for e in listed.iter() if e.tag.endswith("}file")}
    assert named == set(files) == {"odd-1.xml", "test-odd.xml"}
    item = ElementTree.fromstring(files["odd-1.xml"])
    right = item.findtext(".//q:correctResponse/q:value", namespaces=QTI)
    choices = item.findall(".//q:simpleChoice", QTI)
    assert "".join(choices["abc".index(right)].itertext()) == "No & no"
    said = item.findall("q:modalFeedback", QTI)
    assert [feedback.get("identifier") for feedback in said] == ["a", "b", "c"]


def test_items_and_tests_are_qti():
    questions.main()
    with ZipFile(questions.MADE / "questions-qti21.zip") as archive:
        item, test = (archive.read(name) for name in ("odd-1.xml", "test-odd.xml"))
    assert wrong(item) == wrong(test) == []
    assert wrong(item.replace(b"simpleChoice", b"choice"))
    assert wrong(item.replace(b' cardinality="single"', b"", 1))


def test_the_same_questions_make_the_same_package():
    questions.main()
    first = (questions.MADE / "questions-qti21.zip").read_bytes()
    questions.main()
    assert (questions.MADE / "questions-qti21.zip").read_bytes() == first


def test_without_a_built_book_there_is_one_message(tmp_path):
    (tmp_path / "built" / "odd.json").unlink()
    with pytest.raises(SystemExit, match="run the session 'book' first"):
        questions.main()
    assert not questions.MADE.exists()
