"""Distributed training: the same numbers on any number of ranks, and checkpoints that are whole.

Ranks are processes, which PyTorch's launcher starts; each start takes seconds.
"""

import errno
import math
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch.distributed import HashStore
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

from selfattn_book.experiments import model_file, train_distributed
from selfattn_book.experiments.text import next_token_loss
from tests.experiments import small_training as rank

RUN = ["--steps=8", "--every=2"]
FOLDER = "must be a folder, or a new one in a folder"


@pytest.fixture(autouse=True)
def smaller(monkeypatch, tmp_path):
    torch.set_default_dtype(torch.float64)
    for module, name, value in rank.SMALLER:
        monkeypatch.setattr(module, name, value)
    monkeypatch.chdir(tmp_path)
    yield
    torch.set_default_dtype(torch.float32)


def launch(*options, restarts=0):
    """Run two ranks as processes to their end, and return the exit code and all that they write."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node=2", f"--max-restarts={restarts}", rank.__file__, *options]
    root = str(Path(train_distributed.__file__).parents[2])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": root}
    environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"  # or a restart may hang
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def refused(refusal):
    return lambda *options: refusal(train_distributed.main, *RUN, *options)


def state(folder, step=8):
    """Return the parameters in a checkpoint, and each kind of the optimizer's numbers."""
    dcp_to_torch_save(Path(folder, f"step-{step:08}"), "whole.pt")
    content = torch.load("whole.pt")
    kept = content["optimizer"]["state"]
    kinds = "step", "exp_avg", "exp_avg_sq"
    return content["model"], *({name: own[kind] for name, own in kept.items()} for kind in kinds)


def assert_same(ours, theirs, within):
    """Compare tensors by name, relative to the largest number in all of them."""
    assert ours.keys() == theirs.keys()
    largest = max(value.abs().max().item() for value in theirs.values())
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, rtol=0, atol=within * largest)


def assert_same_states(ours, theirs):
    for own, other in zip(ours, theirs, strict=True):
        assert_same(own, other, within=1e-10)


@pytest.fixture
def alone(tmp_path):
    """The state after a run that one process has not interrupted."""
    train_distributed.main([*RUN, "--checkpoints=alone", "--model=alone.safetensors"])
    return state("alone")


def stop_after(step, monkeypatch):
    save = train_distributed.save

    def stopping(folder, done, *rest):
        save(folder, done, *rest)
        if done == step:
            raise KeyboardInterrupt

    monkeypatch.setattr(train_distributed, "save", stopping)


def assert_the_gradient_is_that_of_one(two):
    model = rank.new_model(dropout=False)
    next_token_loss(model(rank.windows()[:, :-1]), rank.windows()[:, 1:]).backward()
    whole = {name: p.grad for name, p in model.named_parameters()}
    whole["unembedding.weight"] = whole["embedding.weight"]  # tied
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    one = rank.gradients()
    dist.destroy_process_group()
    for kind, size in product(rank.KINDS, rank.MICRO):
        for found in (one, two):
            assert_same(found[kind, size, False], whole, within=1e-13)
        assert_same(two[kind, size, True], one["ddp", size, True], within=1e-13)
    dropped = one["ddp", 1, True]["embedding.weight"] - one["ddp", 4, True]["embedding.weight"]
    assert dropped.norm() > 0.01 * whole["embedding.weight"].norm()


def test_two_ranks_have_the_gradient_of_one_and_resume_its_training(alone, monkeypatch, refused):
    with monkeypatch.context() as patch:
        stop_after(4, patch)
        code, err = refused()
    assert (code, "Rank 0: training was interrupted" in err) == (130, True)
    assert err.endswith("Last checkpoint: checkpoints/step-00000004\n")
    Path("checkpoints/incomplete").mkdir()
    Path("checkpoints/incomplete/__9_0.distcp").write_bytes(b"half")
    code, out = launch("gradients", "two.pt", *RUN, "--parallel=fsdp", "--model=two.safetensors")
    assert (code, out.splitlines()[0].split(":")[0]) == (0, "fsdp x 2, step 6")
    assert_the_gradient_is_that_of_one(torch.load("two.pt"))
    assert_same_states(state("checkpoints"), alone)
    assert {p.name for p in Path("checkpoints").iterdir()} == {"step-00000006", "step-00000008"}
    assert not list(Path("checkpoints").glob("*/__9_0.distcp"))
    found = [model_file.read(f"{name}.safetensors") for name in ("two", "alone")]
    assert found[0][2] == pytest.approx(found[1][2])
    ours, theirs = (dict(model.state_dict()) for model, *_ in found)
    assert_same(ours, theirs, within=1e-6)  # both are quantized, the scales in float32


def test_when_a_rank_is_killed_all_end_and_the_last_checkpoint_is_whole(alone):
    code, said = launch("killed", *RUN)
    assert code == 1
    assert "Signal 9 (SIGKILL) received by PID" in said
    assert "Rank 0: training failed: " in said
    assert "Last checkpoint: checkpoints/step-00000004\n" in said
    names = {path.name for path in Path("checkpoints").iterdir()}
    assert names - {"incomplete"} == {"step-00000002", "step-00000004"}
    train_distributed.main(RUN)
    assert_same_states(state("checkpoints"), alone)


def test_the_launcher_restarts_ranks_and_they_resume(alone):
    code, said = launch("killed", *RUN, "--parallel=fsdp", restarts=1)
    assert code == 0, said
    assert "Signal 9" not in said  # the launcher reports only what it does not restart
    assert said.count("step 4") == said.count("step 8") == 1
    assert_same_states(state("checkpoints"), alone)


@pytest.mark.parametrize(
    ("option", "code", "message"),
    [
        ("--micro-batch=3", 1, "micro-batch times ranks must divide the batch, 16; got 3 times 1"),
        ("--every=0", 2, "--every: must be an integer of at least 1; got 0"),
        ("--parallel=tensor", 2, "invalid choice: 'tensor'"),
        ("--checkpoints=a-file", 2, f"--checkpoints: {FOLDER}; got a-file"),
        ("--checkpoints=none/x", 2, f"--checkpoints: {FOLDER}; got none/x"),
        ("--model=none/x", 2, "--model: must be in an existing folder; got none/x"),
    ],
)
def test_a_wrong_option_is_refused_and_nothing_written(option, code, message, refused):
    Path("a-file").touch()
    found, err = refused(option)
    assert (found, message in err) == (code, True), err
    assert [path.name for path in Path().iterdir()] == ["a-file"]


def test_another_or_a_damaged_checkpoint_is_refused_and_kept(refused):
    train_distributed.main(["--steps=2", "--every=1"])
    last = Path("checkpoints/step-00000002")
    for option, message in (
        ("--seed=1", "'seed: 1'; got one with 'seed: 0'"),
        ("--bf16", "'bf16: True'"),
    ):
        code, err = refused("--steps=2", option)
        assert (code, message in err) == (1, True), err
    torch.set_default_dtype(torch.float32)
    assert "torch.float32'; got one" in refused("--steps=2")[1]
    torch.set_default_dtype(torch.float64)
    shard = last / "__0_0.distcp"
    shard.write_bytes(shard.read_bytes()[:5000])
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    code, err = refused("--steps=2")
    assert code == 1
    assert f"{last} must be a whole checkpoint; got " in err
    assert "Delete it, to resume from the one before." in err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(("where", "what"), [(os, "fsync"), (Path, "rename")])
def test_a_full_disk_is_reported_and_the_last_checkpoint_kept(where, what, refused, monkeypatch):
    stop_after(2, monkeypatch)
    assert refused()[0] == 130
    before = getattr(where, what)

    def full(name, *rest):
        if what == "fsync" or name.name == "incomplete":  # PyTorch renames files in it
            raise OSError(errno.ENOSPC, "No space left on device")
        return before(name, *rest)

    monkeypatch.setattr(where, what, full)
    code, err = refused()
    assert (code, "No space left on device" in err) == (1, True), err
    assert err.endswith("Last checkpoint: checkpoints/step-00000002\n")


def test_a_loss_that_is_not_finite_is_not_kept(refused, monkeypatch):
    monkeypatch.setattr(train_distributed, "LR", 1e30)
    code, err = refused()
    assert (code, "must be finite" in err) == (1, True), err
    assert not list(Path().glob("checkpoints/step-00000004"))


def test_bfloat16_changes_the_loss_a_little(capsys):
    torch.set_default_dtype(torch.float32)
    losses = []
    for options in ([], ["--bf16"]):
        train_distributed.main(["--steps=2", f"--checkpoints={len(losses)}", *options])
        losses.append(float(capsys.readouterr().out.split()[-1]))
    assert 0 < abs(losses[1] - losses[0]) < 0.01 < math.log(rank.VOCABULARY) - 1 < losses[0]
