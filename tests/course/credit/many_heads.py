"""Answers to *Heads that share*: right in unusual ways, and wrong, by kind."""

import numpy as np
import torch
import torch.nn.functional as F


def copied(n, x, times, other=False):
    near = (n["sharing"] == "neighbours") != other
    return x.repeat_interleave(times, 1) if near else x.repeat(1, times, 1, 1)


def merged(x):
    return x.transpose(1, 2).flatten(2)


def attend(n, *, share=copied, merge=merged, root=None):
    def answer(q, k, v):
        times = q.size(1) // k.size(1)
        k, v = share(n, k, times), share(n, v, times)
        return merge((q @ k.mT / (root or q.size(-1) ** 0.5)).softmax(-1) @ v)

    return answer


def head_by_head(n):
    def answer(q, k, v):
        heads, groups = q.size(1), k.size(1)
        parts = []
        for h in range(heads):
            g = h * groups // heads if n["sharing"] == "neighbours" else h % groups
            parts.append(
                (q[:, h] @ k[:, g].mT / q.size(-1) ** 0.5).softmax(-1) @ v[:, g]
            )
        return torch.cat(parts, -1)

    return answer


def by_einsum(n):
    def answer(q, k, v):
        near = n["sharing"] == "neighbours"
        sizes = (k.size(1), -1) if near else (-1, k.size(1))
        q = q.unflatten(1, sizes)
        q = q if near else q.transpose(1, 2)
        w = (
            torch.einsum("bgntd,bgsd->bgnts", q, k)
            .div(q.size(-1) ** 0.5)
            .softmax(-1)
        )
        c = torch.einsum("bgnts,bgse->bgnte", w, v)
        c = c if near else c.transpose(1, 2)
        return c.flatten(1, 2).transpose(1, 2).flatten(2)

    return answer


def pytorchs(n):
    def answer(q, k, v):
        times = q.size(1) // k.size(1)
        k, v = copied(n, k, times), copied(n, v, times)
        return merged(
            F.scaled_dot_product_attention(q.float(), k.float(), v.float())
        )

    return answer


RIGHT = {
    "head by head": head_by_head,
    "einsum": by_einsum,
    "PyTorch's own in 32 bits": pytorchs,
    "NumPy": lambda n: lambda q, k, v: np.asarray(attend(n)(q, k, v)),
}
WRONG = {
    "the other way": (
        lambda n: attend(n, share=lambda n, x, t: copied(n, x, t, other=True)),
        "shared the other way",
    ),
    "scrambled": (
        lambda n: attend(n, merge=lambda x: x.reshape(len(x), x.size(2), -1)),
        "scrambled: move the axes",
    ),
    "interleaved": (
        lambda n: attend(n, merge=lambda x: x.permute(0, 2, 3, 1).flatten(2)),
        "not entry by entry",
    ),
    "no divisor": (lambda n: attend(n, root=1), "The divisor is missing"),
    "no root": (lambda n: attend(n, root=7), "The divisor is the root"),
    "all heads' width": (
        lambda n: lambda q, k, v: attend(n, root=(7 * q.size(1)) ** 0.5)(q, k, v),
        "The divisor is that of one head",
    ),
    "the first keys": (
        lambda n: attend(
            n, share=lambda n, x, t: x[:, :1].expand(-1, t * x.size(1), -1, -1)
        ),
        "All heads use the first",
    ),
    "not merged": (lambda n: attend(n, merge=lambda x: x), "shape"),
    "not shared": (
        lambda n: attend(n, share=lambda n, x, t: x),
        "exception: RuntimeError",
    ),
    "the mean of heads": (lambda n: attend(n, merge=lambda x: x.mean(1)), "shape"),
}
