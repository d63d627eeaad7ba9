"""The book's GPT-2 and Llama give the logits of an independent library, `transformers`.

Importing that library takes seconds: all tests that need it are in this file.
"""

import json
import shutil

import pytest
import torch
from torch import nn

from selfattn_book.cache import KeyValueCache
from selfattn_book.experiments.tiny_models import as_recorded, tiny_model
from selfattn_book.generation import generate
from selfattn_book.pretrained.models import load
from selfattn_book.pretrained.tokenizer import read_tokenizer

transformers = pytest.importorskip("transformers")

VOCABULARY, BATCH, LENGTH, LAYERS = 53, 3, 11, 2
SIZES = {
    "gpt2": {
        "one head": {"n_embd": 14, "n_head": 1},
        "three heads": {"n_embd": 24, "n_head": 3, "n_inner": 29},
        "two matrices": {"n_embd": 24, "n_head": 3, "tie_word_embeddings": False},
        "another eps": {"n_embd": 24, "n_head": 3, "layer_norm_epsilon": 0.1},
    },
    "llama": {
        "many heads": {"num_attention_heads": 4},
        "grouped": {"num_attention_heads": 6, "num_key_value_heads": 2},
        "multi-query": {"num_attention_heads": 4, "num_key_value_heads": 1},
        "wide heads": {"num_attention_heads": 2, "head_dim": 14},
        "tied": {"num_attention_heads": 4, "tie_word_embeddings": True},
        "another base": {
            "num_attention_heads": 4,
            "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
            "rms_norm_eps": 0.1,
        },
    },
}
EVERY = [(family, name) for family, kinds in SIZES.items() for name in kinds]


def theirs_of(family, name):
    """Return a random model of the library, with random biases and norms too."""
    sizes = SIZES[family][name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(len(name))
        if family == "gpt2":
            config = transformers.GPT2Config(
                vocab_size=VOCABULARY, n_positions=64, n_layer=LAYERS, **sizes
            )
            model = transformers.GPT2LMHeadModel(config)
        else:
            config = transformers.LlamaConfig(
                vocab_size=VOCABULARY,
                hidden_size=24,
                intermediate_size=37,
                num_hidden_layers=LAYERS,
                **sizes,
            )
            model = transformers.LlamaForCausalLM(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


class PreciseRotary(nn.Module):
    """RoPE angles in float64; the library computes them in float32 for any model."""

    def __init__(self, width, base):
        super().__init__()
        self.frequencies = base ** (-torch.arange(0, width, 2).double() / width)

    def forward(self, x, position_ids):
        angles = position_ids[..., None].double() * self.frequencies
        angles = torch.cat([angles, angles], -1)
        return angles.cos(), angles.sin()


def precise(model):
    """Return a model in float64 throughout: two parts of the library's Llama compute in float32."""
    model = model.double()
    if model.config.model_type == "llama":
        attention = model.model.layers[0].self_attn
        base = model.config.rope_parameters["rope_theta"]
        model.model.rotary_emb = PreciseRotary(attention.head_dim, base)
        eps = model.config.rms_norm_eps
        norms = [n for n, m in model.named_modules() if "RMSNorm" in type(m).__name__]
        for name in norms:
            mine = nn.RMSNorm(24, eps=eps)
            mine.weight = model.get_submodule(name).weight
            model.set_submodule(name, mine)
    return model


@pytest.fixture(scope="module", params=EVERY, ids=" ".join)
def saved(request, tmp_path_factory):
    """Return a model of the library and the folder in which it saved the model."""
    model = theirs_of(*request.param)
    folder = tmp_path_factory.mktemp("saved")
    model.save_pretrained(folder)
    return model, folder


@pytest.fixture(scope="module")
def pair(saved):
    """Return a model of the library in float64, and ours from its saved files."""
    theirs, folder = saved
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
def test_the_same_logits(pair):
    theirs, ours = pair
    agree(ours(text()), theirs(text()).logits)


@torch.no_grad()
@pytest.mark.parametrize("mask", [LEFT, RIGHT], ids=["left", "right"])
def test_the_same_logits_with_padding(pair, mask):
    theirs, ours = pair
    positions = (mask.long().cumsum(1) - 1).clamp(min=0)
    expected = theirs(text(), attention_mask=mask.long(), position_ids=positions).logits
    got = ours(text(), mask)
    # Padded rows are undefined there, and not compared.
    agree(got[mask], expected[mask])


@torch.no_grad()
def test_the_same_logits_token_by_token(pair):
    theirs, ours = pair
    caches = [KeyValueCache() for _ in ours.blocks]
    for part in text().split([5, 1, 3, 2], dim=1):
        got = ours(part, caches=caches)
    agree(got, theirs(text()).logits[:, -2:])


@pytest.mark.parametrize("mask", [None, LEFT], ids=["alone", "padded"])
def test_the_same_continuation(pair, mask):
    theirs, ours = pair
    options = {"max_new_tokens": 20, "do_sample": False, "pad_token_id": 0}
    attended = torch.ones(BATCH, LENGTH).long() if mask is None else mask.long()
    # Without their end-of-text token, which would end it.
    theirs.generation_config.eos_token_id = None
    expected = theirs.generate(text(), attention_mask=attended, **options)
    assert torch.equal(generate(ours, text(), 20, padding_mask=mask), expected)


@torch.no_grad()
def test_in_32_bits_only_rounding_differs(saved):
    model, folder = saved
    theirs = type(model).from_pretrained(folder).eval()
    agree(load(folder)(text()), theirs(text()).logits, 2e-5)


# Configurations as the library itself has written or accepted them at some time.
LOADED = [
    ("tiny-llama", {"rope_parameters": {"rope_type": "default"}, "rope_theta": 100.0}),
    ("tiny-llama", {"rope_parameters": {"rope_theta": 100.0}, "rope_theta": 7.0}),
    ("tiny-llama", {"rope_parameters": {"type": "default", "rope_theta": 100.0}}),
    ("tiny-llama", {"rope_parameters": None, "rope_theta": 100.0}),
    ("tiny-gpt2", {"activation_function": "gelu_pytorch_tanh"}),
    ("tiny-gpt2", {"num_attention_heads": 4, "hidden_size": 16}),
    ("tiny-gpt2", {"architectures": None}),
]
THEIRS = {"tiny-gpt2": "GPT2LMHeadModel", "tiny-llama": "LlamaForCausalLM"}


def configured(name, changes, folder):
    folder = shutil.copytree(tiny_model(name), folder / name)
    options = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps(options))
    return folder


@torch.no_grad()
@pytest.mark.parametrize(("name", "changes"), LOADED)
def test_every_form_of_a_configuration_gives_their_logits(tmp_path, name, changes):
    folder = configured(name, changes, tmp_path)
    theirs = getattr(transformers, THEIRS[name]).from_pretrained(folder).eval()
    tokens = torch.arange(12)[None]
    agree(load(folder)(tokens), theirs(tokens).logits, 2e-5)


@pytest.mark.parametrize("name", THEIRS)
@torch.no_grad()
def test_recorded_logits_are_those_of_transformers(name):
    _, tokens, recorded = as_recorded(name)
    kind = getattr(transformers, THEIRS[name])
    theirs = kind.from_pretrained(tiny_model(name)).double().eval()
    agree(theirs(tokens).logits, recorded, 1e-6)


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
