"""Train each language model of the book from three seeds, and record what the pages say of them.

``python -m benchmarks.writers SEED-1.safetensors SEED-2.safetensors`` writes
``selfattn_book/data/recorded_writers.json``. The files are two more large models, each trained in about
ten minutes by ``python -m selfattn_book train text --seed 1 --model SEED-1.safetensors``; the model that
ships with the book has seed 0. The small ones are trained here, in about half a minute. Without files,
only these are measured, and the record of the large ones is kept. With ``--modern``, only the changes
of the chapter on modern attention are measured, in half an hour; with ``--steps``, only the small
model, with attention and without, by the number of steps, in half an hour.
"""

import argparse
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from benchmarks.provenance import as_json, provenance, with_digest
from selfattn_book.blocks import PreNormBlock
from selfattn_book.experiments import model_file
from selfattn_book.experiments.ablation import without
from selfattn_book.experiments.fit_text import fit_text
from selfattn_book.experiments.recorded_writers import FILE, RECORDED
from selfattn_book.experiments.seeding import manual_seed
from selfattn_book.experiments.text import load_text, longest_copy, split_text, surprisal
from selfattn_book.feed_forward import FeedForward
from selfattn_book.generation import generate, make_sampler
from selfattn_book.language import LanguageModel, decoder_only
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.tokens import BPETokenizer, CharacterTokenizer

Tokenizer = BPETokenizer | CharacterTokenizer
SMALL = {"d_model": 64, "num_layers": 2, "num_heads": 4, "context_length": 32, "d_ff": 128}
STEPS, MORE_STEPS = 1000, (250, 500, 1000, 2000, 4000, 8000)
MODERN = ("RoPE", "RMSNorm", "SwiGLU", "GQA")
D, WINDOW, DROPOUT = 128, 64, 0.2  # of the models with and without these
NAMES = [" David", " Saul", " Jonathan", " Samuel", " LORD", " Philistines", " Israel"]
WORD = re.compile(r"[A-Za-z]+")
STORIES, JONAH = load_text("stories"), load_text("jonah")
LEARNED, HELD = split_text(STORIES)


def losses(model: LanguageModel, tokens: Tokenizer) -> dict[str, float]:
    """Return the bits per character on the end of what was learned, on what is held out, on Jonah."""
    window, found = model.context_length or WINDOW, {}
    for name, text in (("learned", LEARNED[-len(HELD) :]), ("held out", HELD), ("Jonah", JONAH)):
        row = torch.cat([tokens.encode(LEARNED)[-window:], tokens.encode(text)])
        nats = surprisal(model, row, window, length=window).sum().item()
        found[name] = round(nats / len(text) / math.log(2), 4)
    return found


def small(
    tokens: Tokenizer, seed: int, steps: int = STEPS, *, lr: float = 0.01, attention: bool = True
) -> dict[str, float]:
    """Train a small model as on the page, or without attention, and return its losses."""
    manual_seed(seed)
    model = decoder_only(len(tokens), **SMALL)
    if not attention:
        without(model, "attention")
    fit_text(model, tokens.encode(LEARNED), steps=steps, seed=seed, lr=lr)
    return {"seed": seed, **losses(model, tokens)}


def modern(
    changes: Sequence[str], tokens: Tokenizer, seed: int, lr: float, steps: int = STEPS
) -> LanguageModel:
    """Train a model as GPT-2's, but with some of the changes of Llama's block."""
    manual_seed(seed)
    norm = nn.RMSNorm if "RMSNorm" in changes else nn.LayerNorm
    gated, rotary = "SwiGLU" in changes, "RoPE" in changes

    def block() -> PreNormBlock:
        groups, base = 2 if "GQA" in changes else 4, 1e4 if rotary else None
        attention = MultiHeadAttention(D, 4, num_kv_heads=groups, rotary_base=base, dropout=DROPOUT)
        d_ff, activation = (344, "silu") if gated else (4 * D, "gelu")
        feed_forward = FeedForward(D, d_ff, activation=activation, gated=gated, dropout=DROPOUT)
        return PreNormBlock(attention, feed_forward, (norm(D), norm(D)), dropout=DROPOUT)

    embedding, positions = nn.Embedding(len(tokens), D), None
    nn.init.normal_(embedding.weight, std=0.02)
    if not rotary:
        positions = nn.Embedding(WINDOW, D)
        nn.init.normal_(positions.weight, std=0.02)
    model = LanguageModel(embedding, [block(), block()], norm(D), positions=positions)
    fit_text(model, tokens.encode(LEARNED), steps=steps, seed=seed, lr=lr, length=WINDOW)
    return model.eval()


def all_modern(tokens: Tokenizer) -> dict[str, Any]:
    """Return the losses on the held-out text, by change and learning rate, of three seeds."""
    recorded: dict[str, Any] = {}
    for name, changes in {"none": (), **{one: (one,) for one in MODERN}, "all": MODERN}.items():
        for lr in (0.002, 0.005):
            models = [modern(changes, tokens, seed, lr) for seed in range(3)]
            own = recorded.setdefault(name, {"parameters": 0})
            own["parameters"] = sum(p.numel() for p in models[0].parameters())
            own[str(lr)] = [losses(model, tokens)["held out"] for model in models]
            print(name, own, flush=True)
    return recorded


def all_steps(tokens: Tokenizer) -> dict[str, Any]:
    """Return the losses of the small model, with attention and without, by learning rate and steps."""
    recorded: dict[str, Any] = {}
    for lr in (0.01, 0.005):
        for name in ("with attention", "without"):
            own = recorded.setdefault(name, {}).setdefault(str(lr), {})
            for steps in MORE_STEPS:
                own[str(steps)] = [
                    small(tokens, seed, steps, lr=lr, attention=name != "without")
                    for seed in range(3)
                ]
                print(name, lr, steps, own[str(steps)], flush=True)
    return recorded


def large(file: Path) -> dict[str, Any]:
    """Return the losses of a large model, and measurements of its heads and of its samples."""
    model, tokens, record = model_file.read(file)
    return {
        "seed": record["seed"],
        **losses(model, tokens),
        **samples(model, tokens),
        "near": near(model, tokens),
        "names": names(file),
    }


def samples(model: LanguageModel, tokens: BPETokenizer) -> dict[str, Any]:
    """Return how often words repeat, the longest copied run, and the fractions of invented words."""

    def drawn(seed: int, temperature: float) -> Tensor:
        chance = torch.Generator().manual_seed(seed)
        select = make_sampler(chance, temperature=temperature)
        return generate(model, tokens.encode("\n").repeat(16, 1), 63, select=select)

    def words(rows: Tensor) -> list[list[str]]:
        return [WORD.findall(tokens.decode(row)) for row in rows]

    def different(rows: Tensor) -> float:
        return sum(len(set(line)) / len(line) for line in words(rows)) / len(rows)

    def invented(rows: Tensor) -> float:
        found = [word for line in words(rows) for word in line[:-1]]
        return sum(word not in known for word in found) / len(found)

    known, plain = set(WORD.findall(LEARNED)), drawn(3, 1.0)
    copied = longest_copy("".join(map(tokens.decode, drawn(5, 1.0))), LEARNED)
    return {
        "different words, sampled": round(different(plain), 3),
        "different words, greedy": round(different(generate(model, plain[:, :4], 60)), 3),
        "longest copied run": copied,
        "invented words": [round(invented(drawn(3, t)), 4) for t in (0.3, 0.8, 1.5)],
    }


@torch.no_grad()
def near(model: LanguageModel, tokens: BPETokenizer) -> list[list[float]]:
    """Return, for each head of each block, the mean attention to the last five tokens."""
    _, weights = model.hidden_states(tokens.encode(HELD)[:6400].view(100, 64))
    mask = causal_mask(64).triu(-4)
    each = [(cast("Tensor", own) * mask)[:, :, 16:].sum(-1).mean((0, 2)) for own in weights]
    return [[round(value, 3) for value in head.tolist()] for head in each]


def names(file: Path) -> list[list[list[float]]]:
    """Return how much the surprisal rises without each head, at seven names and elsewhere."""
    model, tokens, _ = model_file.read(file)
    part = tokens.encode(HELD)[:5000]
    row = torch.cat([tokens.encode(LEARNED)[-64:], part])
    at_name = torch.isin(part, torch.cat([tokens.encode(name) for name in NAMES]))
    full, rises = surprisal(model, row, 64, length=64), []
    for block in model.blocks:
        attention, own = cast("MultiHeadAttention", block.attention), []
        output = attention.project_output.weight.data
        for head in output.split(32, dim=1):
            before = head.clone()
            head.zero_()
            more = surprisal(model, row, 64, length=64) - full
            head.copy_(before)
            own.append([round(more[at].mean().item(), 4) for at in (at_name, ~at_name)])
        rises.append(own)
    return rises


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all models, and write the record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writers", description=__doc__)
    parser.add_argument("models", type=Path, nargs="*", help="files of more large models")
    parser.add_argument("--modern", action="store_true", help="measure the modern changes alone")
    parser.add_argument("--steps", action="store_true", help="measure longer trainings alone")
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    _, bpe, _ = model_file.load_bundled_model()
    kinds: dict[str, Tokenizer] = {"characters": CharacterTokenizer(STORIES), "BPE tokens": bpe}
    recorded = {name: part for name, part in RECORDED.items() if name != "digest"}
    if options.modern:
        longer = {
            name: [losses(modern(c, bpe, s, 0.002, 2 * STEPS), bpe)["held out"] for s in range(3)]
            for name, c in {"none": (), "RoPE": ("RoPE",)}.items()
        }
        recorded["modern"] = {**provenance(3), "bits": all_modern(bpe), "twice the steps": longer}
    elif options.steps:
        recorded["steps"] = {**provenance(3), "bits": all_steps(bpe)}
    else:
        recorded |= provenance(1 + len(options.models) if options.models else RECORDED["runs"])
        for name, tokens in kinds.items():
            recorded[name] = [small(tokens, seed) for seed in range(recorded["runs"])]
    if options.models:
        recorded["large"] = [large(file) for file in (model_file.WRITER, *options.models)]
    options.file.write_text(as_json(with_digest(recorded)), "utf-8")
    print(f"Recorded in {options.file}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
