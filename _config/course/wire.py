"""Messages between the process that checks and the process that answers: JSON, then raw numbers.

Nothing is pickled, so a message can bring numbers and texts, and no object that runs code.
"""

import json
import struct
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

LENGTHS = struct.Struct("<II")  # of the JSON and of the numbers, in bytes
MOST = 1 << 28
INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
DTYPES = {str(x): x for x in (*INTEGERS, *FLOATS, torch.complex64, torch.complex128)}


class Wire:
    """Two pipes that carry dictionaries.

    Args:
        read: the pipe from the other process.
        write: the pipe to it.
        pack: returns as JSON what is neither JSON nor numbers.
        unpack: returns the value of a dictionary of JSON.
    """

    def __init__(
        self,
        read: BinaryIO,
        write: BinaryIO,
        pack: Callable[[Any], Any],
        unpack: Callable[[dict[str, Any]], Any],
    ):
        self.pipes, self.pack, self.unpack = (read, write), pack, unpack

    def send(self, **message: Any) -> None:
        """Send a message."""
        numbers = bytearray()
        text = json.dumps(message, default=partial(self.packed, numbers)).encode()
        self.pipes[1].write(LENGTHS.pack(len(text), len(numbers)) + text + numbers)
        self.pipes[1].flush()

    def receive(self) -> dict[str, Any]:
        """Wait for a message.

        Raises:
            EOFError: the other process has ended.
            ValueError: what came is no message; other errors of reading mean the same.
        """
        lengths = LENGTHS.unpack(self.read(LENGTHS.size))
        if max(lengths) > MOST:
            raise ValueError(f"a message must have at most {MOST} bytes; got {max(lengths)}")
        text, numbers = map(self.read, lengths)
        return json.loads(text, object_hook=partial(self.unpacked, numbers))

    def read(self, count: int) -> bytes:
        """Read so many bytes."""
        found = self.pipes[0].read(count)
        if len(found) < count:
            raise EOFError("the other process has ended")
        return found

    def packed(self, numbers: bytearray, value: Any) -> Any:
        """Return a value as JSON; its numbers are appended to those of the message."""
        start = len(numbers)
        if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
            value = torch.from_numpy(np.array(value))
        if isinstance(value, Tensor):
            x = value.detach().as_subclass(Tensor).cpu().resolve_conj().resolve_neg()
            numbers += x.reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()
            return {"tensor": [str(x.dtype), list(x.shape), start]}
        if isinstance(value, bytes):
            numbers += value
            return {"bytes": [start, len(numbers)]}
        return self.pack(value)

    def unpacked(self, numbers: bytes, value: dict[str, Any]) -> Any:
        """Return the value of a dictionary of JSON; in a boolean tensor, each byte but 0 is True."""
        if value.keys() == {"bytes"}:
            return numbers[slice(*value["bytes"])]
        if value.keys() != {"tensor"}:
            return self.unpack(value)
        name, shape, start = value["tensor"]
        dtype, count = DTYPES[name], prod(shape)
        if not count:
            return torch.empty(shape, dtype=dtype)
        stored = torch.uint8 if dtype == torch.bool else dtype
        raw = bytearray(numbers[start : start + count * stored.itemsize])
        found = torch.frombuffer(raw, dtype=stored).reshape(shape)
        return found != 0 if dtype == torch.bool else found
