"""Sessions and workflows run what exists; zizmor, in `lint`, checks the security of the latter."""

import re

import pytest
import yaml
from oldest import oldest

import noxfile
from tests.book.pages import ROOT

FOLDER = ROOT / ".github" / "workflows"
TEXTS = {file.name: file.read_text("utf-8") for file in sorted(FOLDER.glob("*.yml"))}
WORKFLOWS = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
JOBS = {
    f"{name}:{job}": (WORKFLOWS[name], steps)
    for name in WORKFLOWS
    for job, steps in WORKFLOWS[name]["jobs"].items()
}
SAID = {
    name: (ROOT / name).read_text("utf-8") for name in (".ci/run", "README.md", "CONTRIBUTING.md")
}

MAY_WRITE = {"weekly.yml:report", *(f"publish.yml:{job}" for job in ("make", "keep", "pages"))}


def sessions(text):
    """The sessions of nox that a text runs."""
    for words in re.findall(r"noxfile\.py -s ((?:[a-z]+ ?)+)", text):
        yield from words.split()


def test_there_are_workflows():
    assert TEXTS.keys() == {"book.yml", "publish.yml", "weekly.yml"}
    assert {"release", "archive"} <= set(sessions(TEXTS["publish.yml"]))
    weekly = {"linkcheck", "portability", "reseed", "mutate", "notebooks", "verify", "retrain"}
    assert weekly | {"formats"} <= set(sessions(TEXTS["weekly.yml"]))


@pytest.mark.parametrize("name", [*TEXTS, *SAID])
def test_every_session_that_is_named_is_there(name):
    there = {session for session in vars(noxfile) if hasattr(vars(noxfile)[session], "func")}
    assert {"book", "release"} <= there
    named = set(sessions({**TEXTS, **SAID}[name]))
    assert named or name == "book.yml"  # which runs the gate and nothing else
    assert named - there == set()


@pytest.mark.parametrize("name", TEXTS)
def test_every_file_that_is_run_is_there(name):
    files = re.findall(r"(?:bash|python3?) ((?:[\w.]+/)*[\w.]+(?:\.py|/run))", TEXTS[name])
    assert files
    assert [file for file in files if not (ROOT / file).is_file()] == []


@pytest.mark.parametrize("job", JOBS)
def test_a_job_ends_and_only_reads_unless_it_publishes(job):
    workflow, settings = JOBS[job]
    assert 0 < settings["timeout-minutes"] <= 360
    rights = settings.get("permissions", workflow["permissions"])
    assert rights == {"contents": "read"} or job in MAY_WRITE


def test_a_week_that_fails_is_told():
    jobs = WORKFLOWS["weekly.yml"]["jobs"]
    assert {"report", *jobs["report"]["needs"]} == jobs.keys()
    assert jobs["report"]["if"] == "failure()"


def test_only_a_tag_publishes():
    assert WORKFLOWS["publish.yml"][True] == {"push": {"tags": ["v*"]}}  # yaml reads `on` as true


def test_what_is_for_teachers_is_not_published():
    paths = re.findall(r"_build/release/?(\w*)", TEXTS["publish.yml"])
    assert set(paths) == {"public", "notebooks"}


def test_what_shows_the_site_waits_for_what_makes_and_keeps_it():
    jobs = WORKFLOWS["publish.yml"]["jobs"]
    assert set(jobs["pages"]["needs"]) == {"make", "keep"}
    assert jobs["keep"]["needs"] == "make"


def test_the_oldest_libraries_are_those_that_the_package_names():
    assert oldest(["torch>=2.6", "tqdm>=4.66"]) == ["torch==2.6", "tqdm==4.66"]
    for wrong in ("torch", "torch>=2.6,<3"):
        with pytest.raises(ValueError, match=f"bounded from below alone; got '{wrong}'"):
            oldest([wrong])


class Session:
    """Stands in for nox's, where only its errors count."""

    def error(self, message):
        raise ValueError(message)


def test_a_module_is_found_by_name_with_its_tests():
    found = noxfile.files_of_module(Session(), "masks")
    assert {file.name for file in found} == {"masks.py", "test_masks.py"}
    assert all((ROOT / file).is_file() for file in found)
    with pytest.raises(ValueError, match=r"must be a .*nothing\.py.*; got none"):
        noxfile.files_of_module(Session(), "nothing")
