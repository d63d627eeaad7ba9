"""Other machines, simulated on this one: which are run, and that a difference is found."""

import json
import re

import portability
import pytest
from bookproof.fresh.keys import imports, modules_reached
from portability import Answers, Machine

KNOWN = {name: {"ATEN_CPU_CAPABILITY": name} for name in ("default", "avx2", "avx512")}


def test_every_arithmetic_two_threads_and_draws_are_asked():
    asked = portability.machines(KNOWN, draws=2, is_quick=False)
    names = ["default", "avx2", "avx512", "two threads", "draw 1", "draw 2"]
    assert [machine.name for machine in asked] == names
    assert asked[3] == Machine("two threads", KNOWN["avx512"], threads=2)
    for known, first in ((KNOWN, "default"), ({}, "two threads")):
        asked = portability.machines(known, draws=2, is_quick=True)
        assert [machine.name for machine in asked] == [first, "draw 1"]


def test_the_oldest_arithmetic_is_everywhere():
    assert next(iter(portability.arithmetic())) == "default"


def test_the_thinnest_margin_of_each_check_comes_first():
    answers = {
        "old": Answers(margins={"a": 0.5, "b": 0.25}),
        "new": Answers(margins={"a": 0.125, "b": 0.75}),
    }
    assert portability.thinnest(answers) == [(0.125, "a", "new"), (0.25, "b", "old")]


def test_what_differs_is_read_from_a_report(tmp_path):
    file = tmp_path / "report.json"
    fine = {"chapter": "masks", "check": "a", "holds": True, "margin": 0.5}
    plain = fine | {"check": "b", "margin": None}
    wrong = plain | {"check": "c", "holds": False, "message": "not so"}
    file.write_text(json.dumps({"results": [fine, plain, wrong]}), "utf-8")
    read = portability.of_pages(file)
    assert read == Answers(["masks  c  not so"], {"masks  a": 0.5})


TESTS = """
import torch

def test_fine():
    assert torch.ones(2).exp().sum() > 5

def test_of_this_machine():
    x = (torch.arange(9).double() / 7)
    assert x.exp().tolist() == {here}
"""


def test_a_test_that_needs_this_machine_is_noticed(tmp_path):
    import torch

    file = tmp_path / "test_here.py"
    here = (torch.arange(9).double() / 7).exp().tolist()
    file.write_text(TESTS.format(here=here), "utf-8")
    assert portability.ask(Machine("here"), [], [str(file)]).differs == []
    (differs,) = portability.ask(Machine("draw", draw=1), [], [str(file)]).differs
    assert "test_of_this_machine" in differs


def test_tests_that_cannot_be_run_are_a_difference(tmp_path):
    missing = str(tmp_path / "test_none.py")
    assert portability.ask(Machine("here"), [], [missing]).differs


@pytest.mark.parametrize(("differs", "code"), [([], 0), (["masks  c"], 1)])
def test_the_exit_code_says_whether_anything_differs(monkeypatch, capsys, differs, code):
    answers = Answers(list(differs), {"masks  a": 0.5})
    monkeypatch.setattr(portability, "ask", lambda *_: answers)
    monkeypatch.setattr(portability, "arithmetic", lambda: KNOWN)
    assert portability.main(["--quick"]) == code
    out = capsys.readouterr().out
    assert f"default: {len(differs)} differ" in out
    assert "draw 1" in out
    assert "0.5       masks  a  (default)" in out


def test_pages_and_tests_follow_from_the_tree():
    pages, tests = portability.pages_and_tests(is_quick=True)
    every_page, every_test = portability.pages_and_tests(is_quick=False)
    assert {"squares", "language-model"} <= set(every_page) - set(pages)
    assert "attention-without-weights" in pages
    assert set(tests) < set(every_test)
    folders = [test.removeprefix("tests/").partition("/")[0] for test in every_test]
    assert {"measure", "experiments", "properties"} <= set(folders)
    assert not {"bookproof", "browser", "editions", "verify"} & set(folders)
    for name in ("masks", "rotary", "blockwise", "pytorch", "attention_by_hypothesis"):
        assert f"tests/test_{name}.py" in tests
    assert "tests/measure/test_floors.py" in tests


def test_every_module_that_a_page_shows_is_mutated_and_its_tests_run_on_other_machines():
    import mutate

    pages = "".join(page.read_text("utf-8") for page in (mutate.ROOT / "docs").glob("*/*.md"))
    shown = set(re.findall(r"\{listing\} selfattn_book\.((?:[a-z_]+\.)+)", pages))
    names = {name.rstrip(".") for name in shown}
    names = {name for name in names if (mutate.PACKAGE / mutate.path_of(name)).is_file()}
    assert len(names) >= 25
    assert names <= set(mutate.MODULES)
    tests = [mutate.ROOT / name for name in portability.pages_and_tests(is_quick=False)[1]]
    texts = [test.read_text("utf-8") for test in tests if test.suffix == ".py"]
    tested = frozenset().union(*map(imports, texts))
    reached = modules_reached([mutate.PACKAGE], tested)
    assert {name for name in names if mutate.PACKAGE / mutate.path_of(name) not in reached} == set()
