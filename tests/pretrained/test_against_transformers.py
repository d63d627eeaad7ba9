"""The book's models of five families give the logits of an independent library, `transformers`.

Importing that library takes seconds: all tests that need it are in this file.
"""

import json
from contextlib import contextmanager

import pytest
import tokenizers
import torch
from tokenizers.processors import TemplateProcessing

from selfattn_book.cache import KeyValueCache
from selfattn_book.experiments.tiny_models import as_recorded, tiny_model
from selfattn_book.generation import generate
from selfattn_book.pretrained.continuing import continue_text
from selfattn_book.pretrained.models import load, read_architecture
from selfattn_book.pretrained.options import Options
from selfattn_book.pretrained.tokenizer import read_tokenizer

transformers = pytest.importorskip("transformers")

VOCABULARY, BATCH, LENGTH = 53, 3, 11
LLAMA = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2, "vocab_size": 53}
LLAMA |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
QWEN = LLAMA | {"use_sliding_window": True, "sliding_window": 4, "num_hidden_layers": 3}
BASE = {
    "gpt2": {"n_embd": 24, "n_head": 3, "n_layer": 2, "n_positions": 64, "vocab_size": 53},
    "llama": LLAMA,
    "mistral": LLAMA | {"sliding_window": 5},
    "qwen2": QWEN | {"max_window_layers": 1},
    "qwen3": QWEN | {"max_window_layers": 2, "head_dim": 12},
}
SHORT = {"original_max_position_embeddings": 8}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
YARN = {"rope_type": "yarn", "factor": 4.0}
# As vendors write them, at the top level or within one of two objects.
ROPES = [
    {},
    {"rope_theta": 100.0},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}, "rope_scaling": None},
    {"rope_parameters": {"rope_type": "default"}, "rope_theta": 100.0},
    {"rope_parameters": {"type": "default", "rope_theta": 100.0}, "rope_theta": 7.0},
    {"rope_parameters": None, "rope_theta": 10, "architectures": None},
    {"rope_scaling": {"type": "linear", "factor": 4.0}},
    {"rope_parameters": {"rope_type": "linear", "factor": 2.5, "rope_theta": 70.0}},
    {"rope_scaling": {"type": "dynamic", "factor": 3.0}, "max_position_embeddings": 6},
    {"rope_scaling": {"type": "dynamic", "factor": 3.0}, "max_position_embeddings": 99},
    {"rope_scaling": YARN | SHORT},
    {"rope_scaling": {"type": "yarn", "factor": 2.0}, "max_position_embeddings": 200},
    {"rope_scaling": {"type": "yarn", "factor": 2.0}, "max_position_embeddings": ...},
    {"rope_scaling": YARN | SHORT | {"attention_factor": 0.7, "beta_fast": 4, "beta_slow": 0.1}},
    {"rope_scaling": YARN | SHORT | {"truncate": False, "beta_fast": 2.0}, "rope_theta": 30.0},
    {"rope_parameters": YARN | SHORT | {"mscale": 0.7, "mscale_all_dim": 1.5, "rope_theta": 9.0}},
    {"rope_parameters": YARN | {"original_max_position_embeddings": 10**6, "rope_theta": 3.0}},
    {"rope_scaling": LLAMA3 | SHORT},
    {"rope_parameters": LLAMA3 | {"original_max_position_embeddings": 40, "rope_theta": 50.0}},
]
OTHERS = {
    "gpt2": [
        *[{}, {"n_head": 1}, {"n_inner": 29}, {"layer_norm_epsilon": 0.1}],
        *[{"activation_function": name} for name in ("gelu", "gelu_pytorch_tanh", "relu")],
        {"tie_word_embeddings": False},
        {"n_ctx": 64, "num_attention_heads": 3, "hidden_size": 24},
    ],
    "llama": [
        *[{"num_key_value_heads": ...}, {"num_key_value_heads": 1, "rms_norm_eps": 0.1}],
        *[{"head_dim": 14, "tie_word_embeddings": True}, {"mlp_bias": True, "pretraining_tp": 2}],
        *[{"attention_bias": True}, {"attention_bias": True, "hidden_act": "gelu"}],
    ],
    "mistral": [
        *[{"sliding_window": None}, {"sliding_window": ...}, {"sliding_window": 2}],
        {"sliding_window": 99, "head_dim": 6},
        {"num_attention_heads": 8, "num_key_value_heads": ..., "tie_word_embeddings": True},
    ],
    "qwen2": [
        {"use_sliding_window": ..., "sliding_window": ..., "max_window_layers": ...},
        *[{"use_sliding_window": False}, {"max_window_layers": 0}, {"max_window_layers": ...}],
        {"max_window_layers": 3, "head_dim": 10, "use_mrope": False},
        {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
        {"layer_types": ["full_attention"] * 3, "tie_word_embeddings": True},
    ],
    "qwen3": [
        {"attention_bias": True, "rms_norm_eps": 0.1},
        {"head_dim": ..., "use_sliding_window": False},
        {"layer_types": ["full_attention", "sliding_attention", "full_attention"]},
        {"tie_word_embeddings": True, "num_key_value_heads": 4, "max_window_layers": 0},
    ],
}
EVERY = [(family, row) for family, rows in OTHERS.items() for row in rows]
EVERY += [(family, row) for family in BASE if family != "gpt2" for row in ROPES]


@contextmanager
def in_float64():
    """Let the library compute in float64 throughout: RoPE and RMSNorm of its Llama ask for 32 bits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "float", torch.float64)
        patch.setattr(torch, "float32", torch.float64)
        patch.setattr(torch.Tensor, "float", torch.Tensor.double)
        torch.set_default_dtype(torch.float64)  # of the quotient of two integers
        yield
    torch.set_default_dtype(torch.float32)


def precise(model):
    """Return a copy of a model in float64, with the frequencies of RoPE in float64 as well."""
    with in_float64():
        copy = type(model)(model.config).double().eval()
    copy.load_state_dict(model.state_dict())
    copy.forward = in_float64()(copy.forward)
    return copy


def saved(family, changes, folder):
    """Save a random model of the library, with random biases and norms, and our configuration."""
    options = {"model_type": family, **BASE[family], **changes}
    options = {name: value for name, value in options.items() if value is not ...}
    (folder / "config.json").write_text(json.dumps(options))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(len(str(changes)))
        config = transformers.AutoConfig.from_pretrained(folder)
        model = transformers.AutoModelForCausalLM.from_config(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(options))
    return model.eval()


@torch.no_grad()
@pytest.mark.parametrize(("family", "changes"), EVERY)
def test_the_same_logits_at_once_step_by_step_and_in_32_bits(tmp_path, family, changes):
    model = saved(family, changes, tmp_path)
    agree(load(tmp_path)(text()), model(text()).logits, 1e-4)
    theirs, ours = precise(model), load(tmp_path, dtype=torch.float64)
    agree(ours(text()), theirs(text()).logits)
    caches = [KeyValueCache() for _ in ours.blocks]
    theirs_cached = transformers.DynamicCache(config=theirs.config)
    for part in text().split([5, 1, 3, 2], dim=1):
        expected = theirs(part, past_key_values=theirs_cached).logits
        agree(ours(part, caches=caches), expected)


@pytest.fixture(scope="module", params=BASE)
def pair(request, tmp_path_factory):
    """Return a model of the library in float64, and ours from its saved files."""
    folder = tmp_path_factory.mktemp("saved")
    theirs = saved(request.param, {}, folder)
    return precise(theirs), load(folder, dtype=torch.float64)


def text(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, VOCABULARY, (BATCH, LENGTH), generator=generator)


LEFT = torch.arange(LENGTH) >= torch.tensor([[0], [4], [7]])
RIGHT = torch.arange(LENGTH) < torch.tensor([[11], [8], [5]])


def agree(ours, theirs, tolerance=1e-12):
    assert theirs.abs().max() > 0.1
    torch.testing.assert_close(ours.double(), theirs.double(), rtol=0, atol=tolerance)


@torch.no_grad()
@pytest.mark.parametrize("mask", [LEFT, RIGHT], ids=["left", "right"])
def test_the_same_logits_with_padding(pair, mask):
    theirs, ours = pair
    positions = (mask.long().cumsum(1) - 1).clamp(min=0)
    expected = theirs(text(), attention_mask=mask.long(), position_ids=positions).logits
    got = ours(text(), mask)
    # Padded rows are undefined there, and not compared.
    agree(got[mask], expected[mask])


@pytest.mark.parametrize("mask", [None, LEFT], ids=["alone", "padded"])
def test_the_same_continuation(pair, mask):
    theirs, ours = pair
    options = {"max_new_tokens": 20, "do_sample": False, "pad_token_id": 0}
    attended = torch.ones(BATCH, LENGTH).long() if mask is None else mask.long()
    # Without their end-of-text token, which would end it.
    theirs.generation_config.eos_token_id = None
    expected = theirs.generate(text(), attention_mask=attended, **options)
    assert torch.equal(generate(ours, text(), 20, padding_mask=mask), expected)


@pytest.mark.parametrize("name", ["tiny-gpt2", "tiny-llama"])
@torch.no_grad()
def test_recorded_logits_are_those_of_transformers(name):
    _, tokens, recorded = as_recorded(name)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tiny_model(name)).double().eval()
    agree(theirs(tokens).logits, recorded, 1e-6)


@pytest.mark.parametrize("family", BASE)
def test_every_option_that_the_library_writes_is_known(family):
    config = transformers.AutoConfig.for_model(family)
    options = json.loads(json.dumps(config.to_dict(), default=str))
    _, architecture = read_architecture(Options(options))
    assert architecture.d_model == config.hidden_size
    assert architecture.eps == getattr(config, "rms_norm_eps", 1e-5)


def tokenizer_of(kind):
    """Train a tokenizer like that of Llama 2 (by spaces), of Llama 3 or of Qwen (by bytes)."""
    by_spaces = kind == "spaces"
    implementation = "SentencePieceBPETokenizer" if by_spaces else "ByteLevelBPETokenizer"
    tokenizer = getattr(tokenizers, implementation)()
    special = {"special_tokens": ["<unk>", "<s>", "</s>"], "show_progress": False}
    text = "What do real models say, and why? Yes: number by number."
    tokenizer.train_from_iterator([text], vocab_size=400, **special)
    if kind != "bytes":
        tokenizer.post_processor = TemplateProcessing("<s> $A", None, [("<s>", 1)])
    return tokenizer


@pytest.mark.parametrize("kind", ["spaces", "bytes", "bytes after a beginning"])
def test_the_same_text(tmp_path, kind):
    tokenizer = tokenizer_of(kind)
    changes = {"vocab_size": tokenizer.get_vocab_size(), "eos_token_id": None}
    model = saved("llama", changes, tmp_path)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "generation_config.json").unlink()
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    prompt = "What do models say"
    tokens = theirs(prompt, return_tensors="pt").input_ids
    assert (tokens[0, 0] == 1) == (kind != "bytes")
    out = model.generate(tokens, max_new_tokens=9, do_sample=False, pad_token_id=0)[0]
    assert continue_text(tmp_path, prompt, length=9) == theirs.decode(out, skip_special_tokens=True)
    if kind == "spaces":  # a token with the space before it
        word, number = max(tokenizer.get_vocab().items(), key=lambda item: item[0][:1] == "\u2581")
        chosen = continue_text(tmp_path, prompt, length=1, select=lambda _: torch.tensor([number]))
        assert chosen == prompt + word.replace("\u2581", " ") != prompt + word


def test_the_same_tokens():
    """A special token within a text, and code points of every version of Unicode."""
    folder = tiny_model("tiny-gpt2")
    ours = read_tokenizer(folder)
    theirs = transformers.GPT2TokenizerFast(
        vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt")
    )
    letters = [chr(c) for c in range(0x20, 0x323AF, 97) if not 0xD800 <= c <= 0xDFFF]
    texts = [f"a {letter}{letter} 1{letter}b{letter}" for letter in letters]
    for text in [*texts, "", "We'll  <|endoftext|> \n\tnumber --", "e\u0301 \u200b\xa0\x1cfs"]:
        assert ours.encode(text).ids == theirs.encode(text), hex(ord(text[2:3] or " "))
