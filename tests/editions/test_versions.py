"""An edition has one version, and every place that says another is named."""

import json

import pytest
from editions import versions


@pytest.fixture
def site(tmp_path):
    notebook = {
        "metadata": {"version": "1.0"},
        "cells": [{"source": "# A"}, {"source": 'if edition != "1.0":'}],
    }
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "a.ipynb").write_text(json.dumps(notebook), "utf-8")
    (tmp_path / "edition.json").write_text('{"version": "1.0"}', "utf-8")
    cover = 'edition = {Version 1.0}, <p class="edition">Version 1.0, <time>'
    (tmp_path / "index.html").write_text(cover, "utf-8")
    return tmp_path


def test_a_site_is_asked_in_all_its_places(site):
    assert len(versions.of_site(site)) == 5
    assert versions.only_version(versions.of_site(site)) == "1.0"


@pytest.mark.parametrize(
    ("file", "old", "place"),
    [
        ("edition.json", '"1.0"', "edition.json"),
        ("index.html", "Version 1.0,", "the foot of the cover"),
        ("index.html", "{Version 1.0}", "the BibTeX of the cover"),
        ("notebooks/a.ipynb", '"version": "1.0"', "the notebook a"),
        ("notebooks/a.ipynb", '!= \\"1.0\\"', "what a asks for"),
    ],
)
@pytest.mark.parametrize("other", ["0.9", ""])
def test_each_of_them_can_be_wrong(site, file, old, place, other):
    text = (site / file).read_text("utf-8")
    assert old in text
    (site / file).write_text(text.replace(old, old.replace("1.0", other)), "utf-8")
    assert versions.of_site(site)[place] != "1.0"
    with pytest.raises(ValueError, match=rf"one version everywhere; got\n(?s:.*) {place}"):
        versions.only_version(versions.of_site(site))
