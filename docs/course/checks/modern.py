"""Modern attention: reading a file of weights, and the memory of a cache."""

import json
import math

import numpy as np
import torch

from selfattn_book.exercises.checking.by_hand import by_hand
from selfattn_book.exercises.checking.exercise import checked, factory, for_credit

FILE = "modern-deeper.html#weight-files-safetensors"
DTYPES = {"little": "<f4", "big": ">f4"}


class File(bytes):
    """The bytes of a file, with a brief representation."""

    def __repr__(self):
        return f"a file of {len(self)} bytes"


def file_of(tensors, length, order, spaces):
    """Return a file of tensors, with its header in alphabetical order."""
    entries, body = {}, b""
    for name, tensor in tensors.items():
        data = tensor.numpy().astype(DTYPES[order]).tobytes()
        offsets = [len(body), len(body) + len(data)]
        entries[name] = {"shape": list(tensor.shape), "data_offsets": offsets}
        body += data
    text = json.dumps(dict(sorted(entries.items()))).encode() + b" " * spaces
    return File(len(text).to_bytes(length, order) + text + body)


@factory
def reader(length, order, data, name, **wrong):
    start = length + int.from_bytes(data[:length], order)
    entry = json.loads(data[length:start])[name]
    begin, end = wrong.get("offsets", lambda begin, end: (begin, end))(*entry["data_offsets"])
    body = data[wrong.get("start", start) :]
    values = np.frombuffer(body[begin:end], wrong.get("dtype", DTYPES[order])).astype("float32")
    return torch.tensor(values.reshape(entry["shape"], order=wrong.get("axes", "C")))


def read_a_tensor(length, order):
    def case(seed, name, spaces=0, **shapes):
        chance = torch.Generator().manual_seed(seed)
        tensors = {key: torch.randn(shape, generator=chance) for key, shape in shapes.items()}
        return file_of(tensors, length, order, spaces), name

    matrices = case(2, "x", x=(2, 3)), case(3, "x", x=(3, 1, 4))
    several = case(4, "w", z=(2, 2), w=(3, 2), a=(4,)), case(5, "a", z=(2,), a=(2, 2))
    questions = [
        checked("a vector is read", FILE, 2, case(1, "x", x=(5,))),
        checked("a matrix has its shape", FILE, 2, *matrices),
        checked("one of several is found", FILE, 2, *several),
        checked("spaces after the text are skipped", FILE, 1, case(6, "x", 5, x=(2, 3))),
    ]
    other = DTYPES["big" if order == "little" else "little"]
    return for_credit(
        "def read(data, name): ...",
        questions,
        right=reader(length, order),
        wrong={
            "Offsets count from the end of the text, not from the beginning of the file.": (
                reader(length, order, start=0)
            ),
            "Offsets count from the end of the text, not from its beginning.": (
                reader(length, order, start=length)
            ),
            f"The numbers are in the order {order}, too.": reader(length, order, dtype=other),
            "Rows are stored one after the other, not columns.": reader(length, order, axes="F"),
            "The tensor begins at its own offset.": (
                reader(length, order, offsets=lambda begin, end: (0, end - begin))
            ),
        },
        gate=2,
        returns="the tensor",
    )


def on_paper(numbers):
    blocks, heads, keys = numbers["blocks"], numbers["heads"], numbers["key_heads"]
    row, (p, s) = numbers["row"], numbers["positions"]
    each = 2 * blocks * keys * numbers["d_head"] * 2
    ways = {
        "All heads of queries were counted; only keys and values are kept.": heads / keys,
        "Keys and values are kept, both.": 1 / 2,
        "A number takes two bytes.": 1 / 2,
        "Every block has a separate cache.": 1 / blocks,
    }
    size = math.sqrt(sum(x * x for x in row) / 4)
    mean = sum(row) / 4
    std = math.sqrt(sum((x - mean) ** 2 for x in row) / 4)
    long, near = each * 100_000 / 1e9, each * (numbers["window"] + 4) / 1e6
    sizes = {"per_token": each, "gigabytes": long, "kept": near}
    right = {**sizes, "normed": [x / size for x in row], "score": math.cos(p - s)}
    wrong = {
        **{
            message: {name: size * way for name, size in sizes.items()}
            for message, way in ways.items()
        },
        "This is the whole text.": {"kept": long * 1000},
        "The mean was subtracted: this is LayerNorm.": {"normed": [(x - mean) / std for x in row]},
        "It is the mean of the squares, not their sum.": {"normed": [x / size / 2 for x in row]},
        "The root is missing.": {"normed": [x / size**2 for x in row]},
        "Each position is a rotation by a radian, not by a degree.": {
            "score": math.cos(math.radians(p - s))
        },
        "This is the sine; a dot product of unit vectors is the cosine of their angle.": {
            "score": math.sin(p - s)
        },
        "Both vectors are rotated, and only the difference of their angles is left.": {
            "score": math.cos(p) * math.cos(s)
        },
    }
    section = "modern.html#grouped-query-and-multi-query-attention"
    return by_hand("on_paper", section, right, wrong, tolerance=0.002)


def exercises(numbers):
    length, order = numbers["length_bytes"], numbers["order"]
    return [read_a_tensor(length, order), on_paper(numbers)]
