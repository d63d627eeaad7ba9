"""The command that writes with a downloaded model: what is printed, and one line when it cannot be."""

import subprocess
import sys

import pytest

from selfattn_book.experiments.tiny_models import tiny_model
from selfattn_book.pretrained.command import main

SENTENCE = "Is this what real models do? Yes, number for number."
FOLDER = str(tiny_model("tiny-gpt2"))
LLAMA = str(tiny_model("tiny-llama"))


def written(*options, prompt="Is this what"):
    return main(["--weights", FOLDER, "--prompt", prompt, *options])


def test_the_likeliest_continuation_is_printed(capsys):
    assert written() == 0
    assert capsys.readouterr() == (f"{SENTENCE}\n", "")


def test_chance_has_a_seed(capsys):
    texts = []
    for seed in ("0", "0", "1", "2"):
        assert written("--temperature", "3", "--seed", seed, "--length", "9") == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1
    assert written("--top-k", "1") == 0
    assert capsys.readouterr().out == f"{SENTENCE}\n"
    assert written("--top-p", "0.01") == 0
    assert capsys.readouterr().out == f"{SENTENCE}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--weights", FOLDER, "--prompt", ""],
            "prompt must have at least one letter",
        ),
        (["--weights", "nowhere", "--prompt", "a"], "there is no nowhere"),
        (["--weights", LLAMA, "--prompt", "a"], "the tokens must be GPT-2's"),
        (
            ["--weights", f"{FOLDER}/merges.txt", "--prompt", "a"],
            "file of safetensors",
        ),
        (
            ["--weights", FOLDER, "--prompt", "a", "--length", "-1"],
            "at least 0; got -1",
        ),
        (
            ["--weights", FOLDER, "--prompt", "a", "--length", "99"],
            "fit into 64 tokens",
        ),
        (["--weights", FOLDER, "--prompt", "a", "--temperature", "0"], "above 0"),
        (["--weights", FOLDER, "--prompt", "a", "--temperature", "nan"], "above 0"),
        (
            ["--weights", FOLDER, "--prompt", "a", "--top-k", "0"],
            "top_k must be at least",
        ),
        (
            ["--weights", FOLDER, "--prompt", "a", "--top-k", "282"],
            "vocabulary, 281",
        ),
        (
            ["--weights", FOLDER, "--prompt", "a", "--top-p", "0"],
            "top_p must be above 0",
        ),
        (
            ["--weights", FOLDER, "--prompt", "a", "--top-k", "2", "--seed", "-1"],
            "seed must be",
        ),
        (
            [
                "--weights",
                FOLDER,
                "--prompt",
                "a",
                "--top-k",
                "2",
                "--seed",
                str(2**63),
            ],
            "seed must be below",
        ),
    ],
)
def test_what_is_wrong_is_one_line_and_the_exit_code_says_so(
    capsys, arguments, told
):
    assert main(arguments) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert told in error
    assert error.count("\n") == 1


def test_it_is_one_of_the_doors():
    door = [sys.executable, "-m", "selfattn_book"]
    command = [*door, "generate", "--weights", FOLDER, "--prompt", "Is this what"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (0, f"{SENTENCE}\n")
