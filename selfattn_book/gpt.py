"""A GPT in one file. Train: ``python gpt.py TEXT``; run GPT-2: ``python gpt.py FOLDER PROMPT``."""

import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import ByteLevelBPETokenizer
from torch import Tensor, nn


class Attention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.c_attn = nn.Linear(d_model, 3 * d_model)  # queries, keys and values
        self.c_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = self.c_attn(x).view(batch, length, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5  # (B, H, T, T)
        may_attend = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        weights = scores.masked_fill(~may_attend, -torch.inf).softmax(-1)
        return self.c_proj((weights @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = Attention(d_model, num_heads)
        expand, contract = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)
        self.mlp = nn.ModuleDict({"c_fc": expand, "c_proj": contract})

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, vocab: int, context: int, d_model: int, layers: int, heads: int) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, d_model), nn.Embedding(context, d_model)
        self.h = nn.ModuleList(Block(d_model, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(d_model)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:  # smaller where a sublayer adds to the residual stream
                nn.init.normal_(parameter, std=0.02 / (2 * layers) ** (0.5 * ("c_proj" in name)))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.wte(tokens) + self.wpe.weight[: tokens.size(1)]
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T  # logits of the next token, (B, T, V)

    @torch.no_grad()
    def generate(self, tokens: Tensor, steps: int) -> Tensor:
        for _ in range(steps):
            logits = self(tokens[:, -self.wpe.num_embeddings :])[:, -1]
            tokens = torch.cat([tokens, logits.softmax(-1).multinomial(1)], dim=1)
        return tokens


def train(model: GPT, data: Tensor, steps: int, batch: int = 32, rate: float = 1e-3) -> None:
    offsets = torch.arange(model.wpe.num_embeddings + 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    for step in range(steps):
        tokens = data[torch.randint(len(data) - len(offsets) + 1, (batch, 1)) + offsets]
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.2f}")


def load_gpt2(folder: Path) -> GPT:
    config = json.loads((folder / "config.json").read_text())
    saved = load_file(folder / "model.safetensors")
    model = GPT(*map(config.get, ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head")))
    for name, parameter in model.named_parameters():
        weight = saved[name if name in saved else f"transformer.{name}"]
        parameter.data = weight.T if ".c_" in name and weight.dim() == 2 else weight  # (in, out)
    return model


if __name__ == "__main__":
    path = Path(sys.argv[1])
    if path.is_dir():
        tokenizer = ByteLevelBPETokenizer(f"{path}/vocab.json", f"{path}/merges.txt")
        tokens, decode = tokenizer.encode(sys.argv[2]).ids, tokenizer.decode
        model = load_gpt2(path)
    else:
        tokens, decode = [10], lambda ids: bytes(ids).decode(errors="replace")
        model = GPT(256, context=64, d_model=128, layers=4, heads=4)
        train(model, torch.tensor(list(path.read_bytes())), steps=2000)
    print(decode(model.generate(torch.tensor([tokens]), steps=200)[0].tolist()))
