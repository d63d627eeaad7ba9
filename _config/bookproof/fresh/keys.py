"""What a chapter's results depend on, besides its own cells: found by reading, not by running."""

import ast
import hashlib
import re
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import yaml
from nbformat import NotebookNode

DOCUMENTED = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
# What makes docstrings or lines of a module part of a result.
READERS = {
    *("__doc__", "getdoc", "getcomments", "getsource", "getsourcelines", "linecache"),
    *("tb_lineno", "f_lineno", "co_firstlineno", "co_lines", "co_positions", "getframeinfo"),
    *traceback.__all__,
} - {"format_exception_only"}
# What may be asked where in a cell an error arose, by a module that asks nothing else with it.
LINES_OF_CELLS = frozenset({"extract_tb", "tb_lineno"})
Roots = Sequence[Path]  # folders of packages
FRONT_MATTER = re.compile(r"---[^\n]*\n(.*?\n)(?=---|\.\.\.)", re.DOTALL)


@cache
def imports(source: str, package: str = "") -> frozenset[str]:
    """Return the dotted names that source imports; ``package`` is what a leading dot means."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def code_of(notebook: NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def names_in_cells(notebook: NotebookNode) -> frozenset[str]:
    """Return the dotted names that the code cells of a chapter import."""
    names: set[str] = set()
    for code in code_of(notebook):
        with suppress(SyntaxError, ImportError):  # such a cell is refused, and its line named
            names |= imports(code)
    return frozenset(names)


def module_name(roots: Roots, file: Path) -> str:
    root = next(root for root in roots if file.is_relative_to(root))
    parts = file.relative_to(root.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def module_file(roots: Roots, name: str) -> Path | None:
    """Return the file of a module of one of the packages; none for another name."""
    for root in roots:
        if name.split(".")[0] == root.name:
            base = root.parent.joinpath(*name.split("."))
            files = base / "__init__.py", base.with_name(f"{base.name}.py")
            return next((file for file in files if file.is_file()), None)
    return None


def modules_reached(roots: Roots, names: Iterable[str]) -> list[Path]:
    """Return the files of the packages that importing the names may run."""
    found: dict[str, Path] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found and (file := module_file(roots, name)):
            found[name] = file
            parent = name.rpartition(".")[0]
            package = name if file.name == "__init__.py" else parent
            waiting.append(parent)
            # A chapter that runs what is no Python will fail, and say where.
            with suppress(SyntaxError):
                waiting += imports(file.read_text("utf-8"), package)
    return sorted(found.values())


def module_digests(
    roots: Roots, modules: Iterable[Path], line_readers: Sequence[str] = ()
) -> dict[str, str]:
    """Return for each module a digest of its syntax tree without docstrings.

    Where one of them reads docstrings or lines, the text of each is used instead;
    modules that are ``line_readers`` may ask tracebacks for the lines of cells.
    """
    texts = {module_name(roots, file): file.read_text("utf-8") for file in modules}
    whole = any(
        readers_in(text) - (LINES_OF_CELLS if name in line_readers else frozenset())
        for name, text in texts.items()
    )
    return {name: digest([text]) if whole else code_digest_of(text) for name, text in texts.items()}


@cache
def readers_in(source: str) -> frozenset[str]:
    """Return what source names that may read the docstrings, the source or the lines of modules."""
    kinds = ("id", "attr", "name", "module")
    names = {getattr(node, kind, "") for node in nodes_of(source) for kind in kinds}
    return frozenset(READERS & names)


def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """Return the nodes of a syntax tree; none where it is no Python: a chapter that runs it fails."""
    try:
        return tuple(ast.walk(ast.parse(source)))
    except SyntaxError:
        return ()


@cache
def code_digest_of(source: str) -> str:
    """Return a digest of what a module does: its syntax tree without docstrings and places."""
    if not nodes_of(source):
        return source
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return digest([ast.dump(tree)])


def digest(about: Iterable[str], files: Iterable[Path] = ()) -> str:
    parts = [*about, *(f"{file.name} {fingerprint(file)}" for file in files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def fingerprint(file: Path) -> str:
    """Return what tells one content of a file from another; nothing, if there is no file."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def put_key(metadata: dict[str, Any], key: str) -> None:
    """Write a key into the metadata of a chapter, beside the name of the kernel."""
    # The metadata are compared by jupyter-cache, as the code cells are.
    metadata.setdefault("kernelspec", {"display_name": "python3", "name": "python3"})["key"] = key


def with_key(text: str, key: str) -> str:
    """Write a key into the front matter of a chapter, without moving a line."""
    block = FRONT_MATTER.match(text)
    assert block, "only chapters, which have front matter, get a key"
    matter = yaml.safe_load(block[1])
    put_key(matter, key)
    line = yaml.safe_dump(matter, default_flow_style=True, width=10**9)
    blank = "\n" * (block[1].count("\n") - 1)  # so that messages name the right line
    return text[: block.start(1)] + line + blank + text[block.end(1) :]
