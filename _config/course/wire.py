"""Messages between the process that checks and the process that answers: JSON, then raw numbers.

Nothing is pickled, so a message can bring numbers and texts, and no object that runs code.
"""

import json
import struct
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

LENGTHS = struct.Struct("<II")  # of the JSON and of the numbers, in bytes
MOST = 1 << 28
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64)
DTYPES = {str(x): x for x in (torch.bool, *INTEGERS, *FLOATS, torch.complex128)}
Special = Callable[[Any], Any]


class Wire:
    """Two pipes that carry dictionaries.

    Args:
        read: the pipe from the other process.
        write: the pipe to it.
        write_special: returns a dictionary of one plain value for what JSON and numbers cannot say.
        read_special: returns the value of such a dictionary.
    """

    def __init__(
        self, read: BinaryIO, write: BinaryIO, write_special: Special, read_special: Special
    ):
        self.pipes = read, write
        self.write_special, self.read_special = write_special, read_special

    def send(self, **message: Any) -> None:
        """Send a message."""
        numbers = bytearray()
        plain = {name: self.written(value, numbers) for name, value in message.items()}
        text = json.dumps(plain).encode()
        self.pipes[1].write(LENGTHS.pack(len(text), len(numbers)) + text + numbers)
        self.pipes[1].flush()

    def receive(self) -> dict[str, Any]:
        """Wait for a message.

        Raises:
            EOFError: the other process has ended.
            ValueError: what came is no message; other errors of reading mean the same.
        """
        lengths = LENGTHS.unpack(self.bytes(LENGTHS.size))
        if max(lengths) > MOST:
            raise ValueError(f"a message must have at most {MOST} bytes; got {max(lengths)}")
        text, numbers = map(self.bytes, lengths)
        return {name: self.read(value, numbers) for name, value in json.loads(text).items()}

    def bytes(self, count: int) -> bytes:
        """Read so many bytes."""
        found = self.pipes[0].read(count)
        if len(found) < count:
            raise EOFError("the other process has ended")
        return found

    def written(self, value: Any, numbers: bytearray) -> Any:
        """Return a value as JSON; the numbers of its tensors are appended."""
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return float(value)
        if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
            value = torch.from_numpy(np.array(value))
        if isinstance(value, Tensor):
            x = value.detach().as_subclass(Tensor).cpu().resolve_conj().resolve_neg()
            start = len(numbers)
            numbers += x.reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()
            return {"tensor": [str(x.dtype), list(x.shape), start]}
        if isinstance(value, bytes):
            numbers += value
            return {"bytes": [len(numbers) - len(value), len(numbers)]}
        if isinstance(value, dict):
            pairs = value.items()
            return {"dict": [[self.written(x, numbers) for x in pair] for pair in pairs]}
        if isinstance(value, tuple):
            return {"tuple": [self.written(x, numbers) for x in value]}
        if isinstance(value, Items):
            return [self.written(x, numbers) for x in value]
        [(kind, plain)] = self.write_special(value).items()
        return {kind: self.written(plain, numbers)}

    def read(self, value: Any, numbers: bytes) -> Any:
        """Return the value of JSON and numbers."""
        if isinstance(value, list):
            return [self.read(x, numbers) for x in value]
        if not isinstance(value, dict):
            return value
        [(kind, plain)] = value.items()
        if kind == "tensor":
            name, shape, start = plain
            return read_tensor(DTYPES[name], shape, numbers[start:])
        if kind == "bytes":
            return numbers[slice(*plain)]
        plain = self.read(plain, numbers)
        if kind == "dict":
            return dict(plain)
        return tuple(plain) if kind == "tuple" else self.read_special({kind: plain})


class Items(list[Any]):
    """A list that travels as its items, without an identity."""


def read_tensor(dtype: torch.dtype, shape: list[int], numbers: bytes) -> Tensor:
    """Return a tensor of these bytes; in a boolean one, each byte but 0 is True."""
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if not count:
        return torch.empty(shape, dtype=dtype)
    stored = torch.uint8 if dtype == torch.bool else dtype
    found = torch.frombuffer(bytearray(numbers), dtype=stored, count=count).reshape(shape)
    return found != 0 if dtype == torch.bool else found
