"""The canaries: a small book is built, changed and built again, and must notice."""

import os
import shutil

import pytest
from bookproof.why import main as why

ALL = {"data", "number", "word"}
NOTHING = "No chapter has to run.\n"
BOTH = {"number", "word"}
SILENT = [
    ("docs/word.md", "reaches that", "does reach that", "word: It does reach that module"),
    ("tiny/numbers.py", "Return the answer.", "Return it.", ""),
    ("tiny/numbers.py", "    return", "    # Long.\n    return", "number: # Long."),
    ("tiny/words.py", "in a sentence", "in words", "index: words The answer in words."),
    ("pyproject.toml", '"words", "numbers"', '"words"', ""),
    ("docs/word.md", "# A word", "# Another word", "number: See also Another word"),
]
# Builds one after another: edits before each, of a file, its text, another text, and what a page
# then shows; and which chapters run.
BUILDS = [
    ([], set()),
    (SILENT, set()),
    ([("docs/number.md", '"number"', '"another number"', "number: another number 42")], {"number"}),
    ([("tiny/words.py", "The answer is", "It is", "word: word It is 42.")], {"word"}),
    ([("docs/data.txt", "some", "more", "data: data more data")], {"data"}),
    ([("tiny/numbers.py", "42", "40 + 3", "number: return 40 + 3")], BOTH),
    ([("tiny/numbers.py", "40 + 3", "42", "word: word It is 42.")], set()),
]


def test_a_change_runs_what_it_has_to_and_is_shown(built):
    """Prose, docstrings, comments and titles run nothing; code, all chapters that reach it."""
    for edits, runs in BUILDS:
        before = {page: read(built, page) for page in ("number", "data")}
        for file, old, new, _ in edits:
            built.edit(file, old, new)
        result = built.build()
        assert result.ran == runs
        assert result.good
        assert runs or result.said == NOTHING
        for page, _, text in (shown.partition(": ") for *_, shown in edits if shown):
            assert text in built.page(page)
        if "tiny/numbers.py" in [file for file, *_ in edits]:
            # A page with its listing is read again, and no other one.
            assert read(built, "number") > before["number"]
            assert read(built, "data") == before["data"]
    assert "numbers The answer." not in built.page("index"), "the picture of modules has it no more"


def read(book, page):
    """Return when a page was read last."""
    return (book.root / "_build" / "doctrees" / f"{page}.doctree").stat().st_mtime_ns


def test_another_library_or_anew_runs_everything(built):
    library = built.root / "pinned-1.0.dist-info"
    library.mkdir()
    built.edit("config/conf.py", '["ipykernel"]', '["ipykernel", "pinned"]')
    for number, option in (("1", ""), ("2", ""), ("2", "-Dbookproof_fresh=1")):
        text = f"Metadata-Version: 2.1\nName: pinned\nVersion: {number}\n"
        (library / "METADATA").write_text(text, "utf-8")
        assert built.build(*option.split()).ran == ALL


def test_fresh_empties_no_folder_that_is_not_a_site(book):
    mine = book.root / "_build" / "html" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("keep me", "utf-8")
    refused = book.build("-Dbookproof_fresh=1")
    assert not refused.good
    assert "holds something else than a site" in refused.said
    assert mine.read_text("utf-8") == "keep me"


def test_other_pins_or_tools_read_every_page_again(built):
    tool = "tool.dist-info/METADATA"
    for file, number in (("config/constraints.txt", 1), (tool, 1), (tool, 2)):
        before = read(built, "number")
        (built.root / file).parent.mkdir(exist_ok=True)
        built.write(file, f"Metadata-Version: 2.1\nName: tool\nVersion: {number}\n")
        assert built.build().said == NOTHING
        assert read(built, "number") > before


def test_after_a_build_that_was_stopped_all_is_made_again(built):
    static = built.made("_static/basic.css")
    whole = static.read_bytes()
    static.write_bytes(whole[:9])  # as a full disk leaves it
    (built.root / "_build" / "doctrees" / "unfinished").touch()
    built.write("_build/html/number.html", "half")
    assert built.build().said == NOTHING
    assert "number 42" in built.page("number")
    assert static.read_bytes() == whole
    before = read(built, "number")
    assert built.build().said == NOTHING
    assert read(built, "number") == before


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
    planted = built.build()
    assert not planted.good
    assert "docs/number.md:16: cell 2 of 4 failed" in planted.said
    assert planted.ran == {"number"}

    age(before)
    before.rename(page)
    assert built.build().said == NOTHING
    assert "number 42" in built.page("number")

    was_read = read(built, "number")
    for file in (built.root / "docs").iterdir():
        file.touch()
    assert built.build().said == NOTHING
    assert read(built, "number") == was_read, "not even read"


def test_what_a_page_shows_is_known_by_its_contents(built):
    shown = "\n\n```{include} part.txt\n```\n\n```{literalinclude} code.py\n```\n"
    shown += "\n```{listing} tiny.words.answer\n```\n![A dot](dot.svg)\n"
    dot = '<svg xmlns="http://www.w3.org/2000/svg" width="{}pt"></svg>'
    contents = {"part.txt": "one part", "code.py": "one = 1", "dot.svg": dot}
    for name, text in contents.items():
        built.write(f"docs/{name}", text.replace("{}", "1"))
    built.edit("docs/data.md", "but a file.", f"but a file.{shown}")
    words = ".. automodule:: tiny.words"
    documented = f".. autofunction:: tiny.words.answer\n\n{words}"
    built.edit("docs/reference.md", words, documented)
    assert built.build().good

    for name, text in contents.items():
        built.write(f"docs/{name}", text.replace("one", "two").replace("{}", "2"))
        age(built.root / "docs" / name)
    built.write("tiny/other.py", "def answer():\n    return 6 * 7\n")
    built.edit("tiny/words.py", ".numbers", ".other")
    age(built.root / "tiny" / "other.py", built.root / "tiny" / "words.py")
    assert built.build().ran == {"word"}
    page = built.page("data")
    assert "two part" in page
    assert "two = 1" in page
    assert "return 6 * 7" in page
    copied = (built.root / "_build" / "html" / "_images" / "dot.svg").read_text()
    assert copied == dot.replace("{}", "2")


def test_a_module_of_the_same_size_and_time_is_another_module(built):
    module = built.root / "tiny" / "numbers.py"
    assert list(module.parent.glob("__pycache__/numbers.*.pyc"))
    then = module.stat()
    built.edit("tiny/numbers.py", "42", "43")
    os.utime(module, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert built.build(PYTHONDONTWRITEBYTECODE="").ran == {"number", "word"}
    assert "number 43" in built.page("number")


def test_a_removed_page_leaves_the_site(built):
    (built.root / "docs" / "data.md").unlink()
    built.edit("docs/index.md", "data\n", "")
    built.edit("config/addresses.list", "data\n", "")
    assert built.build().good
    build = built.root / "_build"
    assert not (build / "html" / "data.html").exists()
    assert not (build / "doctrees" / "data.doctree").exists()
    assert (build / "html" / "number.html").exists()
    assert (build / "html" / "search.html").exists()
    kept = (build / "doctrees").rglob("*.doctree")
    assert not [file.stem for file in kept if b"BuildEnvironment" in file.read_bytes()]
    index = (build / "html" / "searchindex.js").read_text("utf-8")
    assert "A number" in index
    assert '"Data"' not in index


def test_a_page_may_give_up_a_data_file(built):
    (built.root / "docs" / "data.txt").unlink()
    built.edit("docs/data.md", "data_files: [data.txt]\n", "")
    built.edit("docs/data.md", 'Path("data.txt").read_text()', "1")
    assert built.build().ran == {"data"}


def test_why_names_the_parts_of_a_key_that_changed(built, capsys, monkeypatch):
    monkeypatch.chdir(built.root)
    assert why(["--doctrees", "_build/doctrees"]) == 0
    assert capsys.readouterr().out.endswith("No page has to run.\n")
    built.edit("tiny/words.py", "def ", "def unused():\n    pass\n\n\ndef ")
    built.edit("docs/data.md", "from pathlib", "import math\nfrom pathlib")
    built.write("docs/data.txt", "8")
    built.write("config/references.bib", "")
    assert why(["--doctrees", "_build/doctrees"]) == 1
    said = capsys.readouterr().out
    for part in ("cell 1", "data file data.txt", "module tiny.words", "tool config/references.bib"):
        assert f"  {part} changed\n" in said
    assert str(built.root) not in built.root.joinpath("_build/doctrees/keys.json").read_text(
        "utf-8"
    )
    with pytest.raises(SystemExit):
        why(["nowhere", "--doctrees", "_build/doctrees"])
