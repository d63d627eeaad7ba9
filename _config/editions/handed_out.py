"""Make what an edition hands out: site, PDF, EPUB, wheel, source, notebooks, each with its digest.

    public/          for everybody: the site as an archive, PDF, EPUB, wheel, source, notebooks,
                     SHA256SUMS, and in `sbom` all packages that the edition was built with
    notebooks/       what Colab and Binder find, as the tag `notebooks-v1.0` of the repository
    instructors/     for who teaches: the archive of the assignments, if it was made; not for the site

All of it is made in a folder beside, which takes its place once it is whole.
"""

import gzip
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from importlib.metadata import distributions
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

from bookproof.html.addresses import addresses
from packaging.utils import canonicalize_name
from sphinx.util.inventory import InventoryFile

EPOCH = 1577836800  # that of hatchling, so that the same source gives the same archives
TORCH = "https://download.pytorch.org/whl/cpu"  # without libraries for graphics cards
UNPUBLISHED = (".buildinfo", ".redirects", "objects.inv.tmp")


def make(root: Path, version: str) -> Path:
    """Make everything of an edition whose site is built, and return the folder.

    Raises:
        ValueError: the site has addresses that are not recorded.
    """
    site, folder = root / "_build" / "html", root / "_build" / "release"
    check_record(site, root / "_config" / "addresses.list")
    half = folder.with_name("release-unfinished")
    shutil.rmtree(half, ignore_errors=True)
    public = half / "public"
    public.mkdir(parents=True)
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(public)]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    (public / f"sbom-{version}.cdx.json").write_text(json.dumps(materials(), indent=1), "utf-8")
    for kind in ("pdf", "epub"):
        shutil.copy(site / "files" / f"book.{kind}", public / f"book-{version}.{kind}")
    (wheel,) = public.glob("*.whl")
    pack_site(site, wheel, public / f"site-{version}.tar.gz")
    for_binder(site, wheel, half / "notebooks")
    shutil.make_archive(str(public / f"notebooks-{version}"), "zip", half / "notebooks")
    taught = root / "_build" / "assignments" / "instructors.zip"
    if taught.is_file():
        (half / "instructors").mkdir()
        shutil.copy(taught, half / "instructors" / f"instructors-{version}.zip")
    for part in (public, half / "instructors"):
        digest(part)
    shutil.rmtree(folder, ignore_errors=True)
    half.rename(folder)
    return folder


def materials() -> dict[str, object]:
    """Return the packages of this environment as a bill of materials in CycloneDX's format."""
    versions = {canonicalize_name(one.name): one.version for one in distributions()}
    components = [
        {
            "type": "library",
            "name": name,
            "version": number,
            "purl": f"pkg:pypi/{name}@{quote(number)}",
        }
        for name, number in sorted(versions.items())
    ]
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components}


def check_record(site: Path, record: Path) -> None:
    """Refuse a site with an address that the record of lasting ones does not have."""
    listed = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    pages = listed.data["std:doc"]
    files = {page: (site / f"{page}.html").read_text("utf-8") for page in pages}
    there = {place for page, html in files.items() for place in addresses(page, html)}
    if new := sorted(there - set(record.read_text("utf-8").split())):
        raise ValueError(
            "an edition records all of its addresses: run the session 'addresses' and commit;"
            f" {len(new)} are new, the first is {new[0]}"
        )


def pack_site(site: Path, wheel: Path, archive: Path) -> None:
    """Pack a site, with the wheel that its notebooks install and a word to Pages to serve all of it."""
    with (
        gzip.GzipFile(archive, "wb", mtime=EPOCH) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for file in sorted(file for file in site.rglob("*") if file.is_file()):
            if file.name not in UNPUBLISHED:
                add(tar, file.relative_to(site).as_posix(), file.read_bytes())
        add(tar, wheel.name, wheel.read_bytes())
        add(tar, ".nojekyll", b"")


def add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    """Add a file to an archive, with nothing of the machine in it."""
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(content), EPOCH, 0o644
    tar.addfile(member, BytesIO(content))


def for_binder(site: Path, wheel: Path, folder: Path) -> None:
    """Put all notebooks into a folder, with the wheel and what Binder has to install."""
    shutil.copytree(site / "notebooks", folder)
    shutil.copy(wheel, folder)
    needs = folder / ".binder"
    needs.mkdir()
    (needs / "requirements.txt").write_text(f"--extra-index-url {TORCH}\n./{wheel.name}\n", "utf-8")
    (needs / "runtime.txt").write_text("python-3.11\n", "utf-8")


def digest(folder: Path) -> None:
    """Write the digests of a folder's files beside them, as `sha256sum --check` reads them."""
    if folder.is_dir():
        digests = {f.name: hashlib.sha256(f.read_bytes()) for f in sorted(folder.iterdir())}
        lines = [f"{digest.hexdigest()}  {name}\n" for name, digest in digests.items()]
        (folder / "SHA256SUMS").write_text("".join(lines), "utf-8")


def sizes(folder: Path) -> Iterable[str]:
    """Yield the files of a release with their sizes."""
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        name = file.relative_to(folder).as_posix()
        if not name.endswith(".ipynb"):
            yield f"  {file.stat().st_size / 1e6:7.2f} MB  {name}"
