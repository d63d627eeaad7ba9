"""A check whose assertions cannot fail is told from one that can, by running it."""

import sys

import pytest
import torch
from bookproof.fresh.cell_rules import fault_of_check
from bookproof.verify import recorder
from IPython.core.interactiveshell import InteractiveShell

SET_UP = """
import asyncio, contextlib, functools, math, threading, unittest.mock as mock
import numpy as np
import torch
from contextlib import suppress
from functools import partial
from torch.testing import assert_close
x, y, f = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]), abs
nan, none, n, text = float("nan"), torch.empty(0), 2, "error"
class Box: loss = 1.5
box = Box()
def swallow(function):
    def call(*arguments):
        try:
            return function(*arguments)
        except AssertionError:
            return None
    return call
def near(value):
    assert value < 3
def early(value):
    return
    assert value < 3
"""
LIVE = """
assert n == 2
assert 1 + 1 == n
assert n == 2 and True
assert 1 < n < 3
assert abs(n) == abs(n)
for value in x: assert value
with torch.no_grad(): assert x.sum() == 3
if n: assert n == 2
torch.testing.assert_close(x, y)
torch.testing.assert_close(actual=x, expected=y)
from torch.testing import assert_close as close; close(x, y)
close = torch.testing.assert_close; close(x, y)
a, close = 2, torch.testing.assert_close; close(x, y)
close = partial(assert_close, rtol=0, atol=0); close(x, y)
close = lambda value: assert_close(value, y); close(x)
[assert_close(a, b) for a, b in zip(x, y)]
list(map(assert_close, x, y))
near(n)
try:|    int(text)|except ValueError as error:|    assert text in str(error)
try:|    assert n == 2|except AssertionError:|    raise
with suppress(ValueError): assert n == 2
asyncio.run(asyncio.sleep(0)); assert n == 2
async def later():|    assert n == 2|await later()
assert [v for v in x if v > 5] == []
assert not (x > 5).any()
assert all(v > 0 for v in x)
assert not any(v > 5 for v in x)
assert torch.allclose(x, y)
assert (x == y).all()
assert len([n]) == len([n])
assert torch.equal(x, y)
assert math.isnan(nan)
assert not torch.isnan(x).any()
assert abs(n - 2.5) < 1
assert x.sum() < math.inf
assert_close(torch.zeros(2), torch.zeros(2), atol=1e-12, rtol=0)
assert [v for v in x]
assert (x - y).abs().max() < 1e-6
assert (x > 5).sum() == 0
assert x[5:].numel() == 0
assert x.sum() == x.sum()
assert not n == 3
assert isinstance(box, Box) and box.loss == 1.5
other = box; assert other is box
assert n in (1, 2)
assert 0.1 + 0.2 != 0.3
assert sum([1, 3, 5]) == 9
with contextlib.nullcontext(): assert n == 2
try:|    assert n == 2|finally:|    pass
"""
VACUOUS = """
pass
# assert n
n == 2
print(n == 2)
assert True
assert 'the sum is two'
assert (n == 2, 'the sum is two')
assert [n == 2]
assert (v > 0 for v in x)
assert lambda: n == 2
assert f'{n}'
assert 1
assert 1 < 2
assert not False
assert n == 2 or True
assert n == n
assert box.loss <= box.loss
assert torch.allclose(x, x)
assert x.equal(x)
torch.testing.assert_close(x[0], x[0])
five = 5; assert five == 5
five = 5; assert five < 6 and True
if False: assert n
while 0: assert n
if True:|    pass|else:|    assert n
for v in []: assert v
for v in x[:0]: assert v > 9
for v in x:|    continue|    assert v
def check(v):|    assert v < 1
check = lambda: assert_close(x, y)
torch.testing.assert_close
(assert_close(a, b) for a, b in zip(x, y))
map(assert_close, x, y)
partial(assert_close, x, y)
with suppress(AssertionError): assert n == 2
with contextlib.suppress(KeyError, Exception): assert n == 2
with contextlib.ExitStack() as stack:|    stack.enter_context(suppress(AssertionError))|    assert n == 2
try:|    assert n == 2|except AssertionError:|    pass
try:|    assert n == 2|except:|    print('no')
try:|    assert n == 2|except (KeyError, Exception):|    pass
def check():|    try:|        assert n == 2|    finally:|        return|check()
try:|    raise AssertionError|except AssertionError:|    pass
try:|    int(text)|    raise AssertionError|except ValueError:|    pass
def own(v):|    return v < 1|own(n)
def assert_close(a, b):|    pass|assert_close(x, y)
assert_close = lambda a, b: None; assert_close(x, y)
torch.testing.assert_close = f; torch.testing.assert_close(n)
close = assert_close; close = torch.allclose; close(x, y)
for assert_close in [torch.allclose]: assert_close(x, y)
early(n)
swallow(near)(n)
@swallow|def check(v):|    assert v < 3|check(n)
@swallow|def check(v):|    assert_close(v, y)|check(x)
async def later():|    assert n == 2|check = later(); check.close()
async def later():|    assert n == 2|assert later
with mock.patch('torch.testing.assert_close'): torch.testing.assert_close(x, y)
with mock.patch('torch.allclose', return_value=True): assert torch.allclose(x, y)
assert (x == y).all
assert x.equal
assert not (nan < 1)
assert not nan > 1
assert nan != 1
assert not (x * nan > 5).any()
assert_close(x * nan, x * nan, equal_nan=True)
np.testing.assert_allclose(x * nan, x * nan)
assert_close(none, none)
assert_close([], [])
assert torch.allclose(none, none)
assert (none < 1).all()
assert none.lt(1).all()
assert all(v > 5 for v in none)
assert not any(v > 5 for v in none)
assert (x[5:] == y[5:]).all()
assert not (x[5:] > 1).any()
assert_close(x, y, atol=1e9, rtol=0)
assert_close(x, y, atol=math.inf, rtol=0)
assert torch.allclose(x, y, atol=1e9)
assert torch.allclose(x, y, 1e9)
assert math.isclose(n, 3, abs_tol=1e9)
np.testing.assert_allclose(x, y, rtol=1e9)
assert abs(n - 5) < 1e9
assert (x - y).abs().max() <= 1e12
threading.Thread(target=near, args=[n]).start()
assert __import__('types').SimpleNamespace
assert iter(x)
assert box
assert torch
assert {n: 2}
assert (m := 3) == 3
assert __debug__
assert all([])
assert any([True])
assert n if False else True
assert True if n else 1
assert n == n == n
assert not n != n
assert (x == x).all()
other = x; assert_close(x, other)
other = x; assert (x == other).all()
other = x; assert torch.allclose(x, other)
other = [n, n]; same = other; assert same == other
assert isinstance(box, Box)
assert isinstance(x, torch.Tensor) and isinstance(n, int)
assert x.sum() > -1e30
assert -1e9 < x.sum() < 1e9
assert (x > nan).sum() == 0
assert (x * nan == x).sum() == 0
assert (x[:0] == 1).sum() == 0
assert (x[5:] - 1).abs().sum() == 0
try:|    raise ValueError|except ValueError:|    pass
match n:|    case 9:|        assert n == 1
def later():|    yield|    assert n == 3|next(later())
[v for v in x if v > 99 and near(v)]
lambda: near(9)
"""


@pytest.fixture(scope="module")
def shell():
    """An IPython shell that records assertions, as a kernel does."""
    main = sys.modules["__main__"]
    shell, torch_close = InteractiveShell(), torch.testing.assert_close
    sys.modules["__main__"] = main  # the shell puts its own there
    recorder.install(shell, ["torch"])
    yield shell
    vars(torch.testing)["assert_close"] = torch_close
    del vars(recorder.builtins)[recorder.NAME]


@pytest.fixture
def verdict(shell):
    """Return a function that runs a cell, and returns why no assertion of it could fail."""
    real = torch.testing.assert_close
    shell.reset(new_session=False)

    def verdict(code):
        for cell in (SET_UP, code.replace("|", "\n")):
            assert shell.run_cell(cell, store_history=False).success
        return vars(recorder.builtins)[recorder.NAME].verdict()

    yield verdict
    vars(torch.testing)["assert_close"] = real


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", LIVE.strip().splitlines())
def test_a_check_that_can_fail_is_accepted(verdict, code):
    assert verdict(code) == ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", VACUOUS.strip().splitlines())
def test_a_check_that_cannot_fail_is_refused(verdict, code):
    assert verdict(code)


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
    assert fault_of_check({"check": "id", **options}) == why
