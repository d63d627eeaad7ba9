"""Answers to *A cache that forgets*: right in unusual ways, and wrong, by kind."""

from collections import deque

import numpy as np
import torch


def attend(q, k, v, root=None):
    return (q @ k.mT / (root or q.size(-1) ** 0.5)).softmax(-1) @ v


def kept(places, first, window):
    return (
        places if len(places) <= first + window else places[:first] + places[len(places) - window :]
    )


def listed(n, *, first=None, window=None, root=None):
    first, window = n["first"] if first is None else first, window or n["window"]

    def roll(q, k, v, cache):
        cache.append((k, v))
        cache[:] = kept(cache, first, window)
        keys, values = (torch.cat(x, 1) for x in zip(*cache, strict=True))
        return attend(q, keys, values, root)

    return roll


def with_deque(n):
    def roll(q, k, v, cache):
        if not cache:
            cache += [[], deque(maxlen=n["window"])]
        begin, recent = cache
        if len(recent) == n["window"] and len(begin) < n["first"]:
            begin.append(recent[0])
        recent.append((k, v))
        keys, values = (torch.cat(x, 1) for x in zip(*begin, *recent, strict=True))
        return attend(q, keys, values)

    return roll


def in_a_ring(n):
    def roll(q, k, v, cache):
        if not cache:
            cache += [[], 0]
        places, step = cache
        if len(places) < n["first"] + n["window"]:
            places.append((k, v))
        else:
            places[n["first"] + (step - n["first"]) % n["window"]] = (k, v)
        cache[1] = step + 1
        keys, values = (torch.cat(x, 1) for x in zip(*places, strict=True))
        return attend(q.float(), keys.float(), values.float())

    return roll


def in_numpy(n):
    step = listed(n)
    return lambda q, k, v, cache: np.asarray(step(q, k, v, cache))


def never_kept(n):
    def roll(q, k, v, cache):
        cache = [(k, v)]
        return attend(q, *cache[-1])

    return roll


def twice(n):
    def roll(q, k, v, cache):
        if not cache:
            cache += [[], []]
        if len(cache[0]) < n["first"]:
            cache[0].append((k, v))
        cache[1].append((k, v))
        cache[1][:] = cache[1][-n["window"] :]
        keys, values = (torch.cat(x, 1) for x in zip(*cache[0], *cache[1], strict=True))
        return attend(q, keys, values)

    return roll


def past_only(n):
    def roll(q, k, v, cache):
        seen = list(cache) or [(k, v)]
        cache.append((k, v))
        cache[:] = kept(cache, n["first"], n["window"])
        keys, values = (torch.cat(x, 1) for x in zip(*seen, strict=True))
        return attend(q, keys, values)

    return roll


def hidden_but_kept(n):
    def roll(q, k, v, cache):
        cache.append((k, v))
        keys, values = (
            torch.cat(x, 1) for x in zip(*kept(list(cache), n["first"], n["window"]), strict=True)
        )
        return attend(q, keys, values)

    return roll


def outside(n):
    places = []

    def roll(q, k, v, cache):
        if not cache and len(places) in (0, n["first"] + n["window"]):
            places.clear()
        cache[:] = [torch.zeros(1)]
        return listed(n)(q, k, v, places)

    return roll


RIGHT = {
    "a deque": with_deque,
    "a ring": in_a_ring,
    "NumPy": in_numpy,
    "a list": listed,
}
WRONG = {
    "never forgets": (lambda n: listed(n, window=99), "Nothing is ever forgotten"),
    "too wide": (lambda n: listed(n, window=n["window"] + 1), "one too wide"),
    "too narrow": (
        lambda n: listed(n, window=n["window"] - 1),
        "one too narrow|Only the newest|part of the window",
    ),
    "one more of the first": (
        lambda n: listed(n, first=n["first"] + 1),
        "One more of the first",
    ),
    "stays empty": (never_kept, "the cache stays empty"),
    "the past only": (past_only, "does not see itself"),
    "no divisor": (lambda n: listed(n, root=1), "The divisor is missing"),
    "keeps what it hides": (hidden_but_kept, "the cache holds"),
    "kept outside": (outside, "outside of the cache|mathematics"),
    "counted twice": (twice, "counts twice"),
    "all queries": (
        lambda n: lambda q, k, v, cache: attend(q, k, v)[:, 0],
        "shape",
    ),
    "three arguments": (lambda n: lambda q, k, v: v, "exception: TypeError"),
}
