"""The pins: all that the environment fetches, each by its digests, so that pip takes nothing else."""

import re
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from _config import environment

PIN = re.compile(r"[\w-]+==[\w.+]+( ; [^\\\n]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+")
TEXT = environment.CONSTRAINTS.read_text("utf-8")
PINS = [pin for pin in re.split(r"\n(?! )", TEXT.strip()) if not pin.startswith("#")]
REQUIREMENTS = [Requirement(pin.split("\\")[0]) for pin in PINS]


def test_each_pin_is_one_version_with_the_digests_of_its_files():
    assert len(PINS) > 150
    assert [pin for pin in PINS if not PIN.fullmatch(pin)] == []


def test_what_the_project_asks_for_and_what_builds_it_are_pinned():
    everything = tomllib.loads((environment.ROOT / "pyproject.toml").read_text("utf-8"))
    project = everything["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["book"], *extras["dev"]]
    pinned = {canonicalize_name(one.name): str(one.specifier)[2:] for one in REQUIREMENTS}
    for one in map(Requirement, [*asked, *everything["build-system"]["requires"]]):
        assert pinned[canonicalize_name(one.name)] in one.specifier, f"renew the pins: {one}"


def test_no_library_for_graphics_cards_is_pinned():
    names = [one.name for one in REQUIREMENTS]
    assert [name for name in names if name.startswith(("cuda", "nvidia", "triton"))] == []
    builds = {str(one.marker): str(one.specifier) for one in REQUIREMENTS if one.name == "torch"}
    assert builds['sys_platform == "linux"'].endswith("+cpu")


@pytest.mark.parametrize("digest", ["of the file", "of another"])
def test_pip_refuses_a_file_with_another_digest(tmp_path, digest):
    (pin,) = [pin for pin in PINS if pin.startswith("iniconfig==")]
    if digest == "of another":
        pin = re.sub(r"sha256:\w+", f"sha256:{'0' * 64}", pin)
    (tmp_path / "pins").write_text(pin, "utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--no-cache-dir", *environment.PINNED]
    files = ["--dest", str(tmp_path), "--requirement", str(tmp_path / "pins")]
    done = subprocess.run([*pip, *files], capture_output=True, text=True)
    assert (done.returncode == 0) == (digest == "of the file")
    assert ("DO NOT MATCH THE HASHES" in done.stderr) == (digest == "of another")
