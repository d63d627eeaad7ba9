"""The questions of all chapters, as a learning platform takes them in."""

from zipfile import ZipFile

import pytest
from course import questions

from tests.book.pages import BOOK
from tests.schemas.qti import wrong


@pytest.fixture
def package(monkeypatch, tmp_path):
    monkeypatch.setattr(questions, "MADE", tmp_path)
    questions.main()
    return tmp_path / "questions-qti21.zip"


def test_every_file_is_qti(package):
    with ZipFile(package) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    del files["imsmanifest.xml"]
    with_quiz = [page for page in BOOK.pages if "## Quiz" in page.lines]
    assert len(files) == 4 * len(with_quiz)  # three questions, and a test of them
    assert {name: wrong(text) for name, text in files.items() if wrong(text)} == {}
