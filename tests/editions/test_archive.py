"""Editions stand side by side: the newest at the root, each under its version, all in one list."""

import json
import re
import tarfile

import pytest
from editions.archive import arrange

LIST = '<p>All</p><ul class="editions">\n<li>one alone</li>\n</ul><p>End</p>'


@pytest.fixture
def archive(tmp_path):
    """Return a function that packs a site of a version."""

    def pack(version, name="", **files):
        site = tmp_path / f"site of {version}{name}"
        site.mkdir()
        card = json.dumps({"version": version, "date": "2026-05-04"})
        texts = {"edition.json": card, "index.html": version, "editions.html": LIST} | files
        for file, text in texts.items():
            if text is not None:
                (site / file).write_text(text, "utf-8")
        with tarfile.open(packed := tmp_path / f"site-{version}{name}.tar.gz", "w:gz") as tar:
            for file in site.iterdir():
                tar.add(file, file.name)
        return packed

    return pack


def read(folder, name):
    return (folder / name).read_text("utf-8")


def test_the_newest_is_at_the_root_and_each_under_its_version(archive, tmp_path):
    public = tmp_path / "public"
    sites = [archive(version) for version in ("0.9", "0.10", "0.2")]
    assert arrange(sites, public) == ["0.10", "0.9", "0.2"]
    assert read(public, "index.html") == "0.10"
    for version in ("0.9", "0.10", "0.2"):
        assert read(public, f"v{version}/index.html") == version


def test_the_lists_at_the_root_and_in_each_edition_lead_to_each(archive, tmp_path):
    public = tmp_path / "public"
    arrange([archive("0.1"), archive("0.2")], public)
    for place in ("", "v0.1/", "v0.2/"):
        links = re.findall(r'href="([^"]*)">', read(public, f"{place}editions.html"))
        found = [(public / place / link).resolve() for link in links]
        assert [file.parent.name for file in found] == ["v0.2", "v0.1"]
        assert all(file.is_file() for file in found)
    listed = read(public, "editions.html")
    assert listed.startswith("<p>All</p>")
    assert listed.endswith("<p>End</p>")
    assert "one alone" not in listed


def test_what_stood_there_is_replaced_as_a_whole(archive, tmp_path):
    public = tmp_path / "public"
    arrange([archive("0.1", **{"gone.html": ""})], public)
    arrange([archive("0.2", **{"editions.html": None})], public)
    for name in ("gone.html", "v0.1", "editions.html"):  # where no address is known, no list is
        assert not (public / name).exists()


CARDLESS = {"edition.json": None}


@pytest.mark.parametrize(
    ("versions", "files", "said"),
    [
        ([], {}, "an archive has at least one edition"),
        (["0.1", "0.1"], {}, r"got 0\.1 twice"),
        (["0.1"], CARDLESS, r"site-0\.1 0\.tar\.gz has none"),
    ],
)
def test_what_cannot_stand_is_refused_and_nothing_changes(archive, tmp_path, versions, files, said):
    public = tmp_path / "public"
    arrange([archive("0.0")], public)
    sites = [archive(version, f" {n}", **files) for n, version in enumerate(versions)]
    with pytest.raises(ValueError, match=said):
        arrange(sites, public)
    assert read(public, "index.html") == "0.0"
