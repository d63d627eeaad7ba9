"""The model that comes with the book is what its record says; and what keeps a model keeps it whole."""

import hashlib
import json
import struct

import pytest
import torch

from selfattn_book.experiments import model_file
from selfattn_book.experiments.model_file import WRITER, read, write, writer
from selfattn_book.experiments.text import nine_tenths, text_of
from selfattn_book.experiments.train_text import MERGES, STEPS, held_out
from selfattn_book.language import decoder_only
from selfattn_book.tokens import BPETokenizer, train_bpe


@pytest.fixture(scope="module")
def come_with_the_book():
    return writer()


@pytest.fixture
def small(seeded):
    with seeded(0):
        model = decoder_only(258, d_model=6, num_layers=2, num_heads=3, context_length=5)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
    return model.eval(), BPETokenizer([(1, 2), (256, 3)]), {"seed": 3}


def test_its_loss_is_what_its_record_says(come_with_the_book):
    model, tokens, record = come_with_the_book
    assert abs(held_out(model, tokens).item() - record["held_out"]) < 1e-3
    assert record["held_out"] < 1.06
    assert (record["text"], 50 * record["rounds"], record["seed"]) == ("stories", STEPS, 0)


def test_its_pairs_are_learned_from_the_text_that_it_learned_from(
    come_with_the_book,
):
    _, tokens, record = come_with_the_book
    learned, _ = nine_tenths(text_of("stories"))
    assert tokens.merges == train_bpe(learned, MERGES)
    assert record["characters"] == "".join(sorted(set(learned)))


def test_it_is_small_and_its_digest_stands_in_the_code():
    content = WRITER.read_bytes()
    assert len(content) <= 1_000_000
    assert hashlib.sha256(content).hexdigest() == model_file.DIGEST


def test_a_model_that_has_been_changed_is_refused(tmp_path, monkeypatch):
    content = bytearray(WRITER.read_bytes())
    content[-1] ^= 1
    (tmp_path / "writer.safetensors").write_bytes(content)
    monkeypatch.setattr(model_file, "WRITER", tmp_path / "writer.safetensors")
    with pytest.raises(ValueError, match=r"writer.safetensors must have the digest .*; got"):
        writer()


def test_a_model_comes_back_but_for_half_a_step(tmp_path, small):
    model, tokens, record = small
    write(tmp_path / "a.safetensors", *small)
    again, same_tokens, same_record = read(tmp_path / "a.safetensors")
    assert (same_tokens.merges, same_record) == (tokens.merges, record)
    assert not again.training
    for (name, one), two in zip(
        model.state_dict().items(), again.state_dict().values(), strict=True
    ):
        if one.ndim == 2:
            step = one.abs().amax(1, keepdim=True) / 127
            assert ((one - two).abs() <= step / 2 + 1e-6).all(), name
        else:
            assert one.equal(two), name


def test_reading_draws_nothing(tmp_path, small):
    write(tmp_path / "a.safetensors", *small)
    torch.manual_seed(0)
    first = torch.rand(1)
    torch.manual_seed(0)
    read(tmp_path / "a.safetensors")
    assert torch.rand(1).equal(first)


def test_a_row_of_zeros_can_be_kept(tmp_path, small):
    with torch.no_grad():
        small[0].embedding.weight[7] = 0
    write(tmp_path / "a.safetensors", *small)
    assert (read(tmp_path / "a.safetensors")[0].embedding.weight[7] == 0).all()


def spoiled(content, kind):
    """Return a file of a model with something wrong in it."""
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    if kind == "cut":
        return content[:-10]
    if kind == "empty":
        return b""
    if kind == "text":
        return b"In the beginning God created the heaven and the earth."
    if kind == "a long header":
        return (2**62).to_bytes(8, "little") + content[8:]
    if kind == "a pickle":
        return b"\x80\x04cposix\nsystem\n."
    name = "norm.weight"
    if kind == "shape":
        header[name]["shape"] = [2**40]
    if kind == "place":
        header[name]["data_offsets"] = [0, 2**60]
    if kind == "dtype":
        header[name]["dtype"] = "F128"
    if kind == "missing":
        del header[name]
    if kind == "one more":
        header["extra"] = header[name]
    if kind == "heads":
        header["__metadata__"]["num_heads"] = "7"
    if kind == "record":
        header["__metadata__"]["record"] = "{"
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


KINDS = [
    "cut",
    "empty",
    "text",
    "a long header",
    "a pickle",
    "shape",
    "place",
    "dtype",
]
KINDS += ["missing", "one more", "heads", "record"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_model_is_refused_with_one_sentence(tmp_path, small, kind):
    file = tmp_path / "a.safetensors"
    write(file, *small)
    file.write_bytes(spoiled(file.read_bytes(), kind))
    with pytest.raises(ValueError, match=r"a.safetensors must be a model that this book"):
        read(file)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    file = tmp_path / "a.safetensors"
    with file.open("wb") as stream:
        stream.truncate(model_file.LARGEST + 1)
    with pytest.raises(ValueError, match="it has more than 100000000 bytes"):
        read(file)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.safetensors"):
        read(tmp_path / "none.safetensors")
