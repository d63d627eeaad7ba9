"""Greedy decoding: right answers of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch

from tests.course.answers import report, said


def right(logits_of, start, end, length):
    target = torch.tensor([[start]])
    for _ in range(length):
        newest = logits_of(target)[:, -1].argmax(-1, keepdim=True)
        if newest.item() == end:
            break
        target = torch.cat([target, newest], dim=1)
    return target[0, 1:].tolist()


def recursive(logits_of, start, end, length, so_far=()):
    if len(so_far) == length:
        return list(so_far)
    token = int(logits_of(torch.tensor([[start, *so_far]]))[0, -1].argmax())
    if token == end:
        return list(so_far)
    return recursive(logits_of, start, end, length, (*so_far, token))


def generated(logits_of, start, end, length):
    target = [start]
    while len(target) <= length:
        shares = logits_of(torch.tensor([target])).softmax(-1)
        if (token := shares[0, -1].topk(1).indices.item()) == end:
            return
        target.append(token)
        yield token


def wrong(row=-1, pick="argmax", fed="all", stops=True, end_too=False, first=1, more=0):
    def write(logits_of, start, end, length):
        target = [start]
        for _ in range(length + more):
            given = {"all": target, "newest": target[-1:], "start": [start]}[fed]
            logits = logits_of(torch.tensor([given]))[0]
            token = int(getattr(logits[row], pick)())
            if stops and token == end:
                target += [end] * end_too
                break
            target.append(token)
        return target[first:]

    return write


def asks_on(logits_of, start, end, length):
    target = [start]
    for _ in range(length):
        target.append(int(logits_of(torch.tensor([target]))[0, -1].argmax()))
    written = target[1:]
    return written[: written.index(end)] if end in written else written


def all_rows(logits_of, start, end, length):
    """Read every row of the last pass: the same, since the model is prefix consistent."""
    target = torch.tensor([[start]])
    for _ in range(length):
        tokens = logits_of(target).argmax(-1)
        if tokens[0, -1] == end:
            return target[0, 1:]
        target = torch.cat([torch.tensor([[start]]), tokens], dim=1)
    return target[0, 1:]


RIGHT = {
    "write": {
        "a loop": right,
        "recursion": recursive,
        "a generator": generated,
        "a tuple": lambda *given: tuple(right(*given)),
        "a tensor": lambda *given: torch.tensor(right(*given)),
        "NumPy": lambda *given: np.array(right(*given), dtype=int),
        "tensors of one number": lambda *given: list(torch.tensor(right(*given))),
        "32 bits": lambda *given: torch.tensor(right(*given), dtype=torch.int32),
        "all rows at once": all_rows,
    }
}
WRONG = {
    "write": {
        "first row": (wrong(row=0), "first row of the logits was read"),
        "least": (wrong(pick="argmin"), "least of the logits"),
        "newest alone": (wrong(fed="newest"), "Only the newest token"),
        "start alone": (wrong(fed="start"), "fed the start alone"),
        "start kept": (wrong(first=0), "The start stands in what comes back"),
        "end kept": (wrong(end_too=True), "The end stands in what comes back"),
        "goes on": (wrong(stops=False), "It goes on behind the end"),
        "one more": (wrong(more=1), "One token too many"),
        "one less": (wrong(more=-1), "One token too few"),
        "asks on": (asks_on, "was asked 9 times, not 5"),
        "nothing": (
            lambda *given: None,
            "missing: it must return a list of tokens",
        ),
        "a word": (lambda *given: "ten to eight", "missing: it must return a list"),
        "a batch": (
            lambda *given: [right(*given)],
            r"shape: .* got shape \(1, 9\)",
        ),
        "decimals": (
            lambda *given: torch.tensor(right(*given)).double(),
            "dtype: tokens are integers",
        ),
        "no batch": (
            lambda f, start, end, n: f(torch.tensor([start])).argmax(),
            r"shape: logits_of takes tokens of shape \(1, t\)",
        ),
        "endless": (
            lambda f, start, end, n: [f(torch.tensor([[start]])) for _ in range(99)],
            "asked 50 times",
        ),
        "too few arguments": (lambda f, start, end: [], "exception: TypeError"),
    }
}


@pytest.mark.parametrize("kind", RIGHT["write"])
def test_what_is_right_passes(kind):
    assert said(report("transformer", RIGHT["write"][kind], "write")) == ""


@pytest.mark.parametrize("kind", WRONG["write"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["write"][kind]
    found = report("transformer", answer, "write")
    assert found.points < found.possible
    assert re.search(name, said(found))


def test_what_goes_on_behind_the_end_has_half_of_the_points():
    found = report("transformer", wrong(stops=False), "write")
    assert (found.points, found.possible) == (3, 6)
