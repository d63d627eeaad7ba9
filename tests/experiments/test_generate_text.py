"""The command ``generate``: reproducible output, and one line for each refusal."""

import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from selfattn_book.experiments import generate_text, model_file
from selfattn_book.experiments.generate_text import main
from selfattn_book.experiments.tiny_models import tiny_model
from selfattn_book.generation import generate, make_sampler

GPT2, LLAMA = str(tiny_model("tiny-gpt2")), str(tiny_model("tiny-llama"))
COMMAND = [sys.executable, "-m", "selfattn_book", "generate"]


def generated(capsys, *options, prompt="And God said"):
    assert main(["--length", "12", "--prompt", prompt, *options]) == 0
    return capsys.readouterr().out


def test_the_command_prints_what_generate_returns():
    done = subprocess.run(
        [*COMMAND, "--prompt", "And God said", "--length", "80", "--seed", "5"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONUTF8": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    model, tokens, _ = model_file.load_bundled_model()
    select = make_sampler(torch.Generator().manual_seed(5), temperature=0.8)
    torch.set_num_threads(1)
    expected = generate(model, tokens.encode("And God said")[None], 80, select=select)
    assert done.stdout == tokens.decode(expected[0]) + "\n"


def test_options_reach_the_sampler(capsys):
    plain = generated(capsys)
    assert plain == generated(capsys)
    assert plain != generated(capsys, "--seed", "1")
    assert plain != generated(capsys, "--temperature", "3")
    greedy = {
        generated(capsys, "--seed", seed, *option)
        for seed in ("0", "1")
        for option in (("--top-k", "1"), ("--top-p", "0.000001"), ("--temperature", "0.0001"))
    }
    assert len(greedy) == 1


def test_weights_may_be_a_file(tmp_path, capsys):
    file = tmp_path / "mine.safetensors"
    model_file.write(file, *model_file.load_bundled_model())
    assert generated(capsys, "--weights", str(file)).startswith("And God said")


def test_of_a_prompt_longer_than_the_context_the_end_is_used(capsys):
    long = "And it came to pass in those days. " * 30
    assert generated(capsys, prompt=long).startswith(long)


# The rules of temperature, top_k and top_p are those of the sampler.
REFUSED = {
    "prompt must have at least one character; got ''": ["--prompt", ""],
    "characters of the training text; got 'ù'": ["--prompt", "Où?"],
    "temperature must be above 0": ["--prompt", "a", "--temperature", "0"],
    "the vocabulary, 1024; got 1025": ["--prompt", "a", "--top-k", "1025"],
    "top_p must be above 0 and at most 1": ["--prompt", "a", "--top-p", "0"],
    "length must be at least 0; got -1": ["--prompt", "a", "--length", "-1"],
    "integer from 0 to 4294967295; got -1": ["--prompt", "a", "--seed", "-1"],
    "must be a model that this book": ["--prompt", "a", "--weights", "README.md"],
    "No such file or directory: 'none'": ["--prompt", "a", "--weights", "none"],
    "the following arguments are required: --prompt": [],
    "got none": ["--prompt", "", "--weights", GPT2],
    "must be str": ["--prompt", "\ud800", "--weights", GPT2],
    "tokenizer.json must be a file": ["--prompt", "a", "--weights", LLAMA],
    "merges.txt must be a safetensors": ["--prompt", "a", "--weights", f"{GPT2}/merges.txt"],
    "length must be at least 0; got -2": ["--prompt", "a", "--weights", GPT2, "--length", "-2"],
    "fit into 64 tokens; got ": ["--prompt", "a", "--weights", GPT2, "--length", "99"],
    "vocabulary, 281": ["--prompt", "a", "--weights", GPT2, "--top-k", "282"],
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_refusal_is_one_line(capsys, message):
    with pytest.raises(SystemExit) as stopped:
        sys.exit(main(REFUSED[message]))
    out, err = capsys.readouterr()
    assert (stopped.value.code, out) == (2, "")
    assert message in err.splitlines()[-1]


@pytest.mark.parametrize("options", [(), ("--top-k", "1"), ("--top-p", "0.01")])
def test_a_pretrained_model_prints_the_most_likely_continuation(capsys, options):
    assert main(["--weights", GPT2, "--prompt", "Is this what", *options]) == 0
    assert capsys.readouterr() == ("Is this what real models do? Yes, number for number.\n", "")


def test_sampling_from_a_pretrained_model_has_a_seed(capsys):
    options = ["--weights", GPT2, "--temperature", "3", "--seed"]
    texts = [generated(capsys, *options, seed, prompt="Is this") for seed in ("0", "0", "1", "2")]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


def test_an_interruption_ends_the_line(monkeypatch, capsys):
    monkeypatch.setattr(generate_text, "generate", Mock(side_effect=KeyboardInterrupt))
    assert main(["--prompt", "And"]) == 130
    assert capsys.readouterr().out == "And\n"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_readme_shows_the_output_of_the_model(dtype):
    """In both precisions, so no token is so near to a tie that a processor would decide it."""
    text = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    command = r'generate --prompt "(.+)" --length (\d+) --seed (\d+)`\n\n((?:  > .+\n)+)'
    prompt, length, seed, shown = re.search(command, text).groups()
    model, tokens, _ = model_file.load_bundled_model()
    select = make_sampler(torch.Generator().manual_seed(int(seed)), temperature=0.8)
    start = tokens.encode(prompt)[None]
    numbers = generate(model.to(dtype), start, int(length), select=select)
    assert tokens.decode(numbers[0]).strip() == shown.replace("  > ", "").strip()
