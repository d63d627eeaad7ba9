"""What fails or is refused in a small book fails its build, with the place, each time."""

import re
import shutil

import pytest
from filelock import FileLock
from small_books import wait_until

ALL = {"data", "number", "word"}
FAILING = {
    "error": ("1 / 0", "ZeroDivisionError: division by zero"),
    "exit": ("import os; os._exit(0)", "Kernel died"),
    "asked": ("raise SystemExit", "SystemExit"),
    "killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "Kernel died"),
    "late": ("import time; time.sleep(99)", "timed out"),
    "skipped": (":tags: [skip-execution]\n1", "not executed"),
    "check": (":check: sum\nassert 1 + 1 == 3", "assert 1 + 1 == 3"),
    "tagged": (":tags: [raises-exception]\nassert 1 == 2", "assert 1 == 2"),
    "cobol": ("1", "cobol"),  # a kernel that is not there
}  # fmt: skip


def test_each_failing_cell_fails_the_build_each_time(book):
    page = (book.root / "docs" / "data.md").read_text("utf-8")
    for name, (cell, _) in FAILING.items():
        text = page.replace('print("data", Path("data.txt").read_text())', cell)
        kernel = name if name == "cobol" else "python3"
        book.write(f"docs/{name}.md", text.replace("name: python3", f"name: {kernel}"))
    book.edit("docs/index.md", "data\n", "\n".join(["data", *FAILING, ""]))
    for expected in (ALL | FAILING.keys(), FAILING.keys()):
        failed = book.build("-Dnb_execution_timeout=3")
        assert not failed.good
        assert failed.ran == expected, "the others have been kept"
        for name, (_, says) in FAILING.items():
            place = "the kernel" if name == "cobol" else "cell 2 of 3"
            line = "" if name == "cobol" else ":17"
            [why] = re.findall(rf"(?ms)^docs/{name}\.md{line}: {place}.*?$.*?^$", failed.said)
            assert says in why
            assert not (book.root / "_build" / "html" / f"{name}.html").exists()

    for name in FAILING:
        book.write(f"docs/{name}.md", page.replace("# Data", f"# {name}"))
    assert book.build().ran == set(), "it is the same as on the page that it was copied from"


def test_what_is_no_python_no_import_statement_or_no_check_fails_the_build_each_time(built):
    built.edit("tiny/words.py", "return f", "return )")
    load = '__import__("importlib").import_module("tiny.num" + "bers")'
    built.write("tiny/loader.py", f"{load}\n")
    built.edit("docs/data.md", "from pathlib", "import tiny.loader\nfrom pathlib")
    page = (built.root / "docs" / "number.md").read_text("utf-8")
    cell = "```{code-cell}\n:check: a\n:by: exact\n\n1 == 2\n```\n"
    built.write("docs/number.md", f"{page}\n{cell}")
    for _ in range(2):
        broken = built.build()
        assert not broken.good
        assert broken.ran == ALL
        assert "docs/word.md:12: cell 1 of 11" in broken.said
        assert "tiny/words.py" in broken.said
        assert "SyntaxError" in broken.said
        assert "docs/data.md: tiny/numbers.py must be imported by an import" in broken.said
        place = f"docs/number.md:{len(page.splitlines()) + 3}: cell 5 of 5"
        assert f"{place}: a check that cannot fail: it must execute an assertion" in broken.said
        assert "no assertion was executed" in broken.said


def test_a_half_written_result_is_made_again(built):
    lost, cut, damaged = built.results()
    lost.unlink()
    cut.write_text(cut.read_text("utf-8")[:-99], "utf-8")
    text = damaged.read_text("utf-8")
    damaged.write_text(re.sub(r'"execution_count": 2', '"execution_count": null', text))
    shutil.rmtree(built.root / "_build" / "doctrees")
    mended = built.build()
    assert mended.good
    assert mended.ran == ALL
    assert "number 42" in built.page("number")


def test_a_damaged_database_is_made_again(built):
    for content in (b"", b"no database" * 999):
        (built.kept / "global.db").write_bytes(content)
        built.edit("docs/number.md", "one module", "one module and")
        mended = built.build()
        assert mended.good
        assert "damaged" in mended.said
        assert mended.ran == {"number"}


def test_results_that_cannot_be_written_fail_the_build(built):
    shutil.rmtree(built.kept / "executed")
    (built.kept / "executed").write_text("where a folder has to be", "utf-8")
    built.edit("docs/number.md", "one module", "a single module")
    full = built.build()
    assert not full.good
    assert "docs/number.md: its results cannot be kept" in full.said
    (built.kept / "executed").unlink()
    mended = built.build()
    assert mended.good
    assert mended.ran == ALL


def test_one_build_waits_for_the_other(built):
    with FileLock(built.root / "_build" / ".jupyter_cache.lock") as lock, built.start() as process:
        wait_until(lambda: "Another build is at work" in built.log.read_text())
        lock.release()
    assert process.exitcode == 0


def test_a_module_that_is_edited_while_its_chapter_runs_fails_the_build(built):
    module = built.root / "tiny" / "numbers.py"
    before = module.read_text("utf-8")
    edit = f"if 'EDIT' in os.environ: open({str(module)!r}, 'w').close()"
    built.write("tiny/editor.py", f"import os\nimport tiny.numbers\n{edit}\n")
    built.edit("docs/data.md", "from pathlib", "import tiny.editor\nfrom pathlib")
    changed = built.build(EDIT="now")
    assert not changed.good
    assert "docs/data.md or what it reaches was changed" in changed.said

    module.write_text(before, "utf-8")
    again = built.build()
    assert again.good
    assert again.ran == {"data"}, "what ran on a mixture was not kept"


REFUSED = [
    ("import os\nprint(os.environ['HOME'])", 1, "os.environ is refused: an env"),
    (":check: a\n:tags: [raises-exception]\nassert 1 == 2", 2, "a check that cannot fail: it must"),
]


def test_what_freshness_cannot_see_and_what_cannot_fail_is_refused(book):
    cells = [f"```{{code-cell}}\n{code}\n```\n" for code, *_ in REFUSED]
    page = (book.root / "docs" / "number.md").read_text("utf-8")
    book.write("docs/number.md", page + "\n".join(["", *cells]))
    for _ in range(2):
        refused = book.build()
        assert not refused.good
        assert refused.ran == set()
        line = len(page.splitlines()) + 3
        for code, offset, why in REFUSED:
            assert f"docs/number.md:{line + offset}: {why}" in refused.said
            line += len(code.splitlines()) + 3


GLUED_ELSEWHERE = [
    ("config/conf.py", '["ipykernel"]', '["ipykernel", "myst-nb"]'),
    ("docs/word.md", 'print("word"', "from myst_nb import glue\nglue('a', 1)\nprint(\"word\""),
    ("docs/number.md", "[](word.md).", "[](word.md).\n\n```{glue:} a\n:doc: word.md\n```\n"),
]
NOT_EXECUTED = "mystnb: {execution_mode: 'off'}\nkernelspec"
# Edits of files, or an option of the build, and with what it ends.
ENDS = [
    (GLUED_ELSEWHERE, "'a' is glued on the page word; glue it here"),
    ([("docs/data.md", "[data.txt]", "[data.csv]")], "data.csv, which is not there"),
    ([("docs/number.md", "kernelspec", NOT_EXECUTED)], ":14: this cell was not executed"),
    ("-Dbookproof_package=nowhere", "a package that can be imported; got 'nowhere'"),
    ("-Dbookproof_edition=teachers", "('', 'students', 'instructors'); got 'teachers'"),
]


@pytest.mark.parametrize(("cause", "why"), ENDS)
def test_what_ends_a_build_ends_it_each_time(built, cause, why):
    options = [cause] if isinstance(cause, str) else []
    for edit in [] if options else cause:
        built.edit(*edit)
    for _ in range(1 if options else 2):  # nothing is kept of an option
        ended = built.build(*options)
        assert not ended.good
        assert why in ended.said
