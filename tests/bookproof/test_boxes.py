"""A prediction hides its answer; what is wrong on purpose looks it, beside what is right."""

import re

import pytest
from bookproof.html.wrong import wrong_lines


@pytest.fixture
def boxes(built):
    return built.html("word")


def folded(html):
    return re.findall(r'(?s)<details class="answer">.*?</details>', html)


def test_all_of_an_answer_is_in_one_fold_and_the_code_belongs_to_the_question(
    boxes,
):
    first, second = folded(boxes)
    outside = boxes.replace(first, "").replace(second, "")
    assert "of two lines" in re.sub(r"<[^>]+>", "", first)
    assert "Two of them." in first
    assert "Two of them." not in outside
    assert "No." in second
    assert "<p>No." not in outside
    assert "How many lines does this print?" in outside
    assert outside.count("of two lines") == 1  # in the code
    assert "it did not" in re.sub(r"<[^>]+>", "", second)
    assert "and why" not in re.sub(r"<[^>]+>", "", outside)
    assert "hidden-cell" not in first + second  # no fold in a fold
    assert "to prediction 1" in first
    assert "to prediction 2" in second


def test_a_prediction_is_a_choice_or_a_line_to_write_on(boxes):
    assert len(re.findall(r'<input type="radio" name="prediction-1"', boxes)) == 3
    assert re.search(r'value="2"><span class="math', boxes)
    assert boxes.count('<label class="commit">Your prediction<input') == 1


def test_a_prediction_is_kept_under_its_page_and_question(built):
    keys = re.findall(r'data-prediction="(word/\w{12})"', built.html("word"))
    assert len(set(keys)) == 2
    built.edit("docs/word.md", "Will it fail?", "Will it stop?")
    assert built.build().good
    after = re.findall(r'data-prediction="(word/\w{12})"', built.html("word"))
    assert after[0] == keys[0]
    assert after[1] != keys[1]


def test_wrong_code_says_so_and_where(boxes):
    assert re.findall(r'wrong-label">(.*?)<', boxes) == [
        "Wrong on purpose: the marked lines",
        "Wrong on purpose",
    ]
    marked = "".join(re.findall(r'(?s)<span class="hll">(.*?)\n</span>', boxes))
    text = re.sub(r"<[^>]+>", "", marked)
    assert "def broken_half" in text
    assert "x // 2" in text
    assert "math" not in text


def test_wrong_stands_beside_right_each_with_its_verdict(boxes):
    versus = boxes[boxes.index('class="versus"') :]
    wrong, right = versus.index("side-wrong"), versus.index("side-right")
    order = [versus.index(words) for words in ("forgets", "answer", "keeps it")]
    assert wrong < order[0] < right < order[1] < order[2]
    one_block = r'right-code[^>]*>\s*<p class="right-label">Right</p>\s*<div class="highlight'
    assert re.search(one_block, versus), "the two codes would not begin on one line"


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("x = 1\nbroken_x = 2", [2]),
        ("@cache\ndef broken():\n    pass", [1, 2, 3]),
        ("class BrokenNorm:\n    pass\n", [1, 2]),
        ("print(broken_x)", []),
        ("for broken in x:\n    pass", [1, 2]),
        ("no Python", []),
    ],
)
def test_wrong_is_what_defines_a_broken_name(code, lines):
    assert wrong_lines(code) == lines
