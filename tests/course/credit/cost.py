"""Answers to *Keys that pass by*: right in unusual ways, and wrong, by kind."""

import math

import torch


def scored(query, key, mask, root=True):
    scale = query.size(-1) ** 0.5 if root else 1
    return (query @ key.mT / scale).masked_fill(~mask, -math.inf)


def online_attention(n, *, root=True, silent=True, shrinks=(True, True), start=None):
    """Write the pass, with or without its mistakes."""

    def stream(query, pieces):
        first = n["silence"] if start is None else start
        highest = torch.full_like(query[:, :1], first)
        total, mixture = torch.ones_like(highest) * silent, 0.0
        for key, value, mask in pieces:
            scores = scored(query, key, mask, root)
            higher = torch.maximum(highest, scores.amax(-1, keepdim=True))
            shrink = (highest - higher).exp()
            a, b = (shrink if keep else torch.ones_like(shrink) for keep in shrinks)
            shares = (scores - higher).exp()
            total = a * total + shares.sum(-1, keepdim=True)
            mixture = b * mixture + shares @ value
            highest = higher
            del key, value, mask
        return mixture / total, (highest + total.log())[:, 0]

    return stream


def logarithms(n):
    """Keep the mean and the logarithm of the denominator, and nothing else."""

    def stream(query, pieces):
        mean, log_total = 0.0, torch.full_like(query[:, 0], n["silence"])
        for key, value, mask in pieces:
            scores = scored(query, key, mask)
            new = torch.logaddexp(log_total, scores.logsumexp(1))
            mean = mean * (log_total - new).exp()[:, None]
            mean = mean + (scores - new[:, None]).exp() @ value
            log_total = new
            del key, value, mask, scores
        return mean, log_total

    return stream


def key_by_key(n):
    def stream(query, pieces):
        answers = [[n["silence"], 1.0, None] for _ in query]
        for key, value, mask in pieces:
            for q, state, seen in zip(query, answers, mask, strict=True):
                for k, v, may in zip(key, value, seen, strict=True):
                    if may:
                        meet(state, (q @ k).item() / len(q) ** 0.5, v)
            if all(state[2] is None for state in answers):
                for state in answers:
                    state[2] = torch.zeros_like(value[0])
            del key, value, mask, seen
        rows = [torch.zeros(2) if u is None else u / t for _, t, u in answers]
        return torch.stack(rows), [m + math.log(t) for m, t, _ in answers]

    return stream


def meet(state, score, value):
    highest, total, mixture = state
    higher = max(highest, score)
    shrink, share = math.exp(highest - higher), math.exp(score - higher)
    old = 0 * value if mixture is None else mixture
    state[:] = higher, shrink * total + share, shrink * old + share * value


def in_single(n):
    """Compute in 32 bits."""

    def stream(query, pieces):
        lower = ((k.float(), v.float(), m) for k, v, m in pieces)
        return online_attention(n)(query.float(), lower)

    return stream


def collected(n):
    def stream(query, pieces):
        keys, values, masks = zip(*pieces, strict=True)
        key, value, mask = torch.cat(keys), torch.cat(values), torch.cat(masks, 1)
        scores = scored(query, key, mask)
        quiet = torch.full_like(query[:, :1], n["silence"])
        log_total = torch.cat([scores, quiet], 1).logsumexp(1)
        return (scores - log_total[:, None]).exp() @ value, log_total

    return stream


def each_time(n):
    """Count the silent key in every piece."""

    def stream(query, pieces):
        mean, log_total = 0.0, torch.full_like(query[:, 0], -math.inf)
        for key, value, mask in pieces:
            quiet = torch.full_like(query[:, :1], n["silence"])
            scores = scored(query, key, mask)
            new = torch.logaddexp(log_total, torch.cat([scores, quiet], 1).logsumexp(1))
            mean = mean * (log_total - new).exp()[:, None]
            mean = mean + (scores - new[:, None]).exp() @ value
            log_total = new
        return mean, log_total

    return stream


def at_the_end(n):
    def stream(query, pieces):
        highest = torch.full_like(query[:, :1], -1e30)
        total, mixture = 0.0, 0.0
        for key, value, mask in pieces:
            scores = scored(query, key, mask)
            higher = torch.maximum(highest, scores.amax(-1, keepdim=True))
            shrink, shares = (highest - higher).exp(), (scores - higher).exp()
            total = shrink * total + shares.sum(-1, keepdim=True)
            mixture = shrink * mixture + shares @ value
            highest = higher
        total = total + math.exp(n["silence"])
        return mixture / total, (highest + total.log())[:, 0]

    return stream


def last_alone(n):
    def stream(query, pieces):
        for piece in pieces:
            last = piece
        scores = scored(query, last[0], last[2])
        shares = (scores - scores.amax(1, keepdim=True)).exp()
        return shares @ last[1] / shares.sum(1, keepdim=True), scores.logsumexp(1)

    return stream


def changed(n, change):
    return lambda query, pieces: change(*online_attention(n)(query, pieces))


def bare(n):
    def stream(query, pieces):
        total = torch.full_like(query[:, :1], math.exp(n["silence"]))
        mixture = 0.0
        for key, value, mask in pieces:
            shares = scored(query, key, mask).exp()
            total = total + shares.sum(1, keepdim=True)
            mixture = mixture + shares @ value
            del key, value, mask
        return mixture / total, total[:, 0].log()

    return stream


def poisoned(n):
    """Subtract the highest score of each piece, and of a hidden one that is minus infinity."""

    def stream(query, pieces):
        parts = []
        for key, value, mask in pieces:
            scores = scored(query, key, mask)
            top = scores.amax(1, keepdim=True)
            shares = (scores - top).exp()
            parts.append((top, shares.sum(1, keepdim=True), shares @ value))
            del key, value, mask
        quiet = torch.full_like(query[:, :1], n["silence"])
        higher = torch.stack([quiet, *(top for top, _, _ in parts)]).amax(0)
        total = (quiet - higher).exp()
        mixture = 0.0
        for top, own, mixed in parts:
            total = total + (top - higher).exp() * own
            mixture = mixture + (top - higher).exp() * mixed
        return mixture / total, (higher + total.log())[:, 0]

    return stream


RIGHT = {
    "one pass": online_attention,
    "logarithms": logarithms,
    "key by key": key_by_key,
    "in 32 bits": in_single,
    "lists": lambda n: changed(n, lambda y, log: (y.tolist(), log.tolist())),
}
WRONG = {
    "collected": (
        collected,
        "piece 0 was still in memory.*All pieces are collected",
    ),
    "each time": (each_time, "counts once, not once a piece"),
    "at the end": (at_the_end, "so must be the silent key"),
    "forgotten": (
        lambda n: online_attention(n, silent=False, start=-1e30),
        "silent key was forgotten",
    ),
    "no root": (
        lambda n: online_attention(n, root=False),
        "divided by the root of the width",
    ),
    "total stays": (
        lambda n: online_attention(n, shrinks=(False, True)),
        "The total must, too",
    ),
    "mixture stays": (
        lambda n: online_attention(n, shrinks=(True, False)),
        "The mixture must, too",
    ),
    "both stay": (
        lambda n: online_attention(n, shrinks=(False, False)),
        "must shrink when a higher score comes",
    ),
    "no logarithm": (
        lambda n: changed(n, lambda y, log: (y, log.exp())),
        "logarithm is missing",
    ),
    "last alone": (last_alone, "This is the last piece alone"),
    "bare exponentials": (bare, "Infinity met infinity"),
    "poisoned": (poisoned, "Infinity met infinity"),
    "context alone": (
        lambda n: changed(n, lambda y, log: y),
        "missing: it must return the context and a logarithm",
    ),
    "a column": (
        lambda n: changed(n, lambda y, log: (y, log[:, None])),
        r"shape: the logarithms must have shape \(3,\); got \(3, 1\)",
    ),
    "nothing": (lambda n: lambda query, pieces: None, "missing: it must return"),
    "one argument": (lambda n: lambda query: query, "exception: TypeError"),
}
