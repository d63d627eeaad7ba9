"""Cells run as they should wherever they run: warm, cold, without assertions, alone."""

import os
import re
import signal
import subprocess
import sys

import pytest
from small_books import ENGINE, STRICT, wait_until

ALL = {"data", "number", "word"}
# An arithmetic that these tests do not run under.
OTHER = "avx2" if os.environ.get("ATEN_CPU_CAPABILITY") == "default" else "default"


def test_other_arithmetic_is_in_the_key(built):
    assert built.build(ATEN_CPU_CAPABILITY=OTHER).ran == ALL


def test_the_command_itself_builds_and_assertions_count_without_assertions(built):
    """As one would type it, with no test's help; and Python told to leave assertions out."""
    built.edit("docs/number.md", 'print("number"', 'assert answer() == 41\nprint("x"')
    command = "-m sphinx -c config -d _build/doctrees docs _build/html"
    paths = os.pathsep.join([str(built.root), str(ENGINE)])
    failed = subprocess.run(
        [sys.executable, *command.split(), *STRICT],
        cwd=built.root,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONOPTIMIZE": "1"},
        capture_output=True,
        text=True,
    )
    assert failed.returncode != 0
    assert "assert answer() == 41" in failed.stdout + failed.stderr
    assert built.build().ran == {"number"}, "what could be kept was kept for all builds"


def test_a_module_beside_the_page_is_none(built):
    built.write("docs/tiny.py", "number = 1 / 0")
    built.edit("docs/number.md", '"number"', '"the number"')
    start_up = built.root / "home" / "profile_default" / "startup"
    start_up.mkdir(parents=True)
    (start_up / "first.py").write_text("print = None", "utf-8")
    assert built.build(IPYTHONDIR=str(built.root / "home")).good
    assert "the number 42" in built.page("number")


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_kernels_end_with_a_build_that_is_killed_or_interrupted(built, name):
    pid = built.root / "docs" / "pid"
    write = "import os\nimport time\nopen('pid', 'w').write(str(os.getpid()))"
    built.write("tiny/writer.py", f"{write}\ntime.sleep(99)\n")
    built.edit("docs/data.md", 'print("data"', 'import tiny.writer\nprint("data"')
    with built.start() as process:
        wait_until(lambda: pid.exists() and pid.read_text())
        # Sphinx swallows a Ctrl-C that comes while it imports a module.
        for _ in range(20):
            if process.exitcode is None:
                os.kill(process.pid, getattr(signal, name))
                process.join(1)
        assert process.exitcode is not None, built.stacks(process)
        assert process.exitcode
    kernel = int(pid.read_text())
    wait_until(lambda: not is_running(kernel))


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


PICTURE = """---
mystnb: {image: {alt: A line}}
---
import matplotlib.pyplot as plt
import torch
torch.manual_seed(0)
layer = torch.nn.Linear(3, 3)
torch.optim.SGD(layer.parameters(), lr=0.1).step()
print(layer.weight.sum().item(), torch.rand(2), {"a", "b", "c"})
plt.plot([1, 2]);
"""


def outputs(book):
    """The outputs of all cells, without what is meant to differ."""
    texts = (file.read_text("utf-8") for file in book.results())
    return [re.sub(r'"id": ".*"', "", text) for text in texts]


def test_warm_and_cold_kernels_give_the_same(book):
    book.edit("docs/number.md", 'print("number", answer())', PICTURE)
    book.edit("config/conf.py", '["ipykernel"]', '["ipykernel", "torch", "matplotlib"]')
    preload = "-Dbookproof_preload=matplotlib.pyplot,torch,torch._dynamo"
    assert book.build(preload).ran == ALL
    warm = outputs(book)
    assert any("image/png" in text for text in warm)
    assert book.build(preload, "-Dbookproof_fresh=1", BOOK_KERNELS="cold").ran == ALL
    assert outputs(book) == warm
