"""The parts of a page's key, by name, so that ``bookproof why`` can name the one that changed."""

import ast
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from functools import cache
from importlib import metadata
from itertools import zip_longest
from pathlib import Path
from typing import Any

from .keys import digest, fingerprint, module_digests, modules_reached, nodes_of

Parts = dict[str, str]
CODE = {".py", ".pyc"}
RECORDER = "bookproof.verify.recorder"  # transforms every cell
KEPT = "keys.json"  # beside the doctrees
# The last digits of a sum depend on the number of threads, the order of a set on the seed;
# and a library that is loaded before its kernel has to know where figures will go.
# Without assertions, every check would hold.
ENVIRONMENT = {
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONOPTIMIZE": "",
}
# Variables that begin so tell the libraries how to compute.
ARITHMETIC = re.compile(r"(ATEN|BLIS|DNNL|KMP|MKL|NPY|OMP|ONEDNN|OPENBLAS|PYTORCH|TORCH)_")


@dataclass(frozen=True)
class Needs:
    """The names that the cells of a page import, and the files beside the page that they read."""

    names: frozenset[str] = frozenset()
    data: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sources:
    """Everything outside a page on which the results of its cells depend.

    Args:
        roots: folders of the packages whose modules are read.
        libraries: distributions that cells may import.
        line_readers: modules that ask tracebacks for the lines of cells, and for nothing else.
    """

    roots: tuple[Path, ...]
    libraries: tuple[str, ...] = ()
    line_readers: tuple[str, ...] = ()

    def parts(self, page: Path, needs: Needs) -> Parts:
        """Return the parts of a page's key, apart from its cells."""
        modules = modules_reached(self.roots, {*needs.names, RECORDER})
        means = module_digests(self.roots, modules, self.line_readers)
        return {
            "Python": sys.version,
            "platform": sys.platform,
            **{f"variable {name}": value for name, value in circumstances().items()},
            **{f"library {name}": version(name) for name in self.libraries},
            **{f"module {name}": text for name, text in means.items()},
            **{f"data file {name}": fingerprint(page.parent / name) for name in needs.data},
            **{
                f"package data {file.relative_to(root.parent)}": fingerprint(file)
                for root in self.roots
                for file in data_named(root, modules)
            },
        }


def key_of(parts: Parts) -> str:
    return digest(f"{name} {value}" for name, value in parts.items())


def data_named(root: Path, modules: Iterable[Path]) -> list[Path]:
    """Return the data files of a package that modules name, or whose folder they name.

    Only modules that use ``__file__`` are searched.
    """
    named = frozenset[str]().union(*(strings(file.read_text("utf-8")) for file in modules))
    found = data_files(root) if named else []
    return [file for file in found if named.intersection(file.relative_to(root).parts)]


def data_files(root: Path) -> list[Path]:
    found = (Path(folder, name) for folder, _, names in os.walk(root) for name in names)
    return sorted(file for file in found if file.suffix not in CODE)


def circumstances() -> dict[str, str]:
    """Return the variables of the environment that may change what a cell computes."""
    given = {name: value for name, value in os.environ.items() if ARITHMETIC.match(name)}
    return dict(sorted({**given, **ENVIRONMENT}.items()))


@cache  # else read from a file for each page
def version(library: str) -> str:
    """Return the version of an installed library."""
    return metadata.version(library)


@cache
def strings(source: str) -> frozenset[str]:
    """Return the string literals of a module that uses ``__file__``."""
    found = nodes_of(source) if "__file__" in source else ()
    return frozenset(n.value for n in found if isinstance(n, ast.Constant) and type(n.value) is str)


def cell_parts(codes: Iterable[str]) -> Parts:
    return {f"cell {number}": digest([code.strip()]) for number, code in enumerate(codes, 1)}


def keep(folder: Path, record: dict[str, Any], sources: Sources) -> None:
    """Write what ``bookproof why`` compares with beside the doctrees."""
    roots = [os.path.relpath(root) for root in sources.roots]
    text = json.dumps({**record, "sources": {**asdict(sources), "roots": roots}}, indent=1)
    (folder / KEPT).write_text(text, "utf-8")


def cells_side_by_side(before: Parts, now: Parts) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield each cell's name and its digests before and now, so that a new cell changes no other."""
    old, new = ([parts[n] for n in parts if n.startswith("cell ")] for parts in (before, now))
    for _, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for n, (one, other) in enumerate(zip_longest(old[i:j], new[k:m]), 1):
            yield f"cell {n + (i if other is None else k)}", one, other


def changes(before: Parts, now: Parts) -> Iterator[str]:
    """Yield a line for each part that is new, gone or changed."""
    others = [name for name in {**before, **now} if not name.startswith("cell ")]
    pairs = ((name, before.get(name), now.get(name)) for name in others)
    for name, old, new in (*cells_side_by_side(before, now), *pairs):
        if old != new:
            how = "is new" if old is None else "is gone" if new is None else "changed"
            readable = name.startswith(("library", "variable", "Python", "platform"))
            yield f"{name} {how}" + (f": {old} -> {new}" if readable and old and new else "")
