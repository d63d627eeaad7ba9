"""What an edition hands out is whole, has its digests, and keeps to itself what is for teachers."""

import hashlib
import json
import tarfile
import zlib
from pathlib import Path
from zipfile import ZipFile

import pytest
from editions import handed_out

PAGE = '<figure id="fig-one"></figure>'
INVENTORY = """\
# Sphinx inventory version 2
# Project: Tiny
# Version: 1.0
# The remainder of this file is compressed using zlib.
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A book that is built, and a package that is built in no time."""
    files = {
        "_build/html/one.html": PAGE,
        "_build/html/_static/a.css": "",
        "_build/html/.buildinfo": "",
        "_build/html/files/book.pdf": "%PDF",
        "_build/html/files/book.epub": "PK",
        "_build/html/notebooks/one.ipynb": "{}",
        "_config/addresses.list": "one\none#fig-one\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    listed = zlib.compress(b"one std:doc -1 one.html One\n")
    (tmp_path / "_build/html/objects.inv").write_bytes(INVENTORY.encode() + listed)

    def build(command, **_):
        for name in ("tiny-1.0-py3-none-any.whl", "tiny-1.0.tar.gz"):
            Path(command[-1], name).write_text(name, "utf-8")

    monkeypatch.setattr(handed_out.subprocess, "run", build)
    return tmp_path


def names(folder):
    return {file.name for file in folder.iterdir()}


def test_everybody_gets_site_wheel_source_notebooks_and_digests(root):
    public = handed_out.make(root, "1.0") / "public"
    assert names(public) == {
        "SHA256SUMS",
        "book-1.0.epub",
        "book-1.0.pdf",
        "notebooks-1.0.zip",
        "sbom-1.0.cdx.json",
        "site-1.0.tar.gz",
        "tiny-1.0-py3-none-any.whl",
        "tiny-1.0.tar.gz",
    }
    assert any("public/site-1.0.tar.gz" in line for line in handed_out.sizes(public.parent))
    bill = json.loads((public / "sbom-1.0.cdx.json").read_text("utf-8"))
    assert "torch" in {component["name"] for component in bill["components"]}
    lines = (public / "SHA256SUMS").read_text("utf-8").splitlines()
    assert len(lines) == 7
    for line in lines:
        digest, name = line.split("  ")
        assert hashlib.sha256((public / name).read_bytes()).hexdigest() == digest


def test_the_site_brings_the_wheel_and_nothing_of_its_build(root):
    archive = handed_out.make(root, "1.0") / "public" / "site-1.0.tar.gz"
    first = archive.read_bytes()
    (root / "_build" / "html" / "one.html").touch()
    handed_out.make(root, "1.0")
    assert archive.read_bytes() == first, "the same site gives the same archive"
    with tarfile.open(archive) as tar:
        assert set(tar.getnames()) == {
            ".nojekyll",
            "_static/a.css",
            "files/book.epub",
            "files/book.pdf",
            "notebooks/one.ipynb",
            "objects.inv",
            "one.html",
            "tiny-1.0-py3-none-any.whl",
        }


def test_binder_finds_the_notebooks_and_the_wheel(root):
    folder = handed_out.make(root, "1.0") / "notebooks"
    assert names(folder) == {".binder", "one.ipynb", "tiny-1.0-py3-none-any.whl"}
    needs = (folder / ".binder" / "requirements.txt").read_text("utf-8").splitlines()
    assert (folder / needs[-1]).is_file()
    assert (folder / ".binder" / "runtime.txt").is_file()  # else it takes a Python that is too old
    with ZipFile(folder.parent / "public" / "notebooks-1.0.zip") as archive:
        assert ".binder/requirements.txt" in archive.namelist()


def test_what_is_for_teachers_is_not_for_everybody(root):
    assert not (handed_out.make(root, "1.0") / "instructors").exists()
    taught = root / "_build" / "assignments" / "instructors.zip"
    taught.parent.mkdir()
    taught.write_bytes(b"solutions")
    folder = handed_out.make(root, "1.0")
    assert names(folder / "instructors") == {"SHA256SUMS", "instructors-1.0.zip"}
    assert not any("instructors" in name for name in names(folder / "public"))


def test_what_is_refused_or_breaks_off_leaves_what_there_was(root, monkeypatch):
    handed_out.make(root, "1.0")

    def break_off(*_):
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(handed_out, "for_binder", break_off)
        with pytest.raises(OSError, match="no space"):
            handed_out.make(root, "2.0")
    (root / "_build" / "html" / "one.html").write_text(PAGE + PAGE.replace("one", "two"), "utf-8")
    with pytest.raises(ValueError, match="1 are new, the first is one#fig-two"):
        handed_out.make(root, "2.0")
    assert "site-1.0.tar.gz" in names(root / "_build" / "release" / "public")
