"""Models from files: their logits, their variants, and the options that are refused by name."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from selfattn_book.experiments import tiny_models
from selfattn_book.experiments.tiny_models import as_recorded, tiny_model
from selfattn_book.pretrained.continuing import continue_text, encode_prompt
from selfattn_book.pretrained.models import load
from selfattn_book.pretrained.tokenizer import END, read_tokenizer

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
    """The first GPT-2 has no prefix, and tables for the mask; older Llamas, frequencies of RoPE."""
    frequencies = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(2)}
    load(rewritten(copied("tiny-llama", tmp_path), lambda tensors: tensors.update(frequencies)))
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


def rope(kind, **options):
    return {"rope_parameters": {"rope_type": kind, **options}}


def varied(family, **options):
    """Name a family that varies Llama."""
    return {"model_type": family, "architectures": None, **options}


FULL, SLIDING = "full_attention", "sliding_attention"


REFUSED = {
    "tiny-gpt2": [
        ({"model_type": "bert"}, "one of gpt2, llama, mistral, qwen2, qwen3; got 'bert'"),
        ({"model_type": ...}, "model_type must be .* got None"),
        ({"architectures": ["GPT2Model"]}, r"architectures must be \['GPT2LMHeadModel'\]"),
        ({"quantization_config": {"bits": 4}}, "code knows; got quantization_config: {'bits': 4}"),
        ({"auto_map": {"AutoModel": "x.py"}}, "config.json must hold only .*; got auto_map"),
        ({"activation_function": "quick_gelu"}, "must be one of gelu, gelu_new, .* 'quick_gelu'"),
        ({"n_ctx": 32}, "n_ctx must be n_positions, 64; got 32"),
        ({"scale_attn_weights": False}, "scale_attn_weights must be True"),
        ({"scale_attn_weights": 1}, "scale_attn_weights must be True"),
        ({"scale_attn_by_inverse_layer_idx": True}, "by_inverse_layer_idx"),
        ({"reorder_and_upcast_attn": True}, "reorder_and_upcast_attn"),
        ({"add_cross_attention": True}, "add_cross_attention must be False"),
        ({"num_attention_heads": 2}, "num_attention_heads must be n_head, 4; got 2"),
        ({"max_position_embeddings": 9}, "max_position_embeddings must be n_positions, 64"),
        ({"n_embd": ...}, "config.json must give n_embd; it does not"),
        ({"n_embd": 0}, "n_embd must be at least 1; got 0"),
        ({"n_head": 3}, "n_embd must be divisible by n_head; got 16 and 3"),
        ({"n_embd": 10**12}, "config.json must give the sizes of a model; .*overflow"),
        ({"n_head": 4.0}, "n_head must be an integer; got 4.0"),
        ({"n_layer": True}, "n_layer must be an integer; got True"),
        ({"n_layer": 10**12}, r"must hold tensor h.2.attn"),
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
        ({"model_type": "mistral"}, r"must be \['MistralForCausalLM'\]"),
        ({"hidden_act": ["silu"]}, r"hidden_act must be one of gelu, .*; got \['silu'\]"),
        ({"attention_bias": True}, "must hold tensor model.layers.0.self_attn.q_proj.bias"),
        ({"mlp_bias": True}, "must hold tensor model.layers.0.mlp.gate_proj.bias"),
        ({"attention_bias": 1}, "attention_bias must be true or false; got 1"),
        ({"num_local_experts": 8}, "only options that this book's code knows; got num_local_exp"),
        ({"sliding_window": 4096}, "got sliding_window: 4096"),
        ({"rope_interleaved": True}, "rope_interleaved must be False"),
        ({"rope_scaling": {"type": "linear"}}, "rope_scaling must be rope_parameters"),
        (rope("longrope"), "one of default, .*; got 'longrope'"),
        (rope(["yarn"]), r"one of default, .*; got \['yarn'\]"),
        (rope("yarn", type="linear"), "type must be rope_type"),
        (rope("linear"), "rope_parameters must give factor; it does not"),
        (rope("linear", factor=0), "factor must be above 0"),
        (rope("linear", factor=2.0, original_length=64), "must hold .* original_length: 64"),
        (rope("yarn", factor=4.0, beta_fast=0.5), "beta_fast must be above beta_slow"),
        (rope("yarn", factor=4.0, mscale="1"), "mscale must be a number"),
        (rope("llama3", factor=4.0, low_freq_factor=1.0), "must give high_freq_factor"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "rotary_factor must be 1.0"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor must be 1.0"),
        ({"rope_parameters": [1]}, "rope_parameters must be an object"),
        ({"head_dim": 8}, r"q_proj.weight must have shape \(32, 16\)"),
        ({"num_key_value_heads": 4}, r"k_proj.weight .* got \(8, 16\)"),
        ({"rms_norm_eps": -1.0}, "rms_norm_eps must be above 0"),
        ({"tie_word_embeddings": True}, "lm_head.weight must equal the"),
        ({"hidden_size": ...}, "config.json must give hidden_size; it does not"),
        (varied("mistral", num_key_value_heads=...), r"got 4 and 8"),
        (varied("mistral", sliding_window=0), "sliding_window must be at least 1; got 0"),
        (varied("mistral", attention_bias=True), "attention_bias must be False"),
        (varied("qwen2"), "must hold tensor model.layers.0.self_attn.q_proj.bias"),
        (varied("qwen2", attention_bias=True), "attention_bias must be False"),
        (varied("qwen2", use_mrope=True), "use_mrope must be False"),
        (varied("qwen2", layer_types=[FULL]), "layer_types must be a list of 2 of full_att"),
        (varied("qwen2", layer_types=[FULL, "chunked"]), "layer_types .* got .*'chunked'"),
        (varied("qwen2", layer_types=[FULL, SLIDING]), "without a sliding"),
        (varied("qwen2", max_window_layers=-1), "max_window_layers must be at least 0; got -1"),
        (varied("qwen3"), "must hold tensor model.layers.0.self_attn.q_norm.weight"),
        (varied("qwen3", head_dim=...), r"q_proj.weight must have shape \(512, 16\)"),
    ],
}
CASES = [(name, *case) for name, cases in REFUSED.items() for case in cases]


@pytest.mark.parametrize(("name", "changes", "message"), CASES)
def test_an_unsupported_option_is_refused_by_name(tmp_path, name, changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        load(configured(copied(name, tmp_path), **changes))


def first_of(tensors):
    return tensors[min(tensors)]


SPOILED = [
    (lambda tensors: tensors.update(surplus=torch.ones(3)), "got surplus"),
    (lambda tensors: tensors.update({min(tensors): first_of(tensors).int()}), "be floating point; got"),
    (lambda tensors: first_of(tensors).view(-1)[3].fill_(torch.nan), "finite in torch.float16; got nan"),
    (lambda tensors: first_of(tensors).view(-1)[3].fill_(1e30), "finite in torch.float16; got inf"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "message"), SPOILED)
def test_weights_that_do_not_fit_are_refused(folder, spoil, message):
    with pytest.raises(ValueError, match=message):
        load(rewritten(folder, spoil), dtype=torch.float16)


def test_options_of_published_files_that_change_nothing_are_accepted(folder):
    tokens, expected = torch.arange(6)[None], load(folder)
    more = {"n_special": 0, "predict_special_tokens": True, "output_past": True, "top_p": 0.9}
    more |= {"is_llama_config": True, "transformers.js_config": {}, "id2label": {"0": "LABEL_0"}}
    more |= {"num_experts": None, "torch_dtype": "bfloat16", "unsloth_version": "2024.9"}
    assert torch.equal(load(configured(folder, **more))(tokens), expected(tokens))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "config.json must be JSON"),
        (b"[]", "config.json must be an object; got list"),
        (b'{"a":' * 30000, "config.json must be JSON"),
        (b"\xff\xfe", "config.json must be JSON in UTF-8"),
        (b" " * 50_000_001, "config.json must have at most 50000000 bytes"),
    ],
)
def test_a_configuration_that_is_none_is_refused(tmp_path, text, message):
    folder = copied("tiny-gpt2", tmp_path)
    (folder / "config.json").write_bytes(text)
    with pytest.raises(ValueError, match=message):
        load(folder)


def test_weights_in_several_files(folder):
    tokens = torch.arange(6)[None]
    expected, tensors = load(folder)(tokens), load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    where = {name: f"part-{i % 3}.safetensors" for i, name in enumerate(tensors)}
    for file in set(where.values()):
        save_file({n: x for n, x in tensors.items() if where[n] == file}, folder / file)

    def indexed(values):
        (folder / "model.safetensors.index.json").write_text(json.dumps(values))
        return load(folder)

    assert torch.equal(indexed({"metadata": {}, "weight_map": where})(tokens), expected)
    first, *_, last = where
    for wrong, message in (
        ({}, "weight_map in model.safetensors.index.json must give .*; got None"),
        ({"weight_map": {first: "../part-0.safetensors"}}, "the name of a file in the folder"),
        ({"weight_map": {first: 1}}, "must give the name of a file"),
        ({"weight_map": {first: "part-0.bin"}}, "must give the name of a file"),
        ({"weight_map": {**where, "more": "part-1.safetensors"}}, "no others; more is in one"),
        ({"weight_map": {n: f for n, f in where.items() if n != last}}, f"others; {last} is in"),
    ):
        with pytest.raises(ValueError, match=message):
            indexed(wrong)
    with pytest.raises(FileNotFoundError, match=r"part-9.safetensors must be a file in"):
        indexed({"weight_map": {**where, "more": "part-9.safetensors"}})


def test_missing_files_are_named(folder):
    (folder / "model.safetensors").unlink()
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


def with_tokenizer(folder, **settings):
    read_tokenizer(folder).save(str(folder / "tokenizer.json"))
    for name in ("vocab.json", "merges.txt"):
        (folder / name).unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def test_a_tokenizer_in_one_file_is_read(tmp_path):
    folder = with_tokenizer(copied("tiny-gpt2", tmp_path))
    assert continue_text(folder, "Is this what") == SENTENCE
    shortened = Tokenizer.from_file(str(folder / "tokenizer.json"))
    shortened.enable_truncation(1)
    shortened.enable_padding(length=9)
    shortened.save(str(folder / "tokenizer.json"))
    assert continue_text(folder, "Is this what") == SENTENCE
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match=r"tokenizer.json must be a tokenizer; "):
        continue_text(folder, "Is")


@pytest.mark.parametrize(
    ("settings", "template", "begins"),
    [
        ({}, False, 0),
        ({}, True, 1),
        ({"add_bos_token": False, "bos_token": END}, True, 0),
        ({"add_bos_token": True, "bos_token": END}, False, 1),
        ({"add_bos_token": True, "bos_token": {"content": END}}, True, 1),
        ({"add_bos_token": True, "bos_token": None}, False, 0),
    ],
)
def test_a_beginning_of_text_is_added_once(tmp_path, settings, template, begins):
    folder = with_tokenizer(copied("tiny-gpt2", tmp_path), **settings)
    tokenizer = read_tokenizer(folder)
    end, bare = tokenizer.token_to_id(END), tokenizer.encode("Is this").ids
    if template:
        around = f"{END} $A {END}"
        tokenizer.post_processor = TemplateProcessing(single=around, special_tokens=[(END, end)])
        tokenizer.save(str(folder / "tokenizer.json"))
    assert encode_prompt(tokenizer, "Is this", folder) == [end] * begins + bare
    (folder / "tokenizer_config.json").write_text('{"add_bos_token": true, "bos_token": "<s>"}')
    with pytest.raises(ValueError, match=r"bos_token must be a token of tokenizer.json; got '<s>'"):
        continue_text(folder, "Is")


def test_a_text_ends_at_a_token_of_either_file(tmp_path):
    folder = copied("tiny-gpt2", tmp_path)
    early, late = (read_tokenizer(folder).encode(text).ids[0] for text in (" do", " number"))
    texts = [continue_text(configured(folder, eos_token_id=late), "Is this what")]
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [late, early]}))
    texts.append(continue_text(folder, "Is this what"))
    assert texts == [SENTENCE[: SENTENCE.index(end)] for end in (" number", " do")]
    (folder / "generation_config.json").write_text('{"eos_token_id": ["x"]}')
    with pytest.raises(TypeError, match="eos_token_id must be an integer; got 'x'"):
        continue_text(folder, "Is")


def test_a_vocabulary_larger_than_the_models_is_refused(tmp_path):
    folder = copied("tiny-gpt2", tmp_path)
    vocabulary = json.loads((folder / "vocab.json").read_text("utf-8"))
    vocabulary["zz"] = len(vocabulary)
    (folder / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    with pytest.raises(ValueError, match=r"at most 281 tokens, .* got 282"):
        continue_text(folder, "a")
