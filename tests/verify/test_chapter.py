"""The reader's own check of the book: what holds, what differs, and by how much."""

import subprocess
import sys

import pytest
import torch
from bookproof.verify.cells import Cell, read_cells

from selfattn_book.verify import book_folder, main, verify_chapter

PAGE = """# A chapter

```{code-cell}
import torch
torch.set_default_dtype(torch.float64)
x = torch.tensor([1.0, 2.0]);
```

```{code-cell}
:tags: [remove-cell]
import tools_of_the_book_alone
```

```{code-cell}
:tags: [remove-input]
x = None
```

```{code-cell}
:check: good
:by: oracle
assert x.sum() == 3
```

"""


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a chapter with one more check, and gives its path."""

    def write(check):
        page = tmp_path / "chapter.md"
        cell = f"```{{code-cell}}\n:check: tried\n{check}\n```\n"
        page.write_text(PAGE + cell, "utf-8")
        return page

    return write


def test_only_the_cells_of_the_page_itself_are_read_with_lines_and_options():
    assert read_cells(PAGE)[3] == Cell(22, "assert x.sum() == 3", {"check": "good", "by": "oracle"})
    page = (
        "````{code-cell}\n:check: four\nfour = 4\n````\n"
        "~~~{code-cell} ipython3\ntilde = 1\n~~~\n"
        "````\n```{code-cell}\nan = 'example'\n```\n````\n"
        ":::{note}\n```{code-cell}\ninside = 1\n```\n:::\n"
        "```{code-cell}\n```\n"
    )
    assert read_cells(page) == [
        Cell(3, "four = 4", {"check": "four"}),
        Cell(6, "tilde = 1"),
        Cell(19, ""),
    ]


def test_a_chapter_runs_where_its_page_lies(write):
    page = write("from pathlib import Path\nassert Path('data.txt').read_text() == '7'")
    (page.parent / "data.txt").write_text("7", "utf-8")
    assert all(result.holds for result in verify_chapter(page))


def test_a_check_that_holds(write):
    good, tried = verify_chapter(write("assert x[0] == 1"))
    assert (good.check, good.by, good.holds, good.message) == ("good", "oracle", True, "")
    assert (tried.check, tried.by, tried.holds) == ("tried", "exact", True)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("torch.testing.assert_close(x, torch.tensor([1.0, 2.5]))", "got 2, expected 2.5"),
        ("torch.testing.assert_close(2.0, 3.0)", "got 2, expected 3"),
        ("torch.testing.assert_close(x, torch.zeros(3))", "got shape (2,), expected (3,)"),
        ("y = 5\nassert y < 4", "not so: y < 4 (left 5, right 4)"),
        ("assert x.isnan().any()", "not so: x.isnan().any()"),
        ("assert max(\n    1, 2) == 1", "(left 2, right 1)"),
        ("def f(y):\n    assert y > 2\nf(1)", "not so: y > 2 (left 1, right 2)"),
        ("assert_close = torch.testing.assert_close\nassert_close([x], [x + 1])", "AssertionError"),
        ("torch.testing.assert_close(x, x.float())", "dtype"),
        ("it = iter([1])\nassert next(it) == 3", "(left 1, right 3)"),
        ("import sys\nsys.exit()", "SystemExit"),
        ("assert 1 == 2, 'the reason'", "the reason"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def f():\n    assert 1 > 2\nf()", "not so: 1 > 2 (left 1, right 2)"),
    ],
)
def test_a_check_that_differs_says_both_numbers(write, check, message):
    good, tried = verify_chapter(write(check))
    assert good.holds
    assert not tried.holds
    assert message in tried.message


# It fails in another file, in the line in which the cell has an assertion that holds.
ELSEWHERE = """assert x.ndim == 1
import sys
line = sys._getframe().f_lineno - 2
exec(compile("\\n" * (line - 1) + "assert False", "module.py", "exec"), {})"""


def test_lines_of_modules_are_not_asked_for(write):
    """So no docstring that moves them is part of a message, nor of a page's key."""
    *_, tried = verify_chapter(write(ELSEWHERE))
    assert tried.message == "AssertionError:"


def test_a_cell_that_fails_ends_its_chapter(tmp_path):
    page = tmp_path / "chapter.md"
    page.write_text("```{code-cell}\n1 / 0\n```\n" + PAGE, "utf-8")
    (result,) = verify_chapter(page)
    assert result.check == "the cell in line 2"
    assert not result.holds


def test_the_session_of_a_chapter_leaves_nothing_behind(write):
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    assert_close = torch.testing.assert_close
    list(verify_chapter(write("torch.manual_seed(5); torch.set_grad_enabled(False); 1 / 0")))
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()
    assert torch.testing.assert_close is assert_close
    assert torch.get_num_threads() == threads
    assert torch.get_rng_state().equal(state)


def test_pages_of_each_kind_hold_one_after_the_other():
    """On the seeds of the page, as a reader begins; every other page is asked elsewhere.

    The build runs the same cells on these seeds, in kernels. The gate runs this command on all
    pages, on other seeds; each week, `portability.py` runs it on these seeds.
    """
    for name in ("chapters/checking", "appendix/museum-masks"):
        results = list(verify_chapter(book_folder() / f"{name}.md"))
        assert len(results) >= 5
        assert [result for result in results if not result.holds] == []


def test_an_unknown_chapter_is_named():
    with pytest.raises(SystemExit, match="no chapter nonsense; there are"):
        main(["nonsense"])


def test_the_command_line_says_how_it_is_used():
    command = [sys.executable, "-m", "selfattn_book"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert (
        done.stderr
        == "usage: python -m selfattn_book {verify,train text,check,generate} [--help]\n"
    )
