"""The page of the sources keeps every number that they print."""

import doctest
import re

import pytest

from tests.book.pages import DOCS

TEXT = (DOCS / "appendix" / "sources.md").read_text("utf-8")
NUMBER = doctest.register_optionflag("NUMBER")  # as pytest does
EXAMPLES = doctest.DocTestParser().get_examples(TEXT)
# Printed results of the sources, in the order of the page.
PRINTED = {
    "A: states of the encoder": "-0.0498 0.2193 -0.0642 0.2258",
    "A: weights of three heads": "1 0 .4011 .5989 1 0 .4264 .5736 1 0 .6304 .3696",
    "A: the first prediction": "0.4132 0.3728",
    "A: two predictions": "0.4132 0.3728 0.4132 0.3728",
    "A: the second step": "0.4137 0.3727 0.4132 0.3728",
    "A: with a mask and without": "3e-8",
    "A: the first square, from its book": "1.0349 .9661 .8055 -.9169 -.8251 -.9499 -.8670 .9342",
    "B: reversal": "0 1 2 2 1 0 1 3 4 4 3 1 1 0 1 0",
    "B: XOR sentences": "0 1 2 0 3 2 4 3 2 4 1 2 1 0 1 0",
    "B: scores": ".85 .84 -.7 -.69 .84 .85 -.6 -.61 -.7 -.6 1 .9 -.69 -.61 .9 .82",
    "B: weights": ".3554 .3533 .1452 .1461 .3479 .3499 .1515 .1506"
    " .1380 .1462 .3682 .3476 .1440 .1508 .3607 .3444",
    "B: contexts": ".1841 .4460 .1664 .4387 -.4967 .1504 -.4793 .1576",
    "B: the floor": ".6931",
    "C: the masked table": "1 1 0 1 1",
    "C: modulo 4": "0 .25 .5 .75 0 .25 .5 .75",
    "C: modulo 5": "0 .2 .4 .6 .8 0 .2 .4",
    "C: modulo 7": "0 .14 .29 .43 .57 .71 .86 0",
    "C: sine of base 4": "0 1 0 -1 0 1 0 -1",
    "C: cosine of base 4": "1 0 -1 0 1 0 -1 0",
    "C: sine of base 5": "0 .95 .59 -.59 -.95 0 .95 .59",
    "C: cosine of base 5": "1 .31 -.81 -.81 .31 1 .31 -.81",
    "C: sine of base 7": "0 .78 .97 .43 -.43 -.97 -.78 0",
    "C: cosine of base 7": "1 .62 -.22 -.90 -.90 -.22 .62 1",
    "C: row 0": "0 1 0 1 0 1 0 1",
    "C: row 1": ".8415 .5403 .0998 .9950 .0100 1 .0010 1",
    "D: shapes": "8 5 10",
}


def numbers(text: str) -> list[float]:
    return [float(n) for n in re.findall(r"-?\d*\.?\d+(?:e-?\d+)?", text)]


def holds(want: str, printed: str) -> bool:
    """Tell whether the printed numbers occur in sequence in the expected output of an example."""
    found, given = numbers(want), numbers(printed)
    starts = range(len(found) - len(given) + 1)
    return any(found[i : i + len(given)] == given for i in starts)


def is_exact(example: doctest.Example) -> bool:
    return example.options.get(NUMBER) is False


@pytest.mark.parametrize("what", PRINTED)
def test_a_printed_number_is_expected_to_its_last_digit(what):
    exact = [example.want for example in EXAMPLES if is_exact(example)]
    assert any(holds(want, PRINTED[what]) for want in exact)


def test_the_verdicts_are_counted():
    verdicts = ["reproduced", "with its mistake", "cannot be reproduced"]
    sources = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    counted = [[len(re.findall(rf"\| {v} \|", source)) for v in verdicts] for source in sources]
    total = [sum(column) for column in zip(*counted, strict=True)]
    rows = re.findall(r"^\| .* \| (\d+) \| (\d+) \| (\d+) \|$", TEXT, re.MULTILINE)
    assert [list(map(int, row)) for row in rows] == [*counted, total]
