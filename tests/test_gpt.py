"""The single-file GPT: as long as its page says, independent of the package, and equal to GPT-2."""

import copy
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from selfattn_book import gpt
from selfattn_book.experiments.tiny_models import tiny_model

FILE = Path(gpt.__file__)


def test_the_file_has_100_lines():
    assert len(FILE.read_text().splitlines()) == 100


def test_a_copy_runs_alone(tmp_path):
    copy = shutil.copy(FILE, tmp_path)
    run = (
        "import runpy, sys, torch; torch.manual_seed(0); "
        "sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-I", "-c", run, copy, tiny_model("tiny-gpt2"), "Is this"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.startswith("Is this what real models do? Yes, number for number.")
    assert "selfattn_book" not in FILE.read_text()


@pytest.mark.parametrize("prefix", ["", "transformer."])
@pytest.mark.parametrize(("layers", "heads", "d_model", "context"), [(1, 1, 6, 5), (3, 4, 20, 9)])
def test_gpt2_weights_give_the_logits_of_transformers(
    prefix, layers, heads, d_model, context, tmp_path
):
    sizes = {"n_layer": layers, "n_head": heads, "n_embd": d_model, "n_positions": context}
    theirs = GPT2LMHeadModel(GPT2Config(vocab_size=23, **sizes, bos_token_id=0, eos_token_id=0))
    theirs.apply(lambda m: [torch.nn.init.normal_(p, std=0.4) for p in m.parameters(False)])
    (theirs if prefix else theirs.transformer).save_pretrained(tmp_path)
    tokens = torch.randint(23, (3, context))
    with torch.no_grad():
        expected = theirs.eval()(tokens).logits
        torch.testing.assert_close(gpt.load_gpt2(tmp_path)(tokens), expected, rtol=1e-4, atol=1e-4)


def test_initial_weights_are_smaller_where_they_add_to_the_residual_stream():
    for name, p in gpt.GPT(256, 64, 64, num_layers=8, num_heads=2).named_parameters():
        if p.dim() == 2:
            assert p.std().item() == pytest.approx(0.005 if "c_proj" in name else 0.02, rel=0.1)
        elif ".ln_" in f".{name}" and "weight" in name:
            assert p.eq(1).all()


def test_it_trains_as_the_definition_says_and_continues_what_it_learned(capsys):
    model, data = gpt.GPT(4, 5, 16, num_layers=1, num_heads=2).double(), torch.arange(24) % 4
    other = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(other.parameters(), lr=0.001)
    torch.manual_seed(0)
    for _ in range(201):
        windows = [data[start : start + 6] for start in torch.randint(24 - 6, (32, 1))]
        inputs, targets = torch.stack(windows)[:, :5], torch.stack(windows)[:, 1:]
        optimizer.zero_grad()
        F.cross_entropy(other(inputs).flatten(0, 1), targets.flatten()).backward()
        optimizer.step()
    torch.manual_seed(0)
    gpt.train(model, data, steps=201)
    torch.testing.assert_close(model(inputs), other(inputs))
    written = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in written] == ["step 0", "step 100", "step 200"]
    for parameter in model.ln_f.parameters():
        parameter.data *= 30  # nothing is left to chance
    continued = model.generate(torch.tensor([[2, 3], [1, 2]]), 9)
    assert continued.equal(torch.stack([torch.arange(2, 13), torch.arange(1, 12)]) % 4)


def test_the_patch_of_the_last_page_gives_rope_and_can_turn_it_off(tmp_path):
    file = tmp_path / "gpt_rope.py"
    shutil.copy(FILE, file)
    patch = FILE.parent / "data" / "gpt_rope.patch"
    subprocess.run(["git", "apply", "-p0", patch], cwd=tmp_path, check=True)
    assert file.read_text() != FILE.read_text()
    scope = runpy.run_path(str(file))
    torch.manual_seed(0)
    model, own = (
        module(9, 8, d_model=16, num_layers=2, num_heads=2) for module in (scope["GPT"], gpt.GPT)
    )
    for parameter in model.parameters():
        parameter.data *= 5  # so that attention is not uniform
    own.load_state_dict(model.state_dict())
    tokens = torch.randint(9, (2, 8))
    moved, stretched = scope["logit_changes"](model, tokens)
    assert moved < 1e-5 < 1e-4 < stretched
    model.forward.__globals__["ROTARY"] = False
    torch.testing.assert_close(model(tokens), own(tokens))
    assert scope["held_out_loss"](model, torch.randint(9, (33,))) > 0
