"""The archive that students begin with: the wheel, what pip installs, notebooks, how to start."""

from pathlib import Path
from zipfile import ZipFile

import pytest
from course import package

WHEEL = "tiny-1.0-py3-none-any.whl"


@pytest.fixture
def places(monkeypatch, tmp_path):
    """A site and assignments with a notebook each, and a wheel that is made in no time."""
    for name in ("site/masks.ipynb", "made/week-05-masks/student/masks.ipynb"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(name, "utf-8")
    (tmp_path / "made/week-05-masks/solution").mkdir()
    (tmp_path / "made/week-05-masks/solution/masks.ipynb").touch()

    def make_wheel(folder: Path) -> Path:
        (folder / WHEEL).touch()
        return folder / WHEEL

    monkeypatch.setattr(package, "CHAPTERS", tmp_path / "site")
    monkeypatch.setattr(package, "ASSIGNMENTS", tmp_path / "made")
    monkeypatch.setattr(package, "PACKAGE", tmp_path / "student.zip")
    monkeypatch.setattr(package, "make_wheel", make_wheel)
    return tmp_path


def test_students_get_wheel_requirements_notebooks_and_a_page_for_each_system(places):
    assert package.main() == 0
    with ZipFile(places / "student.zip") as archive:
        starts = {f"START-{one}.txt" for one in ("Colab", "Linux", "Windows", "macOS")}
        books = {"chapters/masks.ipynb", "week-05-masks/masks.ipynb"}
        assert set(archive.namelist()) == {WHEEL, "requirements.txt", *starts, *books}
        assert b"student" in archive.read("week-05-masks/masks.ipynb"), "and not the solution"


def test_pages_install_the_wheel_with_the_small_pytorch():
    pages = package.pages(WHEEL)
    needs = pages["requirements.txt"].splitlines()
    assert needs[0].endswith("download.pytorch.org/whl/cpu")
    assert any(line.startswith("torch==") for line in needs)
    assert needs[-1] == f"./{WHEEL}"
    assert "py -m venv book" in pages["START-Windows.txt"]
    assert "python3 -m venv book" in pages["START-macOS.txt"]
    assert f"drag {WHEEL}" in pages["START-Colab.txt"]
    for text in pages.values():
        assert max(map(len, text.splitlines())) <= 110
        assert "{" not in text


def test_without_notebooks_it_says_what_to_run(places, monkeypatch, capsys):
    monkeypatch.setattr(package, "CHAPTERS", places / "none")
    monkeypatch.setattr(package, "ASSIGNMENTS", places / "none")
    assert package.main() == 2
    assert "run the session 'book' or 'assignments' first; got none" in capsys.readouterr().err
    assert not (places / "student.zip").exists()
