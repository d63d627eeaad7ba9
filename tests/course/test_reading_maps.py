"""Attention on earlier copies: right answers of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch

from tests.course.answers import report, said


def same(tokens):
    return tokens[:, :, None] == tokens[:, None, :]


def earlier(tokens):
    length = tokens.size(1)
    return torch.ones(length, length, dtype=torch.bool).tril(-1)


def mean(weights, cells, asked):
    looks = (weights * cells[:, None]).sum(-1)
    return (looks * asked[:, None]).sum((0, 2)) / asked.sum()


def right(weights, tokens):
    cells = same(tokens) & earlier(tokens)
    return mean(weights, cells, cells.any(-1))


def looped(weights, tokens):
    total, count = [0.0] * weights.size(1), 0
    for b, row in enumerate(tokens.tolist()):
        for i, token in enumerate(row):
            copies = [j for j in range(i) if row[j] == token]
            count += bool(copies)
            for h in range(len(total)):
                total[h] += sum(float(weights[b, h, i, j]) for j in copies)
    return [share / count for share in total]


def picked(weights, tokens):
    cells = same(tokens) & earlier(tokens)
    looks = torch.einsum("bhts,bts->bht", weights, cells.to(weights))
    return looks.transpose(0, 1)[:, cells.any(-1)].mean(1)


def in_numpy(weights, tokens):
    w, x = weights.numpy(), tokens.numpy()
    cells = np.tril(x[:, :, None] == x[:, None, :], -1)
    asked = cells.any(-1)
    looks = (w * cells[:, None]).sum(-1)
    return np.stack([looks[:, h][asked].mean() for h in range(w.shape[1])])


def in_place(weights, tokens):
    weights *= (same(tokens) & earlier(tokens))[:, None]
    asked = (same(tokens) & earlier(tokens)).any(-1)
    return weights.sum(-1).permute(1, 0, 2)[:, asked].mean(-1)


RIGHT = {
    "copy_score": {
        "as on the page": right,
        "a loop": looped,
        "einsum": picked,
        "NumPy": in_numpy,
        "in place": in_place,
        "in float32": lambda w, t: right(w.float(), t),
        "a list of tensors": lambda w, t: list(right(w, t)),
    }
}


def with_itself(w, t):
    cells = same(t) & (earlier(t) | torch.eye(t.size(1), dtype=torch.bool))
    return mean(w, cells, (same(t) & earlier(t)).any(-1))


def itself_everywhere(w, t):
    cells = same(t) & (earlier(t) | torch.eye(t.size(1), dtype=torch.bool))
    return mean(w, cells, cells.any(-1))


def after(w, t):
    cells = torch.zeros_like(same(t))
    cells[:, :, 1:] = (same(t) & earlier(t))[:, :, :-1]
    return mean(w, cells, (same(t) & earlier(t)).any(-1))


def latest(w, t):
    cells = torch.zeros_like(same(t))
    for b, row in enumerate(t.tolist()):
        for i in range(len(row)):
            found = [j for j in range(i) if row[j] == row[i]]
            if found:
                cells[b, i, found[-1]] = True
    return mean(w, cells, cells.any(-1))


def average_of_copies(w, t):
    cells = same(t) & earlier(t)
    share = w / cells.sum(-1).clamp(min=1)[:, None, :, None]
    return mean(share, cells, cells.any(-1))


WRONG = {
    "copy_score": {
        "itself": (with_itself, "counts as a copy of itself"),
        "itself, and all": (
            itself_everywhere,
            "copy of itself, and the mean goes over",
        ),
        "all queries": (
            lambda w, t: (w * (same(t) & earlier(t))[:, None]).sum(-1).mean((0, 2)),
            "also those without a copy",
        ),
        "after the copy": (after, "came after the copy"),
        "the latest": (latest, "Only the latest copy"),
        "turned round": (
            lambda w, t: right(w.mT, t),
            "Rows and columns are exchanged",
        ),
        "mean of copies": (average_of_copies, "A mean over the copies"),
        "a sum": (
            lambda w, t: right(w, t) * (same(t) & earlier(t)).any(-1).sum(),
            "not divided by the number",
        ),
        "the rest": (lambda w, t: 1 - right(w, t), "what the copies do not get"),
        "one for all heads": (lambda w, t: right(w, t).mean(), r"shape: .*\(2,\)"),
        "one a text": (
            lambda w, t: torch.stack([right(w[b, None], t[b, None]) for b in range(len(t))]),
            r"shape: .*got \(3, 2\)",
        ),
        "nothing": (lambda w, t: None, "missing: it must return scores"),
        "stops": (lambda w, t: w @ t, "exception: RuntimeError"),
    }
}


@pytest.mark.parametrize("kind", RIGHT["copy_score"])
def test_what_is_right_passes(kind):
    assert said(report("reading-maps", RIGHT["copy_score"][kind], "copy_score")) == ""


@pytest.mark.parametrize("kind", WRONG["copy_score"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["copy_score"][kind]
    found = report("reading-maps", answer, "copy_score")
    assert found.points < found.possible
    assert re.search(name, said(found))
