"""The command that continues a text with a downloaded model: its output and its refusals."""

import subprocess
import sys

import pytest

from selfattn_book.experiments.tiny_models import tiny_model
from selfattn_book.pretrained.command import main

SENTENCE = "Is this what real models do? Yes, number for number."
FOLDER, LLAMA = str(tiny_model("tiny-gpt2")), str(tiny_model("tiny-llama"))


def run(*options, prompt="Is this what", weights=FOLDER):
    return main(["--weights", weights, "--prompt", prompt, *options])


@pytest.mark.parametrize("options", [(), ("--top-k", "1"), ("--top-p", "0.01")])
def test_the_most_likely_continuation_is_printed(capsys, options):
    assert run(*options) == 0
    assert capsys.readouterr() == (f"{SENTENCE}\n", "")


def test_sampling_has_a_seed(capsys):
    texts = []
    for seed in ("0", "0", "1", "2"):
        assert run("--temperature", "3", "--seed", seed, "--length", "9") == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


# The rules of temperature, top_k and top_p are those of the sampler.
REFUSED = [
    ({"prompt": ""}, (), "prompt must have at least one character"),
    ({"prompt": "\ud800"}, (), "must be str"),
    ({"weights": "nowhere"}, (), "there is no nowhere"),
    ({"weights": LLAMA}, (), "the model must be GPT-2"),
    ({"weights": f"{FOLDER}/merges.txt"}, (), "merges.txt must be a safetensors file"),
    ({}, ("--length", "-1"), "at least 0; got -1"),
    ({}, ("--length", "99"), "fit into 64 tokens; got "),
    ({}, ("--temperature", "0"), "above 0"),
    ({}, ("--top-k", "282"), "vocabulary, 281"),
    ({}, ("--top-p", "0"), "top_p must be above 0"),
    ({}, ("--top-k", "2", "--seed", "-1"), "seed must be"),
    ({}, ("--top-k", "2", "--seed", str(2**63)), "seed must be below"),
]


@pytest.mark.parametrize(("changes", "options", "message"), REFUSED)
def test_a_refusal_is_one_line_and_an_exit_code(capsys, changes, options, message):
    assert run(*options, **changes) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert message in error
    assert error.count("\n") == 1


def test_it_is_a_command_of_the_package():
    command = [sys.executable, "-m", "selfattn_book", "generate", "--weights", FOLDER]
    done = subprocess.run(
        [*command, "--prompt", "Is this what"], capture_output=True, text=True, encoding="utf-8"
    )
    assert (done.returncode, done.stdout) == (0, f"{SENTENCE}\n")
