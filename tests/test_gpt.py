"""The single-file GPT: as long as its page says, independent of the package, and equal to GPT-2."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
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
