"""Make the two tiny models that the book loads, with `transformers` alone.

    python tests/pretrained/make_tiny_models.py

A small GPT-2 memorizes one sentence, and a small Llama stays untrained. Each is saved by
`save_pretrained`, with its logits for some tokens. A different processor or version may train to
different numbers; recorded logits belong to the weights beside them.
"""

import hashlib
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

DATA = Path(__file__).resolve().parents[2] / "selfattn_book" / "data"
SENTENCE = "Is this what real models do? Yes, number for number."
MERGES, STEPS = 24, 400


def gpt2(folder):
    """Train a GPT-2 on one sentence."""
    tokenizer = ByteLevelBPETokenizer()
    options = {"special_tokens": ["<|endoftext|>"], "min_frequency": 1, "show_progress": False}
    tokenizer.train_from_iterator([SENTENCE], vocab_size=256 + MERGES + 1, **options)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_model(str(folder))
    size = tokenizer.get_vocab_size()
    end = tokenizer.token_to_id("<|endoftext|>")
    tokens = torch.tensor([[*tokenizer.encode(SENTENCE).ids, end]])
    torch.manual_seed(0)
    sizes = {"vocab_size": size, "n_positions": 64, "n_embd": 16, "n_layer": 2, "n_head": 4}
    rates = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    config = GPT2Config(**sizes, **rates, bos_token_id=end, eos_token_id=end)
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(STEPS):
        loss = model(tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("GPT-2: loss", loss.item(), "on", tokens.shape[1], "tokens")
    return model.eval(), torch.stack([tokens[0, :10], tokens[0].flip(0)[:10]])


def llama():
    """Initialize a Llama whose norms are not all ones."""
    torch.manual_seed(1)
    sizes = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 40, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(**sizes, **heads, max_position_embeddings=64)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval(), torch.randint(64, (2, 12))


@torch.no_grad()
def save(model, tokens, folder):
    """Save a model, and its logits for some tokens in float64."""
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    logits = model.double()(tokens).logits
    save_file({"tokens": tokens, "logits": logits}, folder / "recorded.safetensors")


if __name__ == "__main__":
    save(*gpt2(DATA / "tiny-gpt2"), DATA / "tiny-gpt2")
    save(*llama(), DATA / "tiny-llama")
    for file in sorted(DATA.glob("tiny-*/*.*")):
        if file.suffix != ".md":
            file.chmod(0o644)
            digest = hashlib.sha256(file.read_bytes()).hexdigest()[:32]
            print(f'    "{file.relative_to(DATA).as_posix()}": "{digest}",')
