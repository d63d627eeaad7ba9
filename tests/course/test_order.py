"""One question to a bag: right answers of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from selfattn_book.attention import scaled_dot_product_attention as attend
from tests.course.answers import report, said


def right(words, question):
    return attend(question[None], words, words)[0][0]


def by(weigh):
    """Return an answer that makes weights of scores in a way of its own."""
    return lambda words, question: (
        weigh(words @ question / len(question) ** 0.5) @ words
    )


def in_numpy(words, question):
    words, question = np.asarray(words), np.asarray(question)
    powers = np.exp(words @ question / np.sqrt(len(question)))
    return powers @ words / powers.sum()


def in_a_loop(words, question):
    scores = [sum(a * b for a, b in zip(w, question, strict=True)) for w in words]
    powers = [(score / len(question) ** 0.5).exp() for score in scores]
    return [
        sum(p * x for p, x in zip(powers, c, strict=True)) / sum(powers)
        for c in words.T
    ]


def in_place(words, question):
    weights = words.matmul(question.div_(len(question) ** 0.5)).softmax(0)
    return words.mul_(weights[:, None]).sum(0)


def with_einsum(words, question):
    weights = (
        torch.einsum("td,d->t", words, question)
        .div(len(question) ** 0.5)
        .softmax(0)
    )
    return torch.einsum("t,td->d", weights, words)


def by_library(words, question):
    pool = F.scaled_dot_product_attention
    return pool(question[None], words, words).squeeze(0)


def joined(words, question):
    every = torch.cat([words, question[None]])
    return attend(question[None], every, every)[0][0]


def with_positions(words, question):
    place = torch.arange(len(words)).to(words)
    return (words @ question / 5**0.5 + place).softmax(0) @ words


def cosines(words, question):
    return F.cosine_similarity(words, question[None]).softmax(0) @ words


RIGHT = {
    "pool": {
        "attention": right,
        "one product": by(lambda s: s.softmax(0)),
        "NumPy": in_numpy,
        "a loop": in_a_loop,
        "in place": in_place,
        "einsum": with_einsum,
        "PyTorch's own": by_library,
        "32 bits": lambda w, q: right(w.float(), q.float()),
        "a list": lambda w, q: right(w, q).tolist(),
    }
}
WRONG = {
    "pool": {
        "a root that was written out": (
            lambda words, question: (words @ question / 5**0.5).softmax(0) @ words,
            "at width 8 .* It is divided by √5 at every width",
        ),
        "seven words": (
            lambda words, question: right(words[torch.arange(7)], question),
            "exception: IndexError",
        ),
        "without the first": (
            lambda words, question: right(words[1:], question),
            "^(?!.*as if it were the query).*One of the words is left out",
        ),
        "the first": (
            lambda words, question: words[0],
            "^(?!.*as if it were the query).*once the words are shuffled",
        ),
        "the question": (
            lambda words, question: question,
            "^(?!.*added to the answer).*The question itself came back",
        ),
        "without signs": (
            by(lambda scores: scores.abs().softmax(-1)),
            "lost their signs",
        ),
        "a mean": (lambda w, q: w.mean(0), "This is the mean of the words"),
        "words ask": (
            lambda w, q: attend(w, w, w)[0].mean(0),
            "words ask one another",
        ),
        "the first asks": (
            lambda w, q: attend(w[:1], w, w)[0][0],
            "The first word has a part of its own",
        ),
        "the last asks": (
            lambda w, q: attend(w[-1:], w, w)[0][0],
            "The last word has a part of its own",
        ),
        "positions": (with_positions, "once the words are shuffled"),
        "largest": (lambda w, q: w.amax(0), "largest number of each column"),
        "a sum": (
            lambda w, q: w.sum(0),
            "the opposite question has the same answer",
        ),
        "one axis": (
            lambda w, q: (q[None] @ w.T / 5**0.5).softmax(0)[0] @ w,
            "softmax along the queries",
        ),
        "no sum": (by(torch.exp), "not divided by the sum"),
        "scores": (by(lambda s: s), "the softmax is missing"),
        "shares of scores": (by(lambda s: s / s.sum()), "exponentials come first"),
        "one word": (lambda w, q: w[(w @ q).argmax()], "takes one key alone"),
        "not divided": (
            by(lambda s: (s * 5**0.5).softmax(0)),
            "not divided by the root",
        ),
        "by the width": (
            by(lambda s: (s / 5**0.5).softmax(0)),
            "by the width, not by",
        ),
        "by the words": (
            lambda w, q: (w @ q / len(w) ** 0.5).softmax(0) @ w,
            "root is that of the number of words",
        ),
        "other sign": (by(lambda s: (-s).softmax(0)), "the smaller is the weight"),
        "cosines": (cosines, "scores are cosines"),
        "added": (lambda w, q: right(w, q) + q, "question is added to the answer"),
        "joined": (joined, "counted as one of the words"),
        "each word": (
            lambda w, q: attend(w, q[None], q[None])[0],
            "shape: .* Each word got an answer",
        ),
        "weights": (
            lambda w, q: (w @ q / 5**0.5).softmax(0),
            "shape: .* Weights came",
        ),
        "a row": (lambda w, q: right(w, q)[None], "shape: .* axis of its own"),
        "with weights": (
            lambda w, q: attend(q[None], w, w),
            "missing: it must return one vector alone; got 2 values",
        ),
        "nothing": (lambda w, q: None, "missing: .* got None"),
        "a query too few": (
            lambda w, q: attend(q, w, w)[0],
            "exception: ValueError",
        ),
    }
}


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("kind", RIGHT["pool"])
def test_what_is_right_passes(kind):
    assert said(report("order", RIGHT["pool"][kind], "pool")) == ""


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("kind", WRONG["pool"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["pool"][kind]
    found = report("order", answer, "pool")
    assert found.points < found.possible
    assert re.search(name, said(found))


@pytest.mark.parametrize(
    ("kind", "points"),
    [("a mean", 4), ("not divided", 5), ("one word", 4), ("words ask", 3)],
)
def test_what_is_half_right_has_a_part_of_the_points(kind, points):
    answer, _ = WRONG["pool"][kind]
    found = report("order", answer, "pool")
    assert (found.points, found.possible) == (points, 6)
