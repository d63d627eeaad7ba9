"""Models from files: their logits, their variants, and the options that are refused by name."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from selfattn_book.experiments import tiny_models
from selfattn_book.experiments.tiny_models import as_recorded, tiny_model
from selfattn_book.pretrained.continuing import continue_text
from selfattn_book.pretrained.gpt2 import gpt2
from selfattn_book.pretrained.llama import llama
from selfattn_book.pretrained.models import load
from selfattn_book.pretrained.options import Options

FAMILIES = ("tiny-gpt2", "tiny-llama")
SENTENCE = "Is this what real models do? Yes, number for number."


@pytest.fixture(params=FAMILIES)
def folder(request, tmp_path):
    return copied(request.param, tmp_path)


def copied(name, tmp_path):
    return shutil.copytree(tiny_model(name), tmp_path / name)


def configured(folder, **changes):
    """Change the configuration in a folder; a value of ... takes an option out."""
    options = json.loads((folder / "config.json").read_text()) | changes
    options = {name: value for name, value in options.items() if value is not ...}
    (folder / "config.json").write_text(json.dumps(options))
    return folder


def rewritten(folder, change):
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize(("name", "atol"), [("tiny-gpt2", 1e-11), ("tiny-llama", 1e-5)])
def test_the_logits_are_those_that_were_recorded(name, atol):
    model, tokens, logits = as_recorded(name)
    torch.testing.assert_close(model(tokens), logits, rtol=0, atol=atol)
    assert not model.training
    state = model.state_dict()
    tied = state["embedding.weight"].data_ptr() == state["unembedding.weight"].data_ptr()
    assert tied == (name == "tiny-gpt2")


def test_loading_draws_no_numbers_and_copies_the_file(folder):
    before = torch.random.get_rng_state()
    file, tokens = folder / "model.safetensors", torch.arange(5)[None]
    model = load(file)
    assert torch.equal(torch.random.get_rng_state(), before)
    logits = load(folder)(tokens)
    with file.open("r+b") as opened:  # in place, without truncating it
        opened.write(bytes(file.stat().st_size))
    assert torch.equal(model(tokens), logits)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_of_another_dtype_are_converted(folder, dtype):
    def halve(tensors):
        for name in tensors:
            tensors[name] = tensors[name].to(dtype)

    expected = load(folder)
    model = load(rewritten(folder, halve))
    for name, weight in model.state_dict().items():
        assert weight.dtype == torch.float32
        assert torch.equal(weight, expected.state_dict()[name].to(dtype).float())
    assert load(folder, dtype=torch.bfloat16).norm.weight.dtype == torch.bfloat16


def test_names_and_tables_of_published_files_are_understood(tmp_path):
    """The first GPT-2 has no prefix, and tables for the mask among its weights."""
    folder = copied("tiny-gpt2", tmp_path)
    tokens = torch.arange(6)[None]
    expected = load(folder)(tokens)

    def rename(tensors):
        for name in list(tensors):
            tensors[name.removeprefix("transformer.")] = tensors.pop(name)
        for i in range(2):
            table = torch.ones(64, 64).tril()[None, None]
            tensors[f"h.{i}.attn.bias"] = table
            tensors[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)

    assert torch.equal(load(rewritten(folder, rename))(tokens), expected)


def test_a_tied_matrix_may_be_saved_twice_but_not_as_two(tmp_path):
    folder = copied("tiny-gpt2", tmp_path)
    expected = load(folder)(torch.arange(6)[None])

    def twice(tensors):
        tensors["lm_head.weight"] = tensors["transformer.wte.weight"].clone()

    assert torch.equal(load(rewritten(folder, twice))(torch.arange(6)[None]), expected)
    rewritten(folder, lambda tensors: tensors["lm_head.weight"].add_(1))
    with pytest.raises(ValueError, match=r"lm_head.weight must equal the embedding"):
        load(folder)


def test_older_configurations_of_llama_are_understood(tmp_path):
    folder = copied("tiny-llama", tmp_path)
    tokens = torch.arange(6)[None]
    expected = load(folder)(tokens)
    configured(folder, rope_parameters=..., rope_theta=10000.0, head_dim=...)
    assert torch.equal(load(folder)(tokens), expected)
    assert torch.equal(load(configured(folder, rope_theta=...))(tokens), expected)
    configured(folder, rope_theta=500000.0)
    assert not torch.allclose(load(folder)(tokens), expected)

    def add(tensors):
        tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(2)

    load(rewritten(folder, add))


REFUSED = {
    "tiny-gpt2": [
        ({"model_type": "bert"}, "one of gpt2, llama; got 'bert'"),
        ({"model_type": ...}, "model_type must be .* got None"),
        ({"architectures": ["GPT2Model"]}, r"architectures must be \['GPT2LMHeadModel'\]"),
        ({"quantization_config": {"bits": 4}}, "quantization_config must be"),
        ({"activation_function": "gelu"}, "must be 'gelu_new' or .* 'gelu'"),
        ({"scale_attn_weights": False}, "scale_attn_weights must be True"),
        ({"scale_attn_weights": 1}, "scale_attn_weights must be True"),
        ({"scale_attn_by_inverse_layer_idx": True}, "by_inverse_layer_idx"),
        ({"reorder_and_upcast_attn": True}, "reorder_and_upcast_attn"),
        ({"add_cross_attention": True}, "add_cross_attention must be False"),
        ({"num_attention_heads": 2}, "num_attention_heads must be n_head, 4; got 2"),
        ({"max_position_embeddings": 9}, "max_position_embeddings must be n_positions, 64"),
        ({"n_embd": ...}, "config.json must give n_embd; it does not"),
        ({"n_embd": 0}, "n_embd must be at least 1; got 0"),
        ({"n_head": 3}, "d_model must be divisible by num_heads"),
        ({"n_head": 4.0}, "n_head must be an integer; got 4.0"),
        ({"n_layer": True}, "n_layer must be an integer; got True"),
        ({"n_layer": 10**12}, r"must hold tensor transformer.h.2"),
        ({"n_layer": 1}, r"each tensor must have a counterpart .* got ([a-z0-9_.]+(, )?){5}$"),
        ({"vocab_size": 280}, r"shape \(280, 16\), .* got \(281, 16\)"),
        ({"n_positions": 65}, r"wpe.weight must have shape \(65, 16\)"),
        ({"n_inner": 60}, r"shape \(16, 60\), .* got \(16, 64\)"),
        ({"layer_norm_epsilon": 0}, "layer_norm_epsilon must be above 0"),
        ({"layer_norm_epsilon": "1e-5"}, "layer_norm_epsilon must be a number"),
        ({"tie_word_embeddings": False}, "must hold tensor lm_head.weight"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings must be true or false"),
    ],
    "tiny-llama": [
        ({"model_type": "gpt2"}, "architectures must be .*GPT2LM"),
        ({"architectures": ["LlamaModel"]}, r"must be \['LlamaForCausalLM'\]"),
        ({"hidden_act": "gelu"}, "hidden_act must be 'silu'"),
        ({"attention_bias": True}, "attention_bias must be False"),
        ({"mlp_bias": True}, "mlp_bias must be False"),
        ({"rope_scaling": {"type": "linear"}}, "rope_scaling must be None"),
        ({"rope_parameters": {"rope_type": "llama3"}}, "rope_type must be 'default' .* 'llama3'"),
        ({"rope_parameters": {"type": "linear", "factor": 4.0}}, "type must be 'default'"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "rotary_factor must be 1.0"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor must be 1.0"),
        ({"rope_parameters": [1]}, "rope_parameters must be an object"),
        ({"head_dim": 8}, r"q_proj.weight must have shape \(32, 16\)"),
        ({"num_key_value_heads": 4}, r"k_proj.weight .* got \(8, 16\)"),
        ({"rms_norm_eps": -1.0}, "rms_norm_eps must be above 0"),
        ({"tie_word_embeddings": True}, "lm_head.weight must equal the"),
    ],
}
CASES = [(name, *case) for name, cases in REFUSED.items() for case in cases]


@pytest.mark.parametrize(("name", "changes", "message"), CASES)
def test_an_unsupported_option_is_refused_by_name(tmp_path, name, changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        load(configured(copied(name, tmp_path), **changes))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors: {"surplus": torch.ones(3)}, "got surplus"),
        (lambda tensors: {min(tensors): tensors[min(tensors)].int()}, "be floating point; got"),
    ],
)
def test_weights_that_do_not_fit_are_refused(folder, change, message):
    with pytest.raises(ValueError, match=message):
        load(rewritten(folder, lambda tensors: tensors.update(change(tensors))))


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("tiny-gpt2", ["tie_word_embeddings", "layer_norm_epsilon", "n_inner", "architectures"]),
        ("tiny-gpt2", ["activation_function", "scale_attn_weights", "add_cross_attention"]),
        ("tiny-llama", ["tie_word_embeddings", "rms_norm_eps", "head_dim", "architectures"]),
        ("tiny-llama", ["hidden_act", "attention_bias", "mlp_bias", "rope_parameters"]),
    ],
)
def test_missing_options_have_the_defaults_of_transformers(tmp_path, name, missing):
    tokens = torch.arange(6)[None]
    model = load(configured(copied(name, tmp_path), **dict.fromkeys(missing, ...)))
    assert torch.equal(model(tokens), load(tiny_model(name))(tokens))


@pytest.mark.parametrize("build", [gpt2, llama])
def test_an_unsupported_option_is_refused_when_a_model_is_built(build):
    with pytest.raises(ValueError, match="in a supported model; got 'relu'"):
        build(Options({"activation_function": "relu", "hidden_act": "relu"}))


@pytest.mark.parametrize("number", [torch.nan, torch.inf, 1e30])
def test_a_weight_that_is_not_finite_is_refused(folder, number):
    def spoil(tensors):
        sorted(tensors.items())[0][1].view(-1)[3] = number

    with pytest.raises(ValueError, match=r"must be finite in torch.float16; got (nan|inf)"):
        load(rewritten(folder, spoil), dtype=torch.float16)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "config.json must be JSON"),
        ("[]", "config.json must be an object; got list"),
        ('{"a":' * 30000, "config.json must be JSON"),
        (b"\xff\xfe", "config.json must be JSON in UTF-8"),
        (b" " * 50_000_001, "config.json must have at most 50000000 bytes"),
    ],
)
def test_a_configuration_that_is_none_is_refused(tmp_path, text, message):
    folder = copied("tiny-gpt2", tmp_path)
    data = text if isinstance(text, bytes) else text.encode()
    (folder / "config.json").write_bytes(data)
    with pytest.raises(ValueError, match=message):
        load(folder)


def test_weights_in_several_files_and_missing_files_are_named(folder):
    weights = folder / "model.safetensors"
    (folder / "recorded.safetensors").unlink()
    weights.rename(folder / "model-00001-of-00002.safetensors")
    with pytest.raises(ValueError, match=r"must be one file, .* got model-00001"):
        load(folder)
    (folder / "model-00001-of-00002.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"model.safetensors must be a file in"):
        load(folder)
    (folder / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"config.json must be a file in"):
        load(folder)


def test_tiny_models_are_those_that_were_made(monkeypatch, tmp_path):
    for name in FAMILIES:
        copied(name, tmp_path)
    monkeypatch.setattr(tiny_models, "DATA", tmp_path)
    tiny_model("tiny-llama")
    configured(tmp_path / "tiny-llama", rms_norm_eps=0.1)
    with pytest.raises(ValueError, match=r"config.json must be as it was made"):
        tiny_model("tiny-llama")


def test_a_text_is_continued():
    folder = tiny_model("tiny-gpt2")
    assert continue_text(folder / "model.safetensors", "Is this what") == SENTENCE
    assert continue_text(folder, "Is this", length=2) == "Is this what"
    assert continue_text(folder, "Is this", length=0) == "Is this"
    last = continue_text(folder, "Is", length=3, select=lambda logits: logits.argmin(-1))
    assert last.startswith("Is")
    assert last != continue_text(folder, "Is", length=3)


def test_a_vocabulary_larger_than_the_models_is_refused(tmp_path):
    folder = copied("tiny-gpt2", tmp_path)
    vocabulary = json.loads((folder / "vocab.json").read_text("utf-8"))
    vocabulary["zz"] = len(vocabulary)
    (folder / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    with pytest.raises(ValueError, match=r"at most 281 tokens, .* got 282"):
        continue_text(folder, "a")
