"""The reader of weights: what the format's own library writes and reads, and what is refused."""

import json
import pickle
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError
from safetensors.torch import load_file, save, save_file

from selfattn_book.pretrained import weights
from selfattn_book.pretrained.weights import DTYPES, read_weights

GOOD = {
    "a": torch.arange(6.0).view(2, 3),
    "empty": torch.empty(0, 5),
    "number": torch.tensor(7),
    "half": torch.tensor([1.5, -2.0]).half(),
    "flags": torch.tensor([True, False, True]),
}


def file_of(folder, data):
    file = folder / "model.safetensors"
    file.write_bytes(data)
    return file


def with_header(header, numbers=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + numbers


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_what_the_library_writes_is_read(tmp_path):
    save_file(GOOD, tmp_path / "a.safetensors", metadata={"format": "pt"})
    read = read_weights(tmp_path / "a.safetensors")
    theirs = load_file(tmp_path / "a.safetensors")
    assert read.keys() == theirs.keys() == GOOD.keys()
    for name, tensor in theirs.items():
        assert read[name].dtype == tensor.dtype
        assert torch.equal(read[name], tensor)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_every_dtype_is_read(tmp_path, dtype):
    tensor = torch.tensor([[0, 1], [1, 1], [0, 1]]).to(dtype)
    file = file_of(tmp_path, save({"x": tensor}))
    assert torch.equal(read_weights(file)["x"], tensor)


def test_a_file_without_tensors_is_one(tmp_path):
    assert read_weights(file_of(tmp_path, save({}))) == {}


def test_writing_into_a_tensor_does_not_write_into_the_file(tmp_path):
    file = file_of(tmp_path, save(GOOD))
    before = file.read_bytes()
    read_weights(file)["a"].fill_(9.0)
    assert file.read_bytes() == before
    assert torch.equal(read_weights(file)["a"], GOOD["a"])


REFUSED = {
    "empty": (
        b"",
        "must begin with 8 bytes, the length of its header; got 0 bytes",
    ),
    "seven bytes": (b"1234567", "got 7 bytes"),
    "a length alone": (b"\2" + bytes(7), "begin with b''"),
    "a text": (b"import os; os.abort()\n" * 9, "must be a file of safetensors"),
    "a pickle": (pickle.dumps({"x": [1.0]}), "must be a file of safetensors"),
    "an archive": (b"PK\3\4" + bytes(60), "must be a file of safetensors"),
    "a longer header": (
        (100).to_bytes(8, "little") + b"{}" + bytes(50),
        "must hold its header of 100 bytes; got 52: the file has been cut",
    ),
    "a huge header": ((2**62).to_bytes(8, "little") + b"{}", "would have 461168"),
    "no JSON": (with_header(b"{x}"), "must be JSON, each name once"),
    "no text": (with_header(b'{"\xff": 1}'), "must be JSON"),
    "too deep": (with_header(b'{"a":' * 30000), "must be JSON"),
    "a name twice": (
        with_header(b'{"x": {}, "x": {}}'),
        "each name once; a name comes twice",
    ),
    "no entry": (with_header({"x": 3}), "must have a known dtype, .* got 3"),
    "an unknown dtype": (with_header({"x": entry("F4")}, bytes(8)), "known dtype"),
    "an odd dtype": (with_header({"x": entry(["F32"])}, bytes(8)), "known dtype"),
    "no shape": (with_header({"x": {"dtype": "F32"}}), "known dtype, a shape"),
    "one thing more": (
        with_header({"x": entry() | {"run": "it"}}, bytes(8)),
        "run",
    ),
    "a size below 0": (
        with_header({"x": entry(shape=[-2])}, bytes(8)),
        "its bytes",
    ),
    "true for 1": (
        with_header({"x": entry(shape=[True, 2])}, bytes(8)),
        "its bytes",
    ),
    "half a number": (
        with_header({"x": entry(shape=[2.0])}, bytes(8)),
        "its bytes",
    ),
    "another shape": (with_header({"x": entry(shape=[3])}, bytes(8)), "its bytes"),
    "backwards": (with_header({"x": entry(offsets=[8, 0])}, bytes(8)), "its bytes"),
    "three offsets": (
        with_header({"x": entry(offsets=[0, 8, 9])}, bytes(9)),
        "bytes",
    ),
    "out of the file": (
        with_header({"x": entry(shape=[4], offsets=[0, 16])}, bytes(8)),
        "must hold 16 bytes of numbers, as its header says; got 8",
    ),
    "too much": (with_header({"x": entry()}, bytes(9)), "must hold 8 .* got 9"),
    "an overlap": (
        with_header({"x": entry(), "y": entry(offsets=[4, 12])}, bytes(12)),
        "one behind the other; one begins at 4, and not at 8",
    ),
    "a hole": (
        with_header({"x": entry(), "y": entry(offsets=[12, 20])}, bytes(20)),
        "one begins at 12, and not at 8",
    ),
    "sizes that overflow": (
        with_header({"x": entry(shape=[2**62, 2**62, 0], offsets=[0, 0])}),
        "must have a known dtype, a shape",
    ),
    "very many axes": (
        with_header({"x": entry(shape=[1] * 5000 + [2])}, bytes(8)),
        "must have a known dtype, a shape",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_that_is_none_is_refused_with_one_message(tmp_path, kind):
    data, told = REFUSED[kind]
    file = file_of(tmp_path, data)
    with pytest.raises(ValueError, match=told) as refusal:
        read_weights(file)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    "kind",
    sorted(REFUSED.keys() - {"a name twice", "one thing more", "very many axes"}),
)
def test_the_library_refuses_it_too(tmp_path, kind):
    with pytest.raises((SafetensorError, OSError)):
        load_file(file_of(tmp_path, REFUSED[kind][0]))


def test_a_file_that_is_too_large_is_not_opened(tmp_path, monkeypatch):
    file = file_of(tmp_path, save(GOOD))
    size = file.stat().st_size
    assert read_weights(file, largest=size)
    monkeypatch.setattr(weights.mmap, "mmap", None)
    told = re.escape(
        f"model.safetensors must have at most {size - 1} bytes; got {size}"
    )
    with pytest.raises(ValueError, match=told):
        read_weights(file, largest=size - 1)


def test_no_file_is_named(tmp_path):
    with pytest.raises(
        FileNotFoundError, match="weights must be a file; there is no"
    ):
        read_weights(tmp_path / "none.safetensors")
    with pytest.raises(FileNotFoundError, match="weights must be a file"):
        read_weights(tmp_path)


def test_a_pickle_is_not_run(tmp_path):
    class Harmful:
        def __reduce__(self):
            return (open, (str(tmp_path / "harm"), "w"))

    data = pickle.dumps(Harmful())
    for file in (data, with_header(data), with_header(b"{}", data)):
        with pytest.raises(ValueError, match="must"):
            read_weights(file_of(tmp_path, file))
    assert not (tmp_path / "harm").exists()
    pickle.loads(data).close()
    assert (tmp_path / "harm").exists()  # it would have done harm


WHOLE = save({"x": torch.arange(4.0), "y": torch.ones(2, 2).half()})


@settings(max_examples=300)
@given(st.data())
def test_a_file_with_wrong_bytes_is_refused_or_read_as_the_library_reads_it(data):
    from pathlib import Path
    from tempfile import TemporaryDirectory

    spoilt = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(spoilt) - 1))
        spoilt[place] = data.draw(st.integers(0, 255))
    del spoilt[data.draw(st.integers(len(spoilt) - 9, len(spoilt))) :]
    with TemporaryDirectory() as folder:
        file = file_of(Path(folder), bytes(spoilt))
        try:
            theirs = load_file(file)
        except (SafetensorError, OSError, UnicodeDecodeError):
            theirs = None
        except (KeyError, TypeError, AttributeError, RuntimeError):
            return  # a dtype that the library knows and PyTorch's part of it does not
        try:
            ours = read_weights(file)
        except ValueError:
            return  # we may be stricter
        assert theirs is not None
        assert ours.keys() == theirs.keys()
        for name, tensor in ours.items():
            assert tensor.dtype == theirs[name].dtype
            assert tensor.numpy().tobytes() == theirs[name].numpy().tobytes()
