"""Real processes, started by PyTorch's launcher, reproduce the recorded output.

Each of them takes seconds, so there is one for each exit; the rest is in test_data_parallel.
"""

import json

import pytest
import torch

from benchmarks.launched import TRAIN, launch
from benchmarks.provenance import as_json, with_digest
from selfattn_book.experiments import checkpoint, train_ranks
from selfattn_book.experiments.recorded_ranks import FILE, RECORDED

RUNS = RECORDED["runs"]


def assert_as_recorded(run, name):
    assert all(run[key] == RUNS[name][key] for key in ("code", "root_cause"))


def loss_in(line):
    return float(line.rpartition(" ")[2])


def test_the_record_is_unedited():
    assert with_digest(RECORDED) == RECORDED
    assert FILE.read_text("utf-8") == as_json(RECORDED)


def test_two_processes_end_where_one_does(tmp_path, capsys):
    run = launch(TRAIN, f"--checkpoint={tmp_path}/two.pt", ranks=2)
    train_ranks.main([f"--checkpoint={tmp_path}/one.pt"])
    alone = capsys.readouterr().out.strip()
    assert alone.startswith("1 rank, after 10 epochs: loss ")
    assert_as_recorded(run, "two ranks")
    for line in [
        run["said"][0],
        *(RUNS[n]["said"][0] for n in ("alone", "two ranks", "one goes on")),
    ]:
        assert loss_in(line) == pytest.approx(loss_in(alone), abs=1e-9)
    one, two = (checkpoint.load(tmp_path / f"{name}.pt") for name in ("one", "two"))
    for name, value in one["model"].items():
        torch.testing.assert_close(two["model"][name], value, rtol=0, atol=1e-8)


def test_when_a_rank_dies_all_end_and_one_resumes_the_checkpoint(tmp_path, capsys):
    file = f"--checkpoint={tmp_path}/kept.pt"
    assert_as_recorded(launch(TRAIN, file, "--leave-at=40", ranks=2), "a rank dies")
    losses = checkpoint.load(tmp_path / "kept.pt")["losses"]
    assert len(losses) == RECORDED["kept"] == 2  # of 40 steps, 16 each
    train_ranks.main([file])
    resumed = capsys.readouterr().out.strip()
    assert loss_in(resumed) == pytest.approx(loss_in(RUNS["alone"]["said"][0]), abs=1e-9)


def test_when_a_rank_hangs_the_one_that_waits_gives_up():
    run = launch(TRAIN, "--leave-at=3", "--silent", "--wait=5", ranks=2)
    assert_as_recorded(run, "a rank hangs")
    assert "Timed out waiting" in run["said"][0]


def test_shards_of_two_processes_are_those_of_one():
    run = launch("benchmarks.as_rank", ranks=2)
    assert run["code"] == 0
    for measured in (json.loads(run["said"][-1]), RECORDED["measured"]):
        whole = measured["sharded"]
        assert 2 * whole["held"] == whole["parameters"]
        assert whole["held by Adam"] == whole["parameters"]  # two numbers for each
        assert whole["gradients"] < 1e-14
        assert whole["after a step"] < 1e-12


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--walks=250", "walks must be a multiple of the batch, 16; got 250"),
        ("--checkpoint=none/kept.pt", "must be in an existing folder"),
    ],
)
def test_a_refusal_states_the_rule(option, message, refusal):
    code, err = refusal(train_ranks.main, option)
    assert code == 1
    assert err.startswith("The training failed: ")
    assert message in err
