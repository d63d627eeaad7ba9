"""The benchmark compares like with like, counts right, and says what is missed; no times here."""

import json

import pytest
import torch

from benchmarks import __main__ as bench
from benchmarks import cost, live_figures, memory, writers
from benchmarks.provenance import as_json, with_digest
from benchmarks.timing import Times, alternate, ratio
from selfattn_book.experiments import model_file
from selfattn_book.experiments.recorded_times import RECORDED


def test_contenders_take_turns_and_the_first_run_is_not_timed():
    ran = []
    contenders = {name: lambda name=name: ran.append(name) for name in "ab"}
    times = alternate(contenders, runs=3)
    assert "".join(ran) == "ab" + "ab" + "ba" + "ab"
    assert list(times) == ["a", "b"]
    for own in times.values():
        assert len(own.wall) == len(own.processor) == 3


def test_only_work_costs_processor_time(monkeypatch):
    clock = {"process_time": 0.0, "perf_counter": 0.0}
    for name in clock:
        monkeypatch.setattr(f"time.{name}", lambda name=name: clock[name])

    def work():
        clock["process_time"] += 1.0
        clock["perf_counter"] += 3.0

    assert alternate({"it": work}, runs=2) == {"it": Times([1.0, 1.0], [3.0, 3.0])}


def test_a_ratio_is_taken_run_by_run():
    # While the second run lasted, the machine was ten times as slow.
    assert ratio([1.0, 10.0, 1.1], [2.0, 20.0, 2.0]) == 0.5
    assert ratio([1.0, 2.0], [1.0, 1.0]) == 1.5
    with pytest.raises(ValueError, match="zip"):
        ratio([1.0], [1.0, 1.0])


@pytest.fixture
def two(monkeypatch):
    """A comparison of known times, with a target; how often a peak is taken is known as well."""

    def _two(at_most: float, *, threads: int = 1, linear: bool = True, slow: float = 1.0) -> None:
        times = {"slow": Times([2.0], [5.0]), "fast": Times([1.0], [4.0])}
        targets = {("fast", "slow"): at_most}
        comparison = bench.Comparison("things", dict, targets, threads)
        monkeypatch.setattr(bench, "COMPARISONS", {"things": comparison})
        monkeypatch.setattr(bench, "alternate", lambda contenders, runs: times)
        last = 400.0 if linear else 700.0
        peaks = {"fused": {1: 100.0, 2: 200.0, 4: last}}
        monkeypatch.setattr(memory, "peaks", lambda: peaks)
        monkeypatch.setattr(live_figures, "medians", lambda: {"fig-slow": slow, "fig-fast": 0.5})

    return _two


@pytest.mark.parametrize(
    ("target", "threads", "code", "said"),
    [
        (0.5, 1, 0, "fast / slow: 0.500, at most 0.50: met"),
        (0.49, 1, 1, "fast / slow: 0.500, at most 0.49: MISSED"),
        (0.8, 2, 0, "fast / slow: 0.800, at most 0.80: met"),
        (0.79, 2, 1, "fast / slow: 0.800, at most 0.79: MISSED"),
    ],
)
def test_a_missed_target_is_said_and_returned(two, tmp_path, capsys, target, threads, code, said):
    two(target, threads=threads)
    assert bench.main(["--json", str(tmp_path / "new" / "bench.json")]) == code
    out = capsys.readouterr().out
    assert said in out
    last = f"MISSED:\n  things: {said.removesuffix(': MISSED')}\n"
    assert out.endswith(last if code else "All targets are met.\n")


def test_memory_that_grows_faster_than_the_length_is_said_and_returned(two, tmp_path, capsys):
    two(0.5, linear=False)
    assert bench.main(["--json", str(tmp_path / "bench.json")]) == 1
    assert capsys.readouterr().out.endswith("MISSED:\n  memory of fused, linear in T\n")


def test_a_live_figure_above_the_bar_is_said_and_returned(two, tmp_path, capsys):
    two(0.5, slow=4.1)
    assert bench.main(["--json", str(tmp_path / "bench.json")]) == 1
    assert capsys.readouterr().out.endswith("MISSED:\n  update of fig-slow: 4.1 ms\n")


def test_what_was_measured_is_kept(two, tmp_path):
    two(0.5)
    file = tmp_path / "bench.json"
    bench.main(["--json", str(file), "--runs", "1"])
    kept = json.loads(file.read_text("utf-8"))
    assert kept["runs"] == 1
    assert kept["versions"]["torch"] == torch.__version__
    assert kept["peaks"]["fused"]["4"] == 400.0
    assert kept["updates"] == {"fig-slow": 1.0, "fig-fast": 0.5}
    times = {"slow": (1.0, [2.0], [5.0]), "fast": (0.5, [1.0], [4.0])}
    names = "contender", "ratio", "processor", "wall"
    assert kept["comparisons"]["things"] == {
        "title": "things",
        "threads": 1,
        "clock": "processor",
        "contenders": [dict(zip(names, (n, *own), strict=True)) for n, own in times.items()],
        "targets": [
            {"contender": "fast", "other": "slow", "at_most": 0.5, "ratio": 0.5, "met": True}
        ],
    }


@pytest.mark.parametrize("name", bench.COMPARISONS)
def test_every_target_is_of_two_contenders(name):
    comparison = bench.COMPARISONS[name]
    contenders = comparison.contenders()  # which assert that they agree
    for pair in comparison.targets:
        assert set(pair) <= set(contenders)


def test_a_process_tells_its_peak():
    ways = ("layer, no weights", "layer, with weights")
    without, with_weights = (memory.of_process(way, 1024) for way in ways)
    assert with_weights - without > memory.HEADS * 1024**2 * 4 / 2**20  # MiB, one map a head


def test_the_recorded_times_are_complete_and_as_they_were_written():
    assert "cpu" in RECORDED
    for device, run in RECORDED.items():
        assert with_digest(run) == run
        assert run["device"] == device
        for kind in ("layers", "tokens"):
            for own in run[kind].values():
                assert list(own) == [str(length) for length in cost.LENGTHS]
                assert {len(times) for times in own.values()} == {run["runs"]}
    assert cost.FILE.read_text("utf-8") == as_json(RECORDED)


def test_the_recorded_writers_are_of_three_seeds_and_as_they_were_written():
    written = writers.FILE.read_text("utf-8")
    recorded = json.loads(written)
    assert with_digest(recorded) == recorded
    assert written == as_json(recorded)
    for kind in ("characters", "BPE tokens", "large"):
        assert [run["seed"] for run in recorded[kind]] == [0, 1, 2]


def test_the_model_of_the_book_is_the_first_writer_recorded():
    first = json.loads(writers.FILE.read_text("utf-8"))["large"][0]
    model, tokens, _ = model_file.load_bundled_model()
    losses = writers.losses(model, tokens)
    for name in ("held out", "Jonah"):
        assert losses[name] == pytest.approx(first[name], abs=0.002)
    for found, head in zip(writers.near(model, tokens), first["near"], strict=True):
        assert found == pytest.approx(head, abs=0.01)


def test_one_device_is_recorded_beside_the_other(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(cost, "record", lambda device, runs: {"runs": [runs]})
    file = tmp_path / "times.json"
    cost.main(["--device", "cuda", "--runs", "5", "--file", str(file)])
    assert json.loads(file.read_text("utf-8")) == {**RECORDED, "cuda": {"runs": [5]}}


def test_without_a_gpu_nothing_is_recorded(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    file = tmp_path / "times.json"
    with pytest.raises(SystemExit):
        cost.main(["--device", "cuda", "--file", str(file)])
    assert "there is no GPU that PyTorch can use" in capsys.readouterr().err
    assert not file.exists()


def test_a_short_recording_has_all_ways(monkeypatch, capsys):
    monkeypatch.setattr(memory, "peaks", lambda lengths: {"fused": {8: 1.0}})
    run = cost.record("cpu", 2, (8,))
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert len(run["layers"]) == 5
    assert all(len(own["8"]) == 2 for own in run["layers"].values())
    assert with_digest(run) == run
    assert with_digest({**run, "runs": 3})["digest"] != run["digest"]
