"""The model that ships with the book, and files that hold a model whole."""

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from selfattn_book.experiments import model_file
from selfattn_book.experiments.model_file import WRITER, load_bundled_model, read, write
from selfattn_book.experiments.text import load_text, split_text
from selfattn_book.experiments.train_text import MERGES, STEPS, held_out
from selfattn_book.language import decoder_only
from selfattn_book.tokens import BPETokenizer, train_bpe


@pytest.fixture
def small(randomized):
    model = decoder_only(258, d_model=6, num_layers=2, num_heads=3, context_length=5)
    return randomized(model).float().eval(), BPETokenizer([(1, 2), (256, 3)]), {"seed": 3}


def test_the_shipped_model_agrees_with_its_record():
    model, tokens, record = load_bundled_model()
    assert abs(held_out(model, tokens).item() - record["held_out"]) < 1e-3
    assert record["held_out"] < 1.06
    assert (record["text"], 50 * record["rounds"], record["seed"]) == ("stories", STEPS, 0)
    learned, _ = split_text(load_text("stories"))
    assert tokens.merges == train_bpe(learned, MERGES)
    assert record["characters"] == "".join(sorted(set(learned)))
    assert WRITER.stat().st_size <= 1_000_000


def test_a_changed_model_is_refused(tmp_path, monkeypatch):
    content = bytearray(WRITER.read_bytes())
    content[-1] ^= 1
    (tmp_path / "writer.safetensors").write_bytes(content)
    monkeypatch.setattr(model_file, "WRITER", tmp_path / "writer.safetensors")
    with pytest.raises(ValueError, match=r"writer.safetensors must have the digest .*; got"):
        load_bundled_model()


def test_a_model_is_read_up_to_half_a_step(tmp_path, small):
    model, tokens, record = small
    with torch.no_grad():
        model.embedding.weight[7] = 0
    write(tmp_path / "a.safetensors", *small)
    before = torch.get_rng_state()
    again, same_tokens, same_record = read(tmp_path / "a.safetensors")
    assert torch.get_rng_state().equal(before)
    assert (same_tokens.merges, same_record) == (tokens.merges, record)
    assert not again.training
    for (name, one), two in zip(
        model.state_dict().items(), again.state_dict().values(), strict=True
    ):
        step = one.abs().amax(-1, keepdim=True) / 127 if one.ndim == 2 else torch.zeros(())
        assert ((one - two).abs() <= (step / 2 + 1e-6) * (one.ndim == 2)).all(), name
    assert (again.embedding.weight[7] == 0).all()


def spoiled(change):
    """Return a function that changes the tensors and the metadata in a file."""

    def spoil(file):
        with safe_open(file, "pt") as opened:
            metadata = opened.metadata()
        tensors = load_file(file)
        change(tensors, metadata)
        save_file(tensors, file, metadata)

    return spoil


NAME = "norm.weight"
SPOILED = {
    "empty": lambda file: file.write_bytes(b""),
    "pickle": lambda file: file.write_bytes(b"\x80\x04cposix\nsystem\n."),
    "missing": spoiled(lambda tensors, metadata: tensors.pop(NAME)),
    "one more": spoiled(lambda tensors, metadata: tensors.update(extra=tensors[NAME].clone())),
    "heads": spoiled(lambda tensors, metadata: metadata.update(num_heads="7")),
    "record": spoiled(lambda tensors, metadata: metadata.update(record="{")),
}


@pytest.mark.parametrize("kind", SPOILED)
def test_a_file_that_is_not_a_model_is_refused(tmp_path, small, kind):
    file = tmp_path / "a.safetensors"
    write(file, *small)
    SPOILED[kind](file)
    with pytest.raises(ValueError, match=r"a.safetensors must be a model that this book"):
        read(file)


def test_a_file_that_is_too_large_or_missing_is_refused(tmp_path):
    file = tmp_path / "a.safetensors"
    with file.open("wb") as stream:
        stream.truncate(model_file.LARGEST + 1)
    with pytest.raises(ValueError, match="it has more than 100000000 bytes"):
        read(file)
    with pytest.raises(FileNotFoundError, match=r"none.safetensors"):
        read(tmp_path / "none.safetensors")
