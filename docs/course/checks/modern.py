"""The attention in today's models: a file of weights, and what a model keeps."""

import json
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from selfattn_book.exercises.checking.answer_checks import Function, agrees, gives
from selfattn_book.exercises.checking.exercise import Asked, Exercise

KINDS = {"little": "<f4", "big": ">f4"}
Tensors = dict[str, Tensor]


class File(bytes):
    """The bytes of a file; a message names them by what they are."""

    def __repr__(self) -> str:
        """Say what it is, and not all of it."""
        return f"a file of {len(self)} bytes"


def drawn(seed: int, **shapes: tuple[int, ...]) -> Tensors:
    """Return tensors of some shapes, by name."""
    chance = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=chance) for name, shape in shapes.items()}


def written(tensors: Tensors, length: int, order: str, *, spaces: int = 0) -> File:
    """Return a file; its header names the tensors in the order of the alphabet."""
    places, body = {}, b""
    for name, tensor in tensors.items():
        data = tensor.numpy().astype(KINDS[order]).tobytes()
        place = [len(body), len(body) + len(data)]
        places[name] = {"shape": list(tensor.shape), "data_offsets": place}
        body += data
    text = json.dumps(dict(sorted(places.items()))).encode() + b" " * spaces
    return File(len(text).to_bytes(length, order) + text + body)  # type: ignore[arg-type]


def reader(length: int, order: str, **parts: Any) -> Function:
    """Return a function that reads a tensor; parts of it may be wrong."""

    def read(data: bytes, name: str) -> Tensor:
        size = int.from_bytes(data[:length], order)  # type: ignore[arg-type]
        entry = json.loads(data[length : length + size])[name]
        begin, end = entry["data_offsets"]
        start = parts.get("start", length + size)
        body = data[start + begin : start + end] if "start" in parts else None
        if body is None:
            body = data[length + size :][begin:end]
        if parts.get("first"):
            body = data[length + size :][: end - begin]
        kind = KINDS[parts.get("numbers", order)]
        values = np.frombuffer(body, kind).reshape(entry["shape"], order=parts.get("by", "C"))
        return torch.tensor(values.astype("float32"))

    return read


def asks(length: int, order: str) -> list[Asked]:
    """Return what is asked of a reader."""
    other = {"little": "big", "big": "little"}[order]
    wrong = [
        ("Offsets count from the end of the text.", reader(length, order, start=0)),
        (
            "Offsets count from the end of the text.",
            reader(length, order, start=length),
        ),
        (
            f"The numbers are in the order {order}, too.",
            reader(length, order, numbers=other),
        ),
        (
            "Rows lie one after the other, not columns.",
            reader(length, order, by="F"),
        ),
        ("The tensor begins at its own offset.", reader(length, order, first=True)),
    ]

    def case(seed: int, name: str, *, spaces: int = 0, **shapes: tuple[int, ...]) -> Any:
        return written(drawn(seed, **shapes), length, order, spaces=spaces), name

    section = "modern.html#what-is-in-a-file-of-weights"
    asked: list[tuple[str, list[Any], int]] = [
        ("a vector is read", [case(1, "x", x=(5,))], 2),
        (
            "a matrix has its shape",
            [case(2, "x", x=(2, 3)), case(3, "x", x=(3, 1, 4))],
            2,
        ),
        (
            "one of several is found",
            [
                case(4, "w", z=(2, 2), w=(3, 2), a=(4,)),
                case(5, "a", z=(2,), a=(2, 2)),
            ],
            2,
        ),
        (
            "spaces behind the text are skipped",
            [case(6, "x", spaces=5, x=(2, 3))],
            1,
        ),
    ]
    return [
        Asked(message, agrees(reader(length, order), cases, *wrong), section, points)
        for message, cases, points in asked
    ]


def on_paper(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked on paper."""
    blocks, heads, keys = numbers["blocks"], numbers["heads"], numbers["key_heads"]
    row, (p, s) = numbers["row"], numbers["places"]
    each = 2 * blocks * keys * numbers["d_head"] * 2
    ways = {
        "All heads of queries were counted; only keys and values are kept.": heads / keys,
        "Keys and values are kept, both.": 1 / 2,
        "A number takes two bytes.": 1 / 2,
        "Every block keeps its own.": 1 / blocks,
    }
    size = math.sqrt(sum(x * x for x in row) / 4)
    mean = sum(row) / 4
    spread = math.sqrt(sum((x - mean) ** 2 for x in row) / 4)
    long, near = each * 100_000 / 1e9, each * (numbers["window"] + 4) / 1e6
    wanted = {
        "per_token": each,
        "gigabytes": long,
        "kept": near,
        "normed": [x / size for x in row],
        "score": math.cos(p - s),
    }
    wrong = {
        "per_token": {message: each * way for message, way in ways.items()},
        "gigabytes": {message: long * way for message, way in ways.items()},
        "kept": {
            **{message: near * way for message, way in ways.items()},
            "This is the whole text.": long * 1000,
        },
        "normed": {
            "The mean was subtracted: this is LayerNorm.": [(x - mean) / spread for x in row],
            "It is the mean of the squares, not their sum.": [x / size / 2 for x in row],
            "The root is missing.": [x / size**2 for x in row],
        },
        "score": {
            "Positions turn by radians, not by degrees.": math.cos(math.radians(p - s)),
            "This is the sine; the product of two hands is the cosine.": math.sin(p - s),
            "Both turn, and only the difference is left.": math.cos(p) * math.cos(s),
        },
    }
    return gives(wanted, wrong, "modern.html#heads-that-share-their-keys", tolerance=0.002)


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    length, order = numbers["length_bytes"], numbers["order"]
    return [
        Exercise("read", "def read(data, name): ...", asks(length, order)),
        Exercise("on_paper", "def on_paper(): ...", on_paper(numbers)),
    ]
