"""The canaries: a small book is built, changed and built again, and must notice."""

import os
import shutil

import pytest
from bookproof.why import main as why

ALL = {"data", "number", "word"}
NOTHING = "No chapter has to run.\n"


def test_only_what_has_changed_runs(built):
    book = built  # all of its chapters ran
    assert "word The answer is 42." in book.page("word")
    assert book.build().said == NOTHING

    book.edit("docs/number.md", "one module", "a single module")
    assert book.build().said == NOTHING
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


def test_a_docstring_or_a_comment_runs_nothing_and_its_listing_is_shown_anew(built):
    before = read(built, "number"), read(built, "data")
    built.edit("tiny/numbers.py", "Return the answer.", "Return what is asked for.")
    assert built.build().said == NOTHING
    assert read(built, "number") > before[0], "it might show another listing"
    assert read(built, "data") == before[1]

    built.edit("tiny/numbers.py", "    return", "    # It took long.\n    return")
    assert built.build().said == NOTHING
    assert "# It took long." in built.page("number")

    built.edit("tiny/numbers.py", "return 42", "return 40 + 2")
    assert built.build().ran == {"number", "word"}
    assert "return 40 + 2" in built.page("number")


def test_a_picture_of_modules_says_what_they_now_say_of_themselves(built):
    assert "words The answer in a sentence." in built.page("index")
    built.edit("tiny/words.py", "in a sentence", "in words")
    assert built.build().said == NOTHING
    assert "words The answer in words." in built.page("index")

    built.edit("pyproject.toml", '"words", "numbers"', '"words"')
    assert built.build().said == NOTHING
    assert "numbers The answer." not in built.page("index")


def read(book, page):
    """Return when a page was read last."""
    return (book.root / "_build" / "doctrees" / f"{page}.doctree").stat().st_mtime_ns


def test_another_library_runs_everything(built):
    library = built.root / "pinned-1.0.dist-info"
    library.mkdir()
    built.edit("config/conf.py", '["ipykernel"]', '["ipykernel", "pinned"]')
    for number in ("1", "2"):
        text = f"Metadata-Version: 2.1\nName: pinned\nVersion: {number}\n"
        (library / "METADATA").write_text(text, "utf-8")
        assert built.build().ran == ALL
    assert built.build().said == NOTHING


def test_fresh_uses_nothing_that_was_kept(built):
    assert built.build("-Dbookproof_anew=1").ran == ALL


def test_fresh_empties_no_folder_that_is_not_a_site(book):
    mine = book.root / "_build" / "html" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("keep me", "utf-8")
    refused = book.build("-Dbookproof_anew=1")
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
    before = read(built, "number")
    assert built.build().said == NOTHING
    assert read(built, "number") == before


def test_after_a_build_that_was_stopped_all_pages_are_made_again(built):
    (built.root / "_build" / "doctrees" / "unfinished").touch()
    built.write("_build/html/number.html", "half")
    assert built.build().said == NOTHING
    assert "number 42" in built.page("number")
    before = read(built, "number")
    assert built.build().said == NOTHING
    assert read(built, "number") == before


def test_a_title_changes_on_every_page_that_shows_it(built):
    built.edit("docs/word.md", "# A word", "# Another word")
    assert built.build().said == NOTHING
    assert "See also Another word" in built.page("number")


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


def test_a_page_of_the_site_that_is_not_as_it_was_written_is_written_again(built):
    built.edit("_build/html/number.html", "42", "41")
    assert built.build().said == NOTHING
    assert "number 42" in built.page("number")


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
    index = (build / "html" / "searchindex.js").read_text("utf-8")
    assert "A number" in index
    assert '"Data"' not in index


def test_a_page_may_give_up_a_data_file(built):
    (built.root / "docs" / "data.txt").unlink()
    built.edit("docs/data.md", "data_files: [data.txt]\n", "")
    built.edit("docs/data.md", 'Path("data.txt").read_text()', "1")
    assert built.build().ran == {"data"}


def test_what_is_kept_of_a_page_is_the_page(built):
    kept = (built.root / "_build" / "doctrees").rglob("*.doctree")
    assert [file.stem for file in kept if b"BuildEnvironment" in file.read_bytes()] == []


def test_a_half_copied_static_file_is_healed_by_the_next_build(built):
    file = built.root / "_build" / "html" / "_static" / "basic.css"
    whole = file.read_bytes()
    file.write_bytes(whole[:9])
    (built.root / "_build" / "doctrees" / "unfinished").touch()  # as a full disk leaves it
    assert built.build().good
    assert file.read_bytes() == whole


def test_why_names_the_parts_of_a_key_that_changed(built, capsys, monkeypatch):
    monkeypatch.chdir(built.root)
    assert why(["--doctrees", "_build/doctrees"]) == 0
    assert capsys.readouterr().out == "No page has to run.\n"
    built.edit("tiny/words.py", "def ", "def unused():\n    pass\n\n\ndef ")
    built.edit("docs/data.md", "from pathlib", "import math\nfrom pathlib")
    built.write("docs/data.txt", "8")
    assert why(["--doctrees", "_build/doctrees"]) == 1
    said = capsys.readouterr().out
    for part in ("cell 1 changed", "data file data.txt changed", "module tiny.words changed"):
        assert part in said
    with pytest.raises(SystemExit):
        why(["nowhere", "--doctrees", "_build/doctrees"])
