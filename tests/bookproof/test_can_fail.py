"""A check that cannot fail is told from one that can, by its source alone."""

import pytest
from bookproof.claims.can_fail import IDLE, fault_of

CAN_FAIL = {
    "assert": "assert x == 2",
    "arithmetic": "assert 1 + 1 == 2",
    "both": "assert x and True",
    "chained": "assert 1 < x < 2",
    "called twice": "assert f(x) == f(x)",
    "false of itself": "assert 1 == 2",
    "no numbers to compare": "assert 1 < 'one'",
    "in a loop": "for x in y:\n    assert x",
    "in a block": "with chance(3):\n    assert x",
    "in one case": "if x:\n    assert y",
    "named": "torch.testing.assert_close(x, y)",
    "named at once": "assert_array_equal(x, y)",
    "another name": "from torch.testing import assert_close as close\nclose(x, y)",
    "bound": "close = torch.testing.assert_close\nclose(x, y)",
    "bound in a pair": "a, close = 2, torch.testing.assert_close\nclose(x, y)",
    "with arguments": "near = partial(assert_close, rtol=0)\nnear(x, y)",
    "in a lambda": "near = lambda x: assert_close(x, 2)\nnear(x)",
    "for each": "[assert_close(x, y) for x, y in pairs]",
    "handed over": "list(map(assert_close, x, y))",
    "own": "def near(x):\n    assert x < 1\nnear(y)",
    "own of own": "def a(x):\n    assert x\ndef b(x):\n    a(x)\nb(y)",
    "raise": "if x:\n    raise AssertionError",
    "must raise": "try:\n    f()\n    raise AssertionError\nexcept ValueError:\n    pass",
    "else": "try:\n    f()\nexcept ValueError:\n    pass\nelse:\n    assert x",
    "looked at": "try:\n    f()\nexcept ValueError as error:\n    assert x in str(error)",
    "raised again": "try:\n    assert x\nexcept AssertionError:\n    raise\nexcept:\n    pass",
    "another error": "with suppress(ValueError):\n    assert x",
    "after": "for x in y:\n    try:\n        assert_close(x, 2)\n"
    "    except AssertionError:\n        continue\n    raise AssertionError",
    "context": "with self.assertRaises(ValueError):\n    f()",
}
CANNOT = {
    "empty": "",
    "comment": "# assert x",
    "no assertion": "x == 2",
    "a print": "print(x == 2)",
    "true": "assert True",
    "text": "assert 'the sum is two'",
    "pair": "assert (x == 2, 'the sum is two')",
    "list": "assert [x == 2]",
    "generator": "assert (x > 0 for x in y)",
    "function": "assert lambda: x == 2",
    "f-string": "assert f'{x}'",
    "number": "assert 1",
    "numbers": "assert 1 < 2",
    "not false": "assert not False",
    "or": "assert x == 2 or True",
    "itself": "assert x == x",
    "itself at most": "assert x.loss <= x.loss",
    "close to itself": "assert torch.allclose(x, x)",
    "itself again": "torch.testing.assert_close(x[0], x[0])",
    "never": "if False:\n    assert x",
    "never in turn": "while 0:\n    assert x",
    "otherwise never": "if True:\n    pass\nelse:\n    assert x",
    "for none": "for x in []:\n    assert x",
    "too late": "for x in y:\n    continue\n    assert x",
    "not called": "def near(x):\n    assert x < 1",
    "not called lambda": "near = lambda: assert_close(x, y)",
    "named only": "torch.testing.assert_close",
    "not consumed": "(assert_close(x, y) for x, y in pairs)",
    "not mapped": "map(assert_close, x, y)",
    "partial": "partial(assert_close, x, y)",
    "suppressed": "with suppress(AssertionError):\n    assert x",
    "suppressed with others": "with contextlib.suppress(KeyError, Exception):\n    assert x",
    "swallowed": "try:\n    assert x\nexcept AssertionError:\n    pass",
    "swallowed bare": "try:\n    assert x\nexcept:\n    print('no')",
    "swallowed with others": "try:\n    assert x\nexcept (KeyError, Exception):\n    pass",
    "own, harmless": "def near(x):\n    return x < 1\nnear(y)",
    "own, named so": "def assert_close(x, y):\n    pass\nassert_close(x, y)",
    "replaced": "assert_close = lambda x, y: None\nassert_close(x, y)",
    "replaced there": "torch.testing.assert_close = f\ntorch.testing.assert_close(x, y)",
    "bound anew": "close = assert_close\nclose = torch.allclose\nclose(x, y)",
    "taken by a loop": "for assert_close in functions:\n    assert_close(x, y)",
}


@pytest.mark.parametrize("code", CAN_FAIL.values(), ids=CAN_FAIL)
def test_what_can_fail_is_a_check(code):
    assert fault_of(code, {"check": "id", "by": "exact"}) == ""


@pytest.mark.parametrize("code", CANNOT.values(), ids=CANNOT)
def test_what_cannot_fail_is_none(code):
    assert fault_of(code, {"check": "id"}) == IDLE


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"tags": ["remove-stderr"]}, ""),
        ({"tags": "[hide-output, remove-stderr]"}, ""),
        ({"tags": ["raises-exception"]}, "it must have no tag raises-exception"),
        ({"tags": "[skip-execution]"}, "it must have no tag skip-execution"),
        ({"allow_errors": True}, "it must have no option allow_errors"),
    ],
)
def test_options_that_let_a_check_fail_are_refused(options, why):
    assert fault_of("assert x == 2", {"check": "id", **options}) == why


def test_what_it_calls_may_be_defined_in_earlier_cells():
    define = "def near(x):\n    assert x < 1"
    assert fault_of("near(y)", {}, [define]) == ""
    assert fault_of("near(y)", {}, [define, "near = print"]) == IDLE
    assert fault_of("assert_close(x, y)", {}, ["from torch.testing import *"]) == ""
