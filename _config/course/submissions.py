"""Read what students have handed in, as Moodle or Canvas exports it, and pair each file with a student.

Source: Moodle's `mod/assign/classes/downloader.php` and Canvas' `lib/content_zipper.rb` name the files.
"""

import csv
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path, PurePosixPath
from unicodedata import normalize
from zipfile import BadZipFile, ZipFile, ZipInfo

from selfattn_book.exercises.checking.variants import checked_id

NOBODY = "no student of the roster goes by"
LARGEST = 20_000_000  # bytes of a notebook
MOODLE = re.compile(
    r"(?P<folder>(?P<name>[^/_]*)_(?P<number>\d+)_assignsubmission_file(?:_?/|_))(?P<file>.*)"
)
CANVAS = re.compile(
    r"(?P<name>[^/]*?)_?(?P<late>LATE_)?(?P<number>(?<![^/_])\d+|anon_[^/_]+)"
    r"_(?:(?P<upload>\d+)_(?P<file>[^/]+)|(?:text|link)\.html)"
)
PLAIN = re.compile(r"(?P<name>.+?)(?: ?\(\d+\))?")


@dataclass(frozen=True)
class Submission:
    """One file of an export, and what its name says of the student."""

    path: str  # in the export
    time: datetime = datetime.min  # as the export has it
    file: Path | None = None  # to read; none if it is damaged or too large
    platform: str = ""  # moodle, canvas, or empty for files named by hand
    name: str = ""  # of the student: "Ada Lovelace" on Moodle, "lovelaceada" on Canvas, or an id
    number: str = ""  # of the student on the platform
    upload: int = 0  # Canvas' number of the file; later ones are larger
    late: bool = False  # as Canvas marks it
    feedback: str = ""  # where the platform looks for feedback

    @property
    def owner(self) -> tuple[str, str]:
        """Return what all files of one student have in common."""
        return self.platform, self.number or self.name.casefold()

    @property
    def is_notebook(self) -> bool:
        """Tell whether it is a notebook, by its name."""
        return self.path.endswith(".ipynb")


def named(path: str, time: datetime = datetime.min, file: Path | None = None) -> Submission:
    """Return a file with what its place in an export says."""
    path = normalize("NFC", path).lstrip("/").encode("utf-8", "replace").decode()
    pure = PurePosixPath(path)
    if found := MOODLE.search(path):
        feedback = path[: found.end("folder")] + "feedback.html"
        return Submission(
            path, time, file, "moodle", found["name"], found["number"], feedback=feedback
        )
    if found := CANVAS.fullmatch(pure.name):
        late, upload = bool(found["late"]), int(found["upload"] or 0)
        given = "canvas", found["name"], found["number"], upload, late
        return Submission(path, time, file, *given, feedback=path)
    whose = pure.parts[0] if len(pure.parts) > 1 else pure.stem
    name = PLAIN.fullmatch(whose)[1]
    return Submission(path, time, file, name=name, feedback=str(pure.with_suffix(".html")))


def submissions(export: Path, scratch: Path) -> list[Submission]:
    """Return the files of an export, a folder or a zip; those of a zip are copied to a folder."""
    if export.is_dir():
        files = list(in_folder(export))
    elif export.is_file():
        files = list(in_zip(export, scratch))
    else:
        raise ValueError(f"submissions must be in a folder or a zip; there is no {export}")
    paths = [path for path, *_ in files]
    full = {str(parent) + "/" for path in paths for parent in PurePosixPath(path).parents}
    found = [named(path, *rest) for path, *rest in files if path not in full]
    if not found:
        raise ValueError(f"submissions must be files; {export} has none")
    return found


Entry = tuple[str, datetime, Path | None]


def in_folder(folder: Path) -> Iterator[Entry]:
    """Yield what is in a folder, without links and hidden files."""
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).as_posix()
        if file.is_symlink() or hidden(path):
            continue
        stat = file.stat()
        time = datetime.fromtimestamp(stat.st_mtime)
        yield (f"{path}/", time, None) if file.is_dir() else (path, time, small(file, stat.st_size))


def in_zip(file: Path, scratch: Path) -> Iterator[Entry]:
    """Yield what is in a zip, as copies; nothing is written under a name from the zip."""
    try:
        with ZipFile(file) as archive:
            for number, info in enumerate(archive.infolist()):
                if hidden(info.filename):
                    continue
                place = scratch / str(number) / "submission.ipynb"
                copy = None if info.is_dir() else small(place, info.file_size)
                try:
                    if copy:
                        copy.parent.mkdir()
                        copy.write_bytes(archive.read(info))
                except (BadZipFile, RuntimeError, EOFError, zlib.error):  # damaged, or locked
                    copy = None
                yield info.filename, time_of(info), copy
    except BadZipFile as error:
        raise ValueError(f"submissions must be in a folder or a zip; got {file}: {error}") from None


def time_of(info: ZipInfo) -> datetime:
    """Return the time of a file in a zip; a zip may have none."""
    try:
        return datetime(*info.date_time)
    except ValueError:
        return datetime.min


def small(file: Path, size: int) -> Path | None:
    """Return a file if it is not too large."""
    return file if size <= LARGEST else None


def hidden(path: str) -> bool:
    """Tell whether a file is one that a system has left."""
    return any(part.startswith((".", "__MACOSX", "~")) for part in path.split("/"))


# -- Students -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Student:
    """A row of a roster; `id` is what the student writes into the notebook."""

    id: str
    login: str = ""
    name: str = ""
    email: str = ""
    moodle: str = ""  # the number in the names of Moodle's files
    canvas: str = ""  # the number in the names of Canvas' files

    @property
    def spellings(self) -> set[str]:
        """Return how platforms write the name: *ada lovelace*, *lovelaceada*."""
        words = self.name.replace(",", " ").casefold().split()
        turned = [words[i:] + words[:i] for i in range(len(words))]
        return {plain(" ".join(words)) for words in turned}


def plain(name: str) -> str:
    """Return the letters and digits of a name."""
    return re.sub(r"[\W_]", "", normalize("NFC", name).casefold())


Roster = dict[str, Student]  # by their normalized ids


def read_roster(file: Path) -> Roster:
    """Read a CSV file with the column `id` and any others of a student."""
    text = file.read_text("utf-8-sig")
    delimiter = ";" if ";" in text.split("\n")[0] else ","
    reader = csv.DictReader(text.splitlines(), delimiter=delimiter)
    columns = reader.fieldnames or []
    if "id" not in columns:
        raise ValueError(f"the roster must have the column id; got {', '.join(columns)}")
    roster: Roster = {}
    for row in reader:
        known = {each.name: (row.get(each.name) or "").strip() for each in fields(Student)}
        if (who := checked_id(known["id"])) in roster:
            raise ValueError(f"each id of the roster must be given once; got {who!r} twice")
        roster[who] = Student(**known)
    if not roster:
        raise ValueError("the roster must have a line for each student; got none")
    return roster


def student_of(submission: Submission, roster: Roster) -> Student | None:
    """Return whose file it is, by number, login or name, if the roster has any of these to compare."""
    platform, number, name = submission.platform, submission.number, plain(submission.name)
    students = roster.values()
    if not platform:
        found = [s for s in students if name in {plain(s.id), plain(s.login)}]
    elif not (found := [s for s in students if getattr(s, platform) == number]):
        found = [s for s in students if name in s.spellings and not getattr(s, platform)]
    whose = repr(submission.name or number)
    if len(found) > 1:
        raise ValueError(f"{len(found)} students of the roster go by {whose}")
    if not found and (not platform or any(getattr(s, platform) or s.name for s in students)):
        raise ValueError(f"{NOBODY} {whose}")
    return found[0] if found else None
