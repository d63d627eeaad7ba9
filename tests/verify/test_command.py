"""The command verify, page by page: printed as it comes, kept when cut short, safe from its pages."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from bookproof.verify import reseeded

from selfattn_book.verify import main
from tests.book.pages import ROOT

ENGINE = ROOT / "_config" / "bookproof"
HOLDS = "assert float('1') < 4"


def cell(check, code):
    return f"```{{code-cell}}\n:check: {check}\n{code}\n```\n"


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Return a function that writes pages, and gives the folder of their book."""

    def book(**pages):
        folder = tmp_path / "book"
        (folder / "pages").mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (folder / "pages" / f"{name}.md").write_text(text, "utf-8")
        monkeypatch.setattr("selfattn_book.verify.book_folder", lambda: folder)
        return folder

    return book


def start(folder, *arguments):
    """Start the command on a book, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, str(ENGINE), "verify", "--docs", *map(str, [folder, *arguments])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what runs in its background with Ctrl-C ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_pages_in_and_beside_folders_are_verified_and_one_without_checks_says_so(
    book, capsys, monkeypatch
):
    folder = book(a=cell("one", HOLDS), empty="Words.\n", cells="```{code-cell}\nx = 1\n```\n")
    (folder / "index.md").write_text(cell("two", HOLDS), "utf-8")
    monkeypatch.chdir(folder.parent)  # a folder may be named from where one is
    assert main(["--docs", folder.name]) == 0
    said = capsys.readouterr().out
    assert said.count("This page has no checks.") == 2
    assert "2 checks: 2 hold, 0 differ." in said


@pytest.fixture
def waiting(book):
    """A book whose second page waits a minute in a check, and the file that says that it does."""
    wait = "import pathlib, time\npathlib.Path('begun').touch()\ntime.sleep(60)"
    folder = book(a=cell("one", HOLDS), b=cell("two", HOLDS) + cell("three", wait))
    return folder, folder / "pages" / "begun"


def patiently(file):
    """Wait until a file is there."""
    for _ in range(600):
        if file.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"{file.name} must come; it did not in a minute")


@pytest.mark.parametrize(("jobs", "printed"), [(1, ["one", "two"]), (2, ["one"])])
def test_what_has_come_is_printed_and_kept_when_interrupted(waiting, jobs, printed):
    """One page after the other, each check is printed before the next begins."""
    folder, begun = waiting
    report, record = folder / "report.json", folder / "record.json"
    options = ["--json", report, "--record", record, "--first-seed", 3]
    process = start(folder, *options, "--jobs", jobs)
    patiently(begun)
    for check in printed:
        while process.stdout.readline().split()[:2] != [check, "holds"]:
            assert process.poll() is None
    patiently(record)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Interrupted after 1 of 2 pages." in out
    assert "0 differ." in out
    assert "Traceback" not in errors
    data = json.loads(report.read_text("utf-8"))
    assert data["pages"] == {"finished": 1, "asked": 2}
    assert [r["check"] for r in data["results"]] == printed
    assert list(reseeded.read(record)) == ["a"], "a page that did not finish is not recorded"


def test_nobody_reads(waiting):
    folder, begun = waiting
    with start(folder) as process:
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == ""
    assert not begun.exists()


def test_a_page_that_ends_its_process_is_a_failure(book, capsys):
    killed = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    endings = {"exit code 3": "import os\nos._exit(3)", "exit code 0": "import os\nos._exit(0)"}
    endings["exit code -9"] = killed
    book(
        fine=cell("one", HOLDS),
        **{f"bad{n}": cell("two", e) for n, e in enumerate(endings.values())},
    )
    assert main(["--jobs", "2"]) == 1
    out = capsys.readouterr().out
    assert "1 hold, 3 differ." in out
    assert out.count("DIFFERS") == 3
    assert "[4/4] " in out
    assert [message for message in endings if message not in out] == []


def test_pages_side_by_side_say_what_they_say_in_a_row(book, tmp_path):
    """Seeds, threads and rounding are those of the command line."""
    here = (torch.arange(9).double() / 7).exp().tolist()
    book(
        a=cell("one", HOLDS) + cell("two", "assert 1 == 2"),
        b="```{code-cell}\n1 / 0\n```\n",
        c=cell(
            "three",
            "import torch\nfrom selfattn_book.experiments.seeding import shifted_seed\n"
            "assert shifted_seed(1) == 8 and torch.get_num_threads() == 2\n"
            f"assert (torch.arange(9).double() / 7).exp().tolist() != {here}",
        ),
    )
    reports = []
    for jobs in "1", "2":
        file = tmp_path / f"{jobs}.json"
        setting = ["--first-seed", "7", "--threads", "2", "--disturbed", "1"]
        assert main([*setting, "--jobs", jobs, "--json", str(file)]) == 1
        data = json.loads(file.read_text("utf-8"))
        assert data["setting"] == {"first_seed": 7, "threads": 2, "disturbed": 1}
        for result in data["results"]:
            del result["seconds"]
        reports.append(sorted(data["results"], key=lambda r: r["check"]))
    assert reports[0] == reports[1]
    assert [r["holds"] for r in reports[0]] == [True, False, True, False]


A_RECORD = "a record holds a digest and shifts a page"
NO_SEED = "must be a whole number from 0 to"
REFUSED = [
    *((["--first-seed", seed], f"got {seed!r}") for seed in ("-1", "text", "1.5", "1" * 50, "")),
    (["--first-seed", str(2**64)], NO_SEED),
    (["--json", "none/report.json"], "there is no folder"),
    (["--record", "record.json"], "give a --first-seed"),
    (["--not-in", "record.json"], "give a --first-seed"),
]


@pytest.mark.parametrize(("arguments", "why"), REFUSED)
def test_what_is_refused_before_anything_runs(tmp_path, monkeypatch, capsys, arguments, why):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["notation", *arguments])
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": {"digest": "x"}}'])
@pytest.mark.parametrize("option", ["--record", "--not-in"])
def test_what_is_no_record_is_refused_and_left_as_it_is(tmp_path, capsys, option, text):
    file = tmp_path / "record.json"
    file.write_text(text, "utf-8")
    with pytest.raises(SystemExit):
        main(["--first-seed", "1", option, str(file)])
    assert A_RECORD in capsys.readouterr().err
    assert file.read_text("utf-8") == text


def test_the_largest_first_seed_works(book):
    names = "from selfattn_book.experiments.seeding import set_seed, shifted_seed\n"
    book(a=cell("one", names + "set_seed(10**9)\nassert shifted_seed(1) == 2**31 + 1"))
    assert main(["--first-seed", str(2**31)]) == 0


def test_margins_come_the_thinnest_first(book, tmp_path, capsys):
    book(
        a=cell("wide", "assert float('1') < 4")
        + cell("thin", "assert float('3') < 4")
        + cell("none", "assert str(1) != 2")
    )
    assert main(["--margins"]) == 0
    lines = capsys.readouterr().out.split("thinnest first\n")[1].splitlines()
    thinnest = [["0.25", "a", "thin"], ["0.75", "a", "wide"], []]
    assert [line.split() for line in lines[:3]] == thinnest
    book(a=cell("one", "assert float('1') < 4\nassert float('5') < 4"))
    file = tmp_path / "report.json"
    assert main(["--json", str(file)]) == 1
    report = json.loads(file.read_text("utf-8"))
    assert report["versions"]["torch"] == torch.__version__
    (result,) = report["results"]
    assert {*result} == {"chapter", "check", "by", "holds", "seconds", "message", "margin"}
    assert result["margin"] is None, "a check that fails has none"
    assert result["message"] == "not so: float('5') < 4 (left 5.0, right 4)"


CLOSE = "import torch\ntorch.testing.assert_close({0}, {0} + 0)"


LIVE = CLOSE.format("torch.arange(2).sum()")
CANNOT_FAIL = [
    CLOSE.format("0 * torch.ones(0)"),
    "import torch\nx = torch.ones(2)\ntorch.testing.assert_close(x[0], x[0])",
    "1",
    "assert 1 < 2",
    "for x in []:\n    assert x",
]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_check_that_cannot_fail_does_not_hold(book, tmp_path, jobs):
    vacuous = {f"vacuous{n}": cell("one", code) for n, code in enumerate(CANNOT_FAIL)}
    book(live=cell("one", LIVE), **vacuous)
    file = tmp_path / "report.json"
    assert main(["--jobs", jobs, "--json", str(file)]) == 1
    results = json.loads(file.read_text("utf-8"))["results"]
    message = {result["chapter"]: result["message"] for result in results if not result["holds"]}
    assert message.keys() == vacuous.keys()
    assert all("a check that cannot fail" in said for said in message.values())


def test_what_held_is_recorded(book, tmp_path, capsys):
    folder = book(
        a=cell("holds", HOLDS) + cell("fails", "assert 1 == 2"),
        b="```{code-cell}\n1 / 0\n```\n" + cell("never", HOLDS),
        c="Words.\n",
    )
    file = tmp_path / "record.json"
    for seed, jobs in (("1000", "1"), ("20", "2")):
        main(["--first-seed", seed, "--record", str(file), "--jobs", jobs])
    came, never = {"holds": True, "fails": False}, {"never": False}
    texts = {page.stem: page.read_text("utf-8") for page in folder.glob("*/*.md")}
    digests = {name: reseeded.digest(text) for name, text in texts.items()}
    assert reseeded.read(file) == {
        "a": {"digest": digests["a"], "shifts": {"20": came, "1000": came}},
        "b": {"digest": digests["b"], "shifts": {"20": never, "1000": never}},
    }
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["record.json"]


def test_what_was_recorded_of_other_code_is_dropped(book, tmp_path, capsys):
    file = tmp_path / "record.json"
    for text, seed in ((HOLDS, "5"), (HOLDS, "6"), (HOLDS + "#", "7")):
        book(a="Words.\n" + cell("one", text))
        main(["--first-seed", seed, "--record", str(file)])
    assert reseeded.read(file)["a"]["shifts"] == {"7": {"one": True}}
    book(a="Other words.\n" + cell("one", HOLDS + "#"))
    main(["--first-seed", "8", "--record", str(file)])
    assert list(reseeded.read(file)["a"]["shifts"]) == ["7", "8"]


def test_only_what_is_not_on_record_runs_again(book, tmp_path, capsys):
    file = tmp_path / "record.json"
    pages = {"a": cell("one", HOLDS), "b": cell("two", "assert 1 == 2"), "c": "Words."}
    book(**pages)
    again = ["--first-seed", "5", "--not-in", str(file)]
    assert main([*again, "--record", str(file)]) == 1  # of an empty record
    assert "2 checks: 1 hold, 1 differ." in capsys.readouterr().out
    assert main(again) == 1
    said = capsys.readouterr().out
    assert said.startswith("On record, or without checks: 2 of 3.\n")
    assert "1 check: 0 hold, 1 differ." in said, "what failed is asked again"
    for changed, code in (("b", "assert 1 == 1"), ("a", "assert 2 == 2")):
        book(**pages | {changed: cell("three", code)})
        main(again)
        assert "three" in capsys.readouterr().out, "other code is asked again"
    book(**pages)
    main(["--first-seed", "6", "--not-in", str(file)])
    assert "2 checks: 1 hold" in capsys.readouterr().out, "and so are other seeds"


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "a.json"
    reseeded.write_json(file, [1])

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        reseeded.write_json(file, [2])
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert json.loads(file.read_text("utf-8")) == [1]


def test_without_assertions_nothing_would_be_verified():
    command = [sys.executable, "-O", "-m", "selfattn_book", "verify", "notation"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "verify must run with assertions" in done.stderr
