"""Logits from a bag of words: right answers of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch

from tests.course.answers import report, said


def shares(counts):
    return counts / counts.sum(1, keepdim=True)


def right(model, counts):
    return model.judge(shares(counts) @ model.block(model.embed.weight)).squeeze(-1)


def in_numpy(model, counts):
    judged = model.judge(model.block(model.embed.weight)).detach().numpy()
    return (np.asarray(counts) @ judged)[:, 0] / 3


def as_sentences(model, counts):
    return model(
        torch.stack([torch.arange(5).repeat_interleave(n.long()) for n in counts])
    )


def in_a_loop(model, counts):
    def logit(row):
        blocked = [
            n * model.block(e) for n, e in zip(row, model.embed.weight, strict=True)
        ]
        return model.judge(sum(blocked) / sum(row)).item()

    return [logit(row) for row in counts]


def in_place(model, counts):
    counts /= 3
    return model.judge(counts.matmul(model.block(model.embed.weight))).flatten()


def present(counts):
    return (counts > 0).to(counts)


def without_bias(model, counts):
    """Change the model, which is not its own."""
    model.judge.bias.data.zero_()
    return right(model, counts)


RIGHT = {
    "from_counts": {
        "a product": right,
        "judged first": lambda m, c: (
            (c @ m.judge(m.block(m.embed.weight)))[:, 0] / 3
        ),
        "einsum": lambda m, c: m.judge(
            torch.einsum("bw,wd->bd", shares(c), m.block(m.embed.weight))
        )[:, 0],
        "NumPy": in_numpy,
        "a loop": in_a_loop,
        "in place": in_place,
        "as sentences": as_sentences,
        "32 bits": lambda m, c: right(m, c).float(),
        "16 bits": lambda m, c: right(m, c).half(),
    }
}
WRONG = {
    "from_counts": {
        "without the bias, in place": (
            without_bias,
            "The bias of the last layer is left out",
        ),
        "without the path": (
            lambda model, counts: model.judge(
                shares(counts)
                @ (model.block(model.embed.weight) - model.embed.weight)
            )[:, 0],
            "lost the path around it",
        ),
        "without the ReLU": (
            lambda model, counts: model.judge(
                shares(counts)
                @ (
                    model.embed.weight
                    + model.block.outer(model.block.inner(model.embed.weight))
                )
            )[:, 0],
            "lost its ReLU",
        ),
        "by all words": (
            lambda model, counts: model.judge(
                counts / counts.sum() @ model.block(model.embed.weight)
            )[:, 0],
            "in the whole batch",
        ),
        "average first": (
            lambda m, c: m.judge(m.block(shares(c) @ m.embed.weight))[:, 0],
            "average comes before the block",
        ),
        "a sum": (
            lambda m, c: m.judge(c @ m.block(m.embed.weight))[:, 0],
            "not divided by their number",
        ),
        "added logits": (lambda m, c: 3 * right(m, c), "bias counts three times"),
        "by the vocabulary": (
            lambda m, c: m.judge(c @ m.block(m.embed.weight) / 5)[:, 0],
            "size of the vocabulary",
        ),
        "without block": (
            lambda m, c: m.judge(shares(c) @ m.embed.weight)[:, 0],
            "block is left out",
        ),
        "without bias": (
            lambda m, c: right(m, c) - m.judge.bias,
            "bias of the last layer is left out",
        ),
        "a probability": (lambda m, c: right(m, c).sigmoid(), "A probability came"),
        "present": (
            lambda m, c: right(m, present(c)),
            "whether a word occurs, not how often",
        ),
        "a softmax": (
            lambda m, c: m.judge(c.softmax(1) @ m.block(m.embed.weight))[:, 0],
            "A softmax of the counts",
        ),
        "a column": (
            lambda m, c: right(m, c)[:, None],
            r"shape: .*\(4,\); got \(4, 1\)",
        ),
        "squeezed": (
            lambda m, c: right(m, c).squeeze(),
            r"batch of 1 must have shape \(1,\); got \(\)",
        ),
        "labels": (lambda m, c: right(m, c) > 0, "dtype: .* got bool"),
        "nothing": (lambda m, c: None, "missing: it must return the logits"),
        "as tokens": (lambda m, c: m(c), "exception: ValueError"),
        "the first word": (
            lambda m, c: right(m, torch.eye(5)[c.argmax(1)]),
            "mathematics: for three different words",
        ),
    }
}


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("kind", RIGHT["from_counts"])
def test_what_is_right_passes(kind):
    answer = RIGHT["from_counts"][kind]
    assert said(report("what-a-mean-forgets", answer, "from_counts")) == ""


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("kind", WRONG["from_counts"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["from_counts"][kind]
    found = report("what-a-mean-forgets", answer, "from_counts")
    assert found.points < found.possible
    assert re.search(name, said(found))


@pytest.mark.parametrize(
    ("kind", "points"), [("average first", 2), ("present", 3), ("a column", 0)]
)
def test_what_is_half_right_has_a_part_of_the_points(kind, points):
    answer, _ = WRONG["from_counts"][kind]
    found = report("what-a-mean-forgets", answer, "from_counts")
    assert (found.points, found.possible) == (points, 4)
