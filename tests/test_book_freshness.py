"""The canaries: a small book is built, harmed and built again, and must notice."""

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from tests.book.pages import ROOT

EXTENSIONS = ROOT / "_config" / "extensions"
ALL = {"data", "number", "word"}


@dataclass
class Built:
    """What came of a build: whether it was good, what it said, which chapters ran."""

    good: bool
    said: str

    @property
    def ran(self) -> set[str]:
        return set(re.findall(r"^  docs/(\w+)\.md  ", self.said, re.MULTILINE))


class Book:
    """A copy of the small book."""

    def __init__(self, root: Path):
        self.root = root
        self.kept = root / "_build" / ".jupyter_cache"

    def start(self, *options: str, **environment: str) -> subprocess.Popen[str]:
        command = "-m sphinx -q -W -c config -d _build/doctrees docs _build/html"
        paths = os.pathsep.join(map(str, [self.root, EXTENSIONS, ROOT]))
        return subprocess.Popen(
            [sys.executable, *command.split(), *options],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": paths, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def build(self, *options: str, **environment: str) -> Built:
        process = self.start(*options, **environment)
        said, _ = process.communicate(timeout=120)
        print(said)
        return Built(process.returncode == 0, said)

    def edit(self, name: str, old: str, new: str) -> None:
        file = self.root / name
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new), "utf-8")

    def page(self, name: str) -> str:
        html = (self.root / "_build" / "html" / f"{name}.html").read_text("utf-8")
        return re.sub(r"<[^>]*>", "", html)

    def results(self) -> list[Path]:
        return sorted(self.kept.glob("executed/*/base.ipynb"))


@pytest.fixture
def book(tmp_path):
    """A small book that has not been built yet."""
    shutil.copytree(Path(__file__).with_name("small_book"), tmp_path / "book")
    return Book(tmp_path / "book")


@pytest.fixture
def built(book):
    """A small book that has been built."""
    assert book.build().good
    return book


def test_only_what_has_changed_runs(book):
    first = book.build()
    assert first.good
    assert first.ran == ALL
    assert "word The answer is 42." in book.page("word")

    assert book.build().said == "No chapter has to run.\n"

    book.edit("docs/number.md", "one module", "a single module")
    assert book.build().ran == set()
    assert "a single module" in book.page("number")

    book.edit("docs/number.md", '"number"', '"another number"')
    assert book.build().ran == {"number"}
    assert "another number 42" in book.page("number")

    book.edit("tiny/words.py", "The answer is", "It is")
    assert book.build().ran == {"word"}
    assert "word It is 42." in book.page("word")

    book.edit("docs/data.txt", "some", "more")
    assert book.build().ran == {"data"}
    assert "data more data" in book.page("data")


def test_a_module_runs_all_chapters_that_reach_it_and_its_return_none(built):
    built.edit("tiny/numbers.py", "42", "43")
    assert built.build().ran == {"number", "word"}
    assert "number 43" in built.page("number")
    assert "word The answer is 43." in built.page("word")

    built.edit("tiny/numbers.py", "43", "42")
    assert built.build().ran == set()
    assert "number 42" in built.page("number")
    assert "word The answer is 42." in built.page("word")


def test_another_library_runs_everything(built):
    library = built.root / "pinned-1.0.dist-info"
    library.mkdir()
    built.edit("config/conf.py", '["ipykernel"]', '["ipykernel", "pinned"]')
    for number in ("1", "2"):
        text = f"Metadata-Version: 2.1\nName: pinned\nVersion: {number}\n"
        (library / "METADATA").write_text(text, "utf-8")
        assert built.build().ran == ALL
    assert built.build().ran == set()


def test_fresh_uses_nothing_that_was_kept(built):
    assert built.build("-Dfreshness_anew=1").ran == ALL


def test_fresh_empties_no_folder_that_is_not_a_site(book):
    mine = book.root / "_build" / "html" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("keep me", "utf-8")
    refused = book.build("-Dfreshness_anew=1")
    assert not refused.good
    assert "holds something else than a site" in refused.said
    assert mine.read_text("utf-8") == "keep me"


def test_changed_pins_read_every_page_again(built):
    read = built.root / "_build" / "doctrees" / "number.doctree"
    for pins in ("old", "new"):
        before = read.stat().st_mtime_ns
        (built.root / "config" / "constraints.txt").write_text(pins, "utf-8")
        assert built.build().ran == set()
        assert read.stat().st_mtime_ns > before
    before = read.stat().st_mtime_ns
    assert built.build().ran == set()
    assert read.stat().st_mtime_ns == before


def test_a_kernel_that_is_not_there_is_named_with_its_chapter(book):
    book.edit("docs/number.md", "name: python3", "name: cobol")
    missing = book.build()
    assert not missing.good
    assert "docs/number.md: the kernel failed" in missing.said
    assert "cobol" in missing.said
    assert missing.ran == ALL


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        pytest.param("1 / 0", "ZeroDivisionError: division by zero", id="error"),
        pytest.param("import os; os._exit(0)", "Kernel died", id="exit"),
        pytest.param("raise SystemExit", "SystemExit", id="asked to end"),
        pytest.param(
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            "Kernel died",
            id="killed",
        ),
        pytest.param("import time; time.sleep(99)", "timed out", id="timeout"),
        pytest.param(":tags: [skip-execution]\n1", "not executed", id="skipped"),
        pytest.param(
            ":tags: [raises-exception]\nassert 1 == 2", "assert 1 == 2", id="tagged"
        ),
    ],
)
def test_a_failing_cell_fails_the_build_each_time(book, cell, says):
    book.edit("docs/number.md", 'print("number", answer())', cell)
    first = book.build("-Dnb_execution_timeout=5")
    assert not first.good
    assert first.ran == ALL
    assert "docs/number.md:16: cell 2 of 2" in first.said
    assert says in first.said
    assert not (book.root / "_build/html/number.html").exists()

    again = book.build("-Dnb_execution_timeout=5")
    assert not again.good
    assert again.ran == {"number"}, "the others have been kept"
    assert "docs/number.md:16: cell 2 of 2" in again.said

    book.edit("docs/number.md", cell, 'print("number", answer())')
    mended = book.build()
    assert mended.good
    assert mended.ran == {"number"}


def test_a_module_that_is_no_python_fails_the_build_each_time(built):
    built.edit("tiny/numbers.py", "return 42", "return )")
    for _ in range(2):
        broken = built.build()
        assert not broken.good
        assert broken.ran == {"number", "word"}
        assert "docs/number.md:12: cell 1 of 2" in broken.said
        assert "docs/word.md:12: cell 1 of 2" in broken.said
        assert "tiny/numbers.py" in broken.said
        assert "SyntaxError" in broken.said


def test_a_page_with_cells_that_were_not_executed_fails_the_build(book):
    book.edit(
        "docs/number.md",
        "kernelspec",
        "mystnb: {execution_mode: 'off'}\nkernelspec",
    )
    for _ in range(2):
        unexecuted = book.build()
        assert not unexecuted.good
        assert "docs/number.md:14: this cell was not executed" in unexecuted.said


def test_a_warning_fails_the_build_each_time(book):
    book.edit("docs/number.md", "See also", "See [](nothing.md) and")
    for _ in range(2):
        warned = book.build()
        assert not warned.good
        assert "nothing.md" in warned.said


def test_a_half_written_result_is_made_again(built):
    lost, cut, damaged = built.results()
    lost.unlink()
    cut.write_text(cut.read_text("utf-8")[:-99], "utf-8")
    text = damaged.read_text("utf-8")
    damaged.write_text(
        re.sub(r'"execution_count": 2', '"execution_count": null', text)
    )
    shutil.rmtree(built.root / "_build" / "doctrees")
    mended = built.build()
    assert mended.good
    assert mended.ran == ALL
    assert "number 42" in built.page("number")


@pytest.mark.parametrize("content", [b"", b"no database" * 999])
def test_a_damaged_database_is_made_again(built, content):
    (built.kept / "global.db").write_bytes(content)
    built.edit("docs/number.md", "one module", "a single module")
    mended = built.build()
    assert mended.good
    assert "damaged" in mended.said
    assert mended.ran == {"number"}


def test_results_that_cannot_be_written_fail_the_build(book):
    book.kept.mkdir(parents=True)
    (book.kept / "executed").write_text("where a folder has to be", "utf-8")
    for _ in range(2):
        full = book.build()
        assert not full.good
        assert "docs/number.md: its results cannot be kept" in full.said
    (book.kept / "executed").unlink()
    mended = book.build()
    assert mended.good
    assert mended.ran == ALL


def test_one_build_waits_for_the_other(book):
    (book.root / "_build").mkdir()
    with FileLock(book.root / "_build" / ".jupyter_cache.lock"):
        process = book.start()
        assert process.stdout
        assert "Another build is at work" in process.stdout.readline()
    process.communicate(timeout=120)
    assert process.returncode == 0


def test_after_a_build_that_was_stopped_all_pages_are_made_again(built):
    (built.root / "_build" / "doctrees" / "unfinished").touch()
    (built.root / "_build" / "html" / "number.html").write_text("half", "utf-8")
    assert built.build().ran == set()
    assert "number 42" in built.page("number")
    assert built.build().said == "No chapter has to run.\n"


def test_a_title_changes_on_every_page_that_shows_it(built):
    built.edit("docs/word.md", "# A word", "# Another word")
    assert built.build().ran == set()
    assert "See also Another word" in built.page("number")


def test_a_data_file_that_is_not_there_fails_the_build(book):
    book.edit("docs/data.md", "[data.txt]", "[data.csv]")
    missing = book.build()
    assert not missing.good
    assert "data.csv, which is not there" in missing.said


def test_a_module_that_is_edited_while_its_chapter_runs_fails_the_build(book):
    module = book.root / "tiny" / "numbers.py"
    before = module.read_text("utf-8")
    edit = f"if 'EDIT' in os.environ: open({str(module)!r}, 'w').close()"
    editor = book.root / "tiny" / "editor.py"
    editor.write_text(f"import os\nimport tiny.numbers\n{edit}\n", "utf-8")
    book.edit("docs/data.md", "from pathlib", "import tiny.editor\nfrom pathlib")
    changed = book.build(EDIT="now")
    assert not changed.good
    assert "docs/data.md or what it reaches was changed" in changed.said

    module.write_text(before, "utf-8")
    again = book.build()
    assert again.good
    assert "data" in again.ran, "what ran on a mixture was not kept"


def test_kernels_end_with_a_build_that_is_killed(book):
    pid = book.root / "docs" / "pid"
    write = "import os\nimport time\nopen('pid', 'w').write(str(os.getpid()))"
    (book.root / "tiny" / "writer.py").write_text(f"{write}\ntime.sleep(99)\n")
    book.edit("docs/data.md", 'print("data"', 'import tiny.writer\nprint("data"')
    with book.start() as process:
        wait_until(lambda: pid.exists() and pid.read_text())
        process.kill()
    kernel = int(pid.read_text())
    wait_until(lambda: not is_running(kernel))


OLD = 10**9  # seconds since 1970; long before any build


def age(*files):
    """Give files a time before that of the last build."""
    for file in files:
        os.utime(file, (OLD, OLD))


def test_contents_decide_and_not_the_times_of_files(built):
    page, before = built.root / "docs" / "number.md", built.root / "before.md"
    shutil.copy(page, before)
    built.edit("docs/number.md", 'print("number"', 'assert 1 == 2\nprint("number"')
    age(page)
    for _ in range(2):
        planted = built.build()
        assert not planted.good
        assert "docs/number.md:16: cell 2 of 2 failed" in planted.said
        assert planted.ran == {"number"}

    age(before)
    before.rename(page)
    assert built.build().said == "No chapter has to run.\n"
    assert "number 42" in built.page("number")

    tree = built.root / "_build" / "doctrees" / "number.doctree"
    read = tree.stat().st_mtime_ns
    for file in (built.root / "docs").iterdir():
        file.touch()
    assert built.build().said == "No chapter has to run.\n"
    assert tree.stat().st_mtime_ns == read, "not even read"


def test_what_a_page_shows_is_known_by_its_contents(book):
    shown = "\n\n```{include} part.txt\n```\n\n```{literalinclude} code.py\n```\n"
    shown += "\n```{listing} tiny.words.answer\n```\n![](dot.svg)\n"
    dot = '<svg xmlns="http://www.w3.org/2000/svg" width="{}pt"/>'
    contents = {"part.txt": "one part", "code.py": "one = 1", "dot.svg": dot}
    for name, text in contents.items():
        (book.root / "docs" / name).write_text(text.replace("{}", "1"), "utf-8")
    book.edit("config/conf.py", '"freshness"]', '"freshness", "listing"]')
    book.edit("docs/number.md", "[](word.md).", f"[](word.md).{shown}")
    assert book.build().good

    for name, text in contents.items():
        file = book.root / "docs" / name
        file.write_text(text.replace("one", "two").replace("{}", "2"), "utf-8")
        age(file)
    other = book.root / "tiny" / "other.py"
    other.write_text("def answer():\n    return 6 * 7\n", "utf-8")
    book.edit("tiny/words.py", ".numbers", ".other")
    age(other, book.root / "tiny" / "words.py")
    assert book.build().ran == {"word"}
    page = book.page("number")
    assert "two part" in page
    assert "two = 1" in page
    assert "return 6 * 7" in page
    copied = (book.root / "_build" / "html" / "_images" / "dot.svg").read_text()
    assert copied == dot.replace("{}", "2")


def test_a_module_of_the_same_size_and_time_is_another_module(book):
    module = book.root / "tiny" / "numbers.py"
    then = module.stat()
    writing = {"PYTHONDONTWRITEBYTECODE": ""}  # so that there is compiled code
    assert book.build(**writing).good
    book.edit("tiny/numbers.py", "42", "43")
    os.utime(module, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert book.build(**writing).ran == {"number", "word"}
    assert "number 43" in book.page("number")


def test_a_module_that_is_loaded_behind_the_back_of_the_key_is_named(book):
    load = '__import__("importlib").import_module("tiny.num" + "bers")'
    (book.root / "tiny" / "loader.py").write_text(f"{load}\n", "utf-8")
    book.edit("docs/data.md", "from pathlib", "import tiny.loader\nfrom pathlib")
    hidden = book.build()
    assert not hidden.good
    assert (
        "docs/data.md: tiny/numbers.py must be imported by an import" in hidden.said
    )
    assert "Traceback" not in hidden.said


def test_a_page_of_the_site_that_is_not_as_it_was_written_is_written_again(built):
    page = built.root / "_build" / "html" / "number.html"
    page.write_text(page.read_text("utf-8").replace("42", "41"), "utf-8")
    assert built.build().said == "No chapter has to run.\n"
    assert "number 42" in built.page("number")


def test_a_removed_page_leaves_the_site(built):
    (built.root / "docs" / "word.md").unlink()
    built.edit("docs/index.md", "word\n", "")
    built.edit("docs/number.md", " See also [](word.md).", "")
    assert built.build().good
    build = built.root / "_build"
    assert not (build / "html" / "word.html").exists()
    assert not (build / "doctrees" / "word.doctree").exists()
    assert (build / "html" / "number.html").exists()
    assert (build / "html" / "genindex.html").exists()
    index = (build / "html" / "searchindex.js").read_text("utf-8")
    assert "A number" in index
    assert "A word" not in index


def test_a_page_may_give_up_a_data_file(built):
    (built.root / "docs" / "data.txt").unlink()
    built.edit("docs/data.md", "data_files: [data.txt]\n", "")
    built.edit("docs/data.md", 'Path("data.txt").read_text()', "1")
    assert built.build().ran == {"data"}


# An arithmetic that these tests do not run under.
OTHER = "avx2" if os.environ.get("ATEN_CPU_CAPABILITY") == "default" else "default"


@pytest.mark.parametrize(
    "variable",
    [{"PYTHONOPTIMIZE": "1"}, {"ATEN_CPU_CAPABILITY": OTHER}],
    ids=lambda variable: next(iter(variable)),
)
def test_what_decides_how_cells_compute_is_in_the_key(built, variable):
    """Without assertions nothing fails; and other arithmetic gives other results."""
    built.edit(
        "docs/number.md", 'print("number"', 'assert answer() == 41\nprint("x"'
    )
    failed = built.build(**variable)
    assert not failed.good
    assert "assert answer() == 41" in failed.said
    assert failed.ran == (ALL if "ATEN_CPU_CAPABILITY" in variable else {"number"})


def test_a_module_beside_the_page_is_none(book):
    (book.root / "docs" / "tiny.py").write_text("number = 1 / 0", "utf-8")
    start_up = book.root / "home" / "profile_default" / "startup"
    start_up.mkdir(parents=True)
    (start_up / "first.py").write_text("print = None", "utf-8")
    assert book.build(IPYTHONDIR=str(book.root / "home")).good
    assert "number 42" in book.page("number")


REFUSED = [
    ("import os\nprint(os.environ['HOME'])", 1, "os.environ is refused: an env"),
    (
        "from importlib import import_module",
        0,
        "importlib.import_module is refused",
    ),
    ("print(open('data.txt').read())", 0, "open(...) must name a file of data_f"),
    ("%%capture\nassert False", 0, "a cell must be plain Python; got invalid"),
    (":check: a\n:by: exact\n\n1 == 2", 3, "a check that cannot fail: it must"),
    (":check: a", 0, "a check that cannot fail: it must assert something"),
    (
        ":check: a\n:tags: [raises-exception]\nassert 1 == 2",
        2,
        "a check that cannot fail: it must have no tag raises-exception",
    ),
]


def test_what_freshness_cannot_see_and_what_cannot_fail_is_refused(book):
    cells = [f"```{{code-cell}}\n{code}\n```\n" for code, *_ in REFUSED]
    page = (book.root / "docs" / "number.md").read_text("utf-8")
    (book.root / "docs" / "number.md").write_text(page + "\n".join(["", *cells]))
    for _ in range(2):
        refused = book.build()
        assert not refused.good
        assert refused.ran == set()
        line = len(page.splitlines()) + 3
        for code, offset, why in REFUSED:
            assert f"docs/number.md:{line + offset}: {why}" in refused.said
            line += len(code.splitlines()) + 3


def test_a_number_is_glued_on_its_own_page(built):
    built.edit(
        "docs/word.md", "print(", "from myst_nb import glue\nglue('a', 1)\nprint("
    )
    built.edit("config/conf.py", '["ipykernel"]', '["ipykernel", "myst-nb"]')
    built.edit(
        "docs/number.md",
        "[](word.md).",
        "[](word.md).\n\n```{glue:} a\n:doc: word.md\n```\n",
    )
    refused = built.build()
    assert not refused.good
    assert "'a' is glued on the page word; glue it here" in refused.said


def wait_until(true):
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


PICTURE = """
import torch
from selfattn_book.draw.matrices import heatmap
torch.manual_seed(0)
layer = torch.nn.Linear(3, 3)
torch.optim.SGD(layer.parameters(), lr=0.1).step()
print(layer.weight.sum().item(), torch.rand(2), {"a", "b", "c"})
heatmap(torch.eye(2), title="Identity");
"""


def outputs(book):
    """The outputs of all cells, without what is meant to differ."""
    texts = (file.read_text("utf-8") for file in book.results())
    return [re.sub(r'"id": ".*"', "", text) for text in texts]


def test_warm_and_cold_kernels_give_the_same(book):
    book.edit("docs/number.md", 'print("number", answer())', PICTURE)
    used = '["ipykernel", "torch", "selfattn_book"]'
    book.edit("config/conf.py", '["ipykernel"]', used)
    heavy = "matplotlib.pyplot,torch,torch._dynamo"
    preload = f"-Dfreshness_preload=ipykernel.kernelapp,ipykernel.ipkernel,{heavy}"
    assert book.build(preload).ran == ALL
    warm = outputs(book)
    assert any("image/svg+xml" in text for text in warm)
    assert book.build(preload, "-Dfreshness_anew=1", BOOK_KERNELS="cold").ran == ALL
    assert outputs(book) == warm
