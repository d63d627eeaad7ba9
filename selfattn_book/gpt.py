"""A GPT in one file. Run ``python gpt.py TEXT`` or ``python gpt.py GPT2-FOLDER PROMPT``."""

import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import ByteLevelBPETokenizer
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.c_attn = nn.Linear(d_model, 3 * d_model)  # queries, keys and values
        self.c_proj = nn.Linear(d_model, d_model)

    def forward(self, x):  # (B, T, D)
        split = self.c_attn(x).unflatten(-1, (3, self.num_heads, -1))  # (B, T, 3, H, d)
        q, k, v = split.permute(2, 0, 3, 1, 4)  # each (B, H, T, d)
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5  # (B, H, T, T)
        may_attend = torch.ones_like(scores, dtype=torch.bool).tril()
        weights = scores.masked_fill(~may_attend, -torch.inf).softmax(-1)
        return self.c_proj((weights @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn, self.mlp = Attention(d_model, num_heads), nn.Module()
        self.mlp.c_fc = nn.Linear(d_model, 4 * d_model)
        self.mlp.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp.c_proj(F.gelu(self.mlp.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_layers, num_heads):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, d_model)
        self.wpe, self.ln_f = nn.Embedding(context_length, d_model), nn.LayerNorm(d_model)
        self.h = nn.Sequential(*[Block(d_model, num_heads) for _ in range(num_layers)])
        for name, p in self.named_parameters():
            if p.dim() == 2:  # smaller where a sublayer adds to the residual stream
                sublayers = 2 * num_layers if "c_proj" in name else 1
                nn.init.normal_(p, std=0.02 / sublayers**0.5)

    def forward(self, tokens):  # (B, T)
        x = self.h(self.wte(tokens) + self.wpe.weight[: tokens.size(1)])
        return self.ln_f(x) @ self.wte.weight.T  # logits of the next token, (B, T, V)

    @torch.no_grad()
    def generate(self, tokens, steps):
        for _ in range(steps):
            logits = self(tokens[:, -self.wpe.num_embeddings :])[:, -1]
            tokens = torch.cat([tokens, logits.softmax(-1).multinomial(1)], dim=1)
        return tokens


def train(model, data, steps, batch_size=32):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    window = torch.arange(model.wpe.num_embeddings + 1)
    for step in range(steps):
        batch = data[torch.randint(len(data) - len(window), (batch_size, 1)) + window]
        loss = F.cross_entropy(model(batch[:, :-1]).mT, batch[:, 1:])  # class axis second
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.2f}")


def load_gpt2(folder):
    config = json.loads(Path(folder, "config.json").read_text())
    saved = load_file(Path(folder, "model.safetensors"))
    sizes = "vocab_size", "n_positions", "n_embd", "n_layer", "n_head"
    model = GPT(*(config[size] for size in sizes))
    for name, p in model.named_parameters():
        weight = saved[name if name in saved else f"transformer.{name}"]
        p.data = weight.T if ".c_" in name and p.dim() == 2 else weight  # (in, out)
    return model


if __name__ == "__main__":
    path, *prompt = sys.argv[1:]
    if prompt:
        tokenizer = ByteLevelBPETokenizer(f"{path}/vocab.json", f"{path}/merges.txt")
        tokens, decode = tokenizer.encode(*prompt).ids, tokenizer.decode
        model = load_gpt2(path)
    else:
        tokens, decode = [10], lambda ids: bytes(ids).decode(errors="replace")
        model = GPT(256, context_length=64, d_model=128, num_layers=4, num_heads=4)
        train(model, torch.tensor(list(Path(path).read_bytes())), steps=2000)
    print(decode(model.generate(torch.tensor([tokens]), steps=200)[0].tolist()))
