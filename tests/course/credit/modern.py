"""Answers to *Read a file of weights*: right in unusual ways, and wrong, by kind."""

import json
import struct

import numpy as np
import torch


def cut(data, n):
    size = int.from_bytes(data[: n["length_bytes"]], n["order"])
    start = n["length_bytes"] + size
    return json.loads(data[n["length_bytes"] : start]), data[start:], start


def kind(n):
    return "<f4" if n["order"] == "little" else ">f4"


def right(data, name, n):
    header, body, _ = cut(data, n)
    begin, end = header[name]["data_offsets"]
    values = np.frombuffer(body[begin:end], kind(n)).reshape(header[name]["shape"])
    return torch.tensor(values.astype("float32"))


def unpacked(data, name, n):
    header, body, _ = cut(data, n)
    begin, end = header[name]["data_offsets"]
    sign = "<" if n["order"] == "little" else ">"
    values = struct.unpack(f"{sign}{(end - begin) // 4}f", body[begin:end])
    return np.array(values).reshape(header[name]["shape"]).tolist()


def swapped(data, name, n):
    """Read in the machine's own order, with bytes exchanged before if need be."""
    header, body, _ = cut(data, n)
    entry = header[name]
    words = torch.frombuffer(bytearray(body), dtype=torch.uint8).view(-1, 4)
    if n["order"] == "big":
        words = words.flip(1)
    begin, end = (offset // 4 for offset in entry["data_offsets"])
    values = words[begin:end].contiguous().flatten().view(torch.float32)
    return values.view(entry["shape"])


def offset_by(data, name, n, start):
    header, _, _ = cut(data, n)
    begin, end = header[name]["data_offsets"]
    values = np.frombuffer(data[start + begin : start + end], kind(n))
    return values.reshape(header[name]["shape"]).astype("float32")


def other_order(data, name, n):
    header, body, _ = cut(data, n)
    begin, end = header[name]["data_offsets"]
    wrong = ">f4" if n["order"] == "little" else "<f4"
    values = np.frombuffer(body[begin:end], wrong)
    return values.reshape(header[name]["shape"]).astype("float32")


def columns(data, name, n):
    header, body, _ = cut(data, n)
    begin, end = header[name]["data_offsets"]
    values = np.frombuffer(body[begin:end], kind(n)).astype("float32")
    return values.reshape(header[name]["shape"], order="F")


def first(data, name, n):
    header, body, _ = cut(data, n)
    begin, end = header[name]["data_offsets"]
    values = np.frombuffer(body[: end - begin], kind(n)).astype("float32")
    return values.reshape(header[name]["shape"])


def length_in_another_order(data, name, n):
    other = "big" if n["order"] == "little" else "little"
    size = int.from_bytes(data[: n["length_bytes"]], other)
    return json.loads(data[n["length_bytes"] : n["length_bytes"] + size])[name]


RIGHT = {
    "struct": lambda n: lambda data, name: unpacked(data, name, n),
    "bytes exchanged": lambda n: lambda data, name: swapped(data, name, n),
    "NumPy": lambda n: lambda data, name: right(data, name, n).numpy(),
}
WRONG = {
    "from the start of the file": (
        lambda n: lambda data, name: offset_by(data, name, n, 0),
        "Offsets count from the end of the text",
    ),
    "from the end of the length": (
        lambda n: lambda data, name: offset_by(data, name, n, n["length_bytes"]),
        "Offsets count from the end of the text",
    ),
    "the other byte order": (
        lambda n: lambda data, name: other_order(data, name, n),
        "The numbers are in the order (little|big), too",
    ),
    "by columns": (
        lambda n: lambda data, name: columns(data, name, n),
        "Rows lie one after the other, not columns",
    ),
    "the first": (
        lambda n: lambda data, name: first(data, name, n),
        "The tensor begins at its own offset",
    ),
    "one long row": (
        lambda n: lambda data, name: right(data, name, n).flatten(),
        r"shape: .*\(2, 3\)",
    ),
    "the length in the other order": (
        lambda n: lambda data, name: length_in_another_order(data, name, n),
        "exception: ",
    ),
    "nothing": (lambda n: lambda data, name: None, "must be numbers; got None"),
    "bytes": (lambda n: lambda data, name: data, "must be numbers|exception|shape"),
}
