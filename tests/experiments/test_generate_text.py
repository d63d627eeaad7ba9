"""The command that writes: the same for the same seed, and one line for what is wrong."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from selfattn_book.experiments import generate_text, model_file
from selfattn_book.experiments.generate_text import main
from selfattn_book.generation import generate, make_sampler

COMMAND = [sys.executable, "-m", "selfattn_book", "generate"]


@pytest.fixture(autouse=True)
def keeping_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def written(capsys, *options):
    assert main(["--length", "12", *options]) == 0
    return capsys.readouterr().out


def test_the_command_writes_what_generate_gives():
    said = subprocess.run(
        [*COMMAND, "--prompt", "And God said", "--length", "80", "--seed", "5"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONUTF8": "1"},
    )
    assert (said.returncode, said.stderr) == (0, "")
    model, tokens, _ = model_file.writer()
    select = make_sampler(torch.Generator().manual_seed(5), temperature=0.8)
    torch.set_num_threads(1)
    made = generate(model, tokens.encode("And God said")[None], 80, select=select)
    assert said.stdout == tokens.decode(made[0]) + "\n"


def test_the_dials_reach_the_choice(capsys):
    prompt = ("--prompt", "And God said")
    plain = written(capsys, *prompt)
    assert plain == written(capsys, *prompt)
    assert plain != written(capsys, *prompt, "--seed", "1")
    assert plain != written(capsys, *prompt, "--temperature", "3")
    greedy = {
        written(capsys, *prompt, "--seed", seed, *dial)
        for seed in ("0", "1")
        for dial in (
            ("--top-k", "1"),
            ("--top-p", "0.000001"),
            ("--temperature", "0.0001"),
        )
    }
    assert len(greedy) == 1


def test_a_model_of_ones_own_writes_too(tmp_path, capsys):
    model, tokens, record = model_file.writer()
    model_file.write(tmp_path / "mine.safetensors", model, tokens, record)
    mine = written(capsys, "--prompt", "And", "--weights", str(tmp_path / "mine.safetensors"))
    assert mine.startswith("And")


def test_a_prompt_longer_than_the_context_is_read_from_its_end(capsys):
    long = "And it came to pass in those days. " * 30
    assert written(capsys, "--prompt", long).startswith(long)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--prompt", ""], "prompt must have at least one character; got ''"),
        (["--prompt", "Où?"], "characters of the training text; got 'ù'"),
        (["--prompt", "a", "--temperature", "0"], "temperature must be above 0"),
        (["--prompt", "a", "--temperature", "-1"], "above 0, and finite; got -1.0"),
        (["--prompt", "a", "--temperature", "nan"], "above 0, and finite; got nan"),
        (["--prompt", "a", "--top-k", "0"], "top_k must be at least 1; got 0"),
        (["--prompt", "a", "--top-k", "1025"], "the vocabulary, 1024; got 1025"),
        (["--prompt", "a", "--top-p", "0"], "top_p must be above 0 and at most 1"),
        (["--prompt", "a", "--length", "-1"], "length must be at least 0; got -1"),
        (
            ["--prompt", "a", "--seed", "-1"],
            "must be an integer from 0 to 4294967295; got -1",
        ),
        (
            ["--prompt", "a", "--weights", "README.md"],
            "must be a model that this book",
        ),
        (
            ["--prompt", "a", "--weights", "none"],
            "No such file or directory: 'none'",
        ),
        ([], "the following arguments are required: --prompt"),
        (["--prompt", "a", "--length", "two"], "invalid int value: 'two'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(capsys, options, said):
    try:
        code = main(options)
    except SystemExit as stopped:  # as argparse does
        code = stopped.code
    message = capsys.readouterr()
    assert code == 2
    assert message.out == ""
    assert said in message.err.splitlines()[-1]


def test_an_interruption_ends_the_line(monkeypatch, capsys):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(generate_text, "generate", interrupted)
    assert main(["--prompt", "And"]) == 130
    assert capsys.readouterr().out == "And\n"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_readme_shows_what_the_model_writes(dtype):
    """In both precisions: so near to a tie is no choice in it that a processor would tip it."""
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    command = r'generate --prompt "(.+)" --length (\d+) --seed (\d+)`\n\n((?:  > .+\n)+)'
    prompt, length, seed, shown = re.search(command, readme).groups()
    model, tokens, _ = model_file.writer()
    select = make_sampler(torch.Generator().manual_seed(int(seed)), temperature=0.8)
    start = tokens.encode(prompt)[None]
    made = generate(model.to(dtype), start, int(length), select=select)
    assert tokens.decode(made[0]).strip() == shown.replace("  > ", "").strip()
