"""Weights files: read as the library reads them, and refused with one line."""

import json
import pickle

import pytest
import torch
from safetensors.torch import save

from selfattn_book.pretrained import weights
from selfattn_book.pretrained.weights import read_weights

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


def entry(dtype, shape, offsets):
    return {"x": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


def test_a_saved_file_is_read_and_never_written_into(tmp_path):
    file = file_of(tmp_path, save(GOOD, metadata={"format": "pt"}))
    before = file.read_bytes()
    read_weights(file)["a"].fill_(9.0)
    assert file.read_bytes() == before
    torch.testing.assert_close(read_weights(str(file)), GOOD, rtol=0, atol=0)


# Headers with a wrong byte are below.
REFUSED = {
    "empty": b"",
    "a text": b"import os; os.abort()\n" * 9,
    "a huge header": (2**62).to_bytes(8, "little") + b"{}",
    "too deep": with_header(b'{"a":' * 30000),
    "an unknown dtype": with_header(entry("Q4", [2], [0, 8]), bytes(8)),
    "a dtype unknown to PyTorch": with_header(entry("F6_E2M3", [4], [0, 3]), bytes(3)),
    "sizes that overflow": with_header(entry("F32", [2**62, 2**62, 0], [0, 0])),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_of_another_kind_is_refused_in_one_line(tmp_path, kind):
    with pytest.raises(ValueError, match=r"model.safetensors must be a safetensors file; .") as got:
        read_weights(file_of(tmp_path, REFUSED[kind]))
    assert "\n" not in str(got.value)
    assert len(str(got.value)) < 400


def test_a_file_that_is_too_large_or_missing_is_not_opened(tmp_path, monkeypatch):
    file = file_of(tmp_path, save(GOOD))
    size = file.stat().st_size
    monkeypatch.setattr(weights, "LARGEST", size)
    assert read_weights(file)
    monkeypatch.setattr(weights, "LARGEST", size - 1)
    monkeypatch.setattr(weights, "load_file", None)
    with pytest.raises(ValueError, match=f"must have at most {size - 1} bytes; got {size}"):
        read_weights(file)
    for missing in (tmp_path / "none.safetensors", tmp_path):
        with pytest.raises(FileNotFoundError, match=r"must be a file in .*; it does not exist"):
            read_weights(missing)


def test_code_in_a_pickle_is_not_run(tmp_path):
    class Harmful:
        def __reduce__(self):
            return (open, (str(tmp_path / "harm"), "w"))

    data = pickle.dumps(Harmful())
    for content in (data, with_header(data), with_header(b"{}", data)):
        with pytest.raises(ValueError, match="must be a safetensors file"):
            read_weights(file_of(tmp_path, content))
    assert not (tmp_path / "harm").exists()


def test_a_file_with_one_wrong_byte_is_refused_or_read_in_bounds(tmp_path):
    whole = save({"x": torch.arange(4.0), "y": torch.ones(2, 2).half()})
    spoiled = [whole[:i] + bytes([b ^ 1]) + whole[i + 1 :] for i, b in enumerate(whole)]
    refused = 0
    for data in [*spoiled, *(whole[:i] for i in range(len(whole)))]:
        try:
            assert sum(x.nbytes for x in read_weights(file_of(tmp_path, data)).values()) == 24
        except ValueError:
            refused += 1
    assert refused > len(whole)
