"""The benchmark compares like with like, counts right, and says what is missed; no times here."""

import json

import pytest
import torch

from benchmarks import __main__ as bench
from benchmarks.one_module_per_head import OneModulePerHead, with_weights_of
from benchmarks.timing import Times, alternate, ratio, spread
from selfattn_book.encoder_decoder import EncoderDecoder


@pytest.mark.parametrize(
    "sizes",
    [
        {"d_model": 2, "num_heads": 3, "d_ff": 10, "d_input": 2},
        {"d_model": 5, "num_heads": 2, "d_ff": 7, "d_input": 3},
    ],
)
def test_the_yardstick_computes_what_the_book_computes(seeded, draw, sizes):
    with seeded(0):
        model = EncoderDecoder(**sizes).double()
    yardstick = with_weights_of(model)
    source, target = draw(11, 4, sizes["d_input"]), draw(11, 6, sizes["d_input"])
    expected = model(source, target)
    torch.testing.assert_close(yardstick(source, target), expected)
    counts = [
        sum(p.numel() for p in m.parameters())
        for m in (model, yardstick, OneModulePerHead(**sizes))
    ]
    assert counts[0] == counts[1] == counts[2]


def test_contenders_take_turns_and_the_first_run_is_not_timed():
    ran = []
    contenders = {name: lambda name=name: ran.append(name) for name in "ab"}
    times = alternate(contenders, runs=3)
    assert "".join(ran) == "ab" + "ab" + "ba" + "ab"
    assert list(times) == ["a", "b"]
    for own in times.values():
        assert len(own.wall) == len(own.processor) == 3


def test_only_work_costs_processor_time(monkeypatch):
    clock = {"processor": 0.0, "wall": 0.0}
    monkeypatch.setattr("time.process_time", lambda: clock["processor"])
    monkeypatch.setattr("time.perf_counter", lambda: clock["wall"])

    def work():
        clock["processor"] += 1.0
        clock["wall"] += 3.0

    assert alternate({"it": work}, runs=2) == {"it": Times([1.0, 1.0], [3.0, 3.0])}


def test_a_ratio_is_taken_run_by_run():
    # While the second run lasted, the machine was ten times as slow.
    assert ratio([1.0, 10.0, 1.1], [2.0, 20.0, 2.0]) == 0.5
    assert ratio([1.0, 2.0], [1.0, 1.0]) == 1.5
    with pytest.raises(ValueError, match="zip"):
        ratio([1.0], [1.0, 1.0])


def test_the_spread_is_least_median_and_most():
    assert spread([3.0, 9.0, 1.0]) == (1.0, 3.0, 9.0)


@pytest.fixture
def two(monkeypatch):
    """A comparison of known times, with a target."""

    def _two(target: float) -> None:
        times = {"slow": Times([2.0], [5.0]), "fast": Times([1.0], [4.0])}
        comparison = bench.Comparison("things", lambda: {}, {"fast": target})
        monkeypatch.setattr(bench, "COMPARISONS", {"things": comparison})
        monkeypatch.setattr(bench, "alternate", lambda contenders, runs: times)

    threads = torch.get_num_threads()
    yield _two
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("target", "code", "said"), [(0.5, 0, ": met"), (0.49, 1, ": MISSED")]
)
def test_a_missed_target_is_said_and_returned(
    two, tmp_path, capsys, target, code, said
):
    two(target)
    assert bench.main(["--json", str(tmp_path / "new" / "bench.json")]) == code
    printed = capsys.readouterr().out
    assert said in printed
    assert "0.500" in printed


def test_what_was_measured_is_kept(two, tmp_path):
    two(0.5)
    file = tmp_path / "bench.json"
    bench.main(["--json", str(file), "--runs", "1"])
    kept = json.loads(file.read_text("utf-8"))
    assert kept["runs"] == kept["threads"] == 1
    assert kept["versions"]["torch"] == torch.__version__
    slow, fast = kept["comparisons"]["things"]
    assert slow["met"] is None
    assert fast == {
        "contender": "fast",
        "ratio": 0.5,
        "target": 0.5,
        "met": True,
        "processor": [1.0],
        "wall": [4.0],
    }


def test_every_target_is_of_a_contender():
    for comparison in bench.COMPARISONS.values():
        assert set(comparison.targets) < set(comparison.contenders())
