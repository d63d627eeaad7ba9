"""Refuse in cells what their results would depend on without the page's key knowing it.

A key is made by reading: cells, imports, declared files. This guards against oversight, not malice.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..verify.cells import first_line
from .execution import Chapter

IMPORTING = "import with an import statement, so that the page's key knows of it"
OUTSIDE = "what another program or machine answers is in no page's key"
VARIABLE = "an environment variable is in no page's key; write the value into the cell"
SOURCE = "what docstrings and lines of a module say is in no page's key"
REFUSED = {
    **dict.fromkeys(["builtins", "importlib", "pkgutil", "runpy", "zipimport"], IMPORTING),
    **dict.fromkeys(["__import__", "compile", "eval", "exec", "get_ipython"], IMPORTING),
    **dict.fromkeys(["sys.modules", "sys.path"], IMPORTING),
    **dict.fromkeys(["ctypes", "http", "multiprocessing", "socket"], OUTSIDE),
    **dict.fromkeys(["subprocess", "urllib", "os.popen", "os.system", "sys.argv"], OUTSIDE),
    "unittest.mock": "what is replaced by a mock is not checked",
    **dict.fromkeys([".environ", ".environb", ".getenv", ".getenvb"], VARIABLE),
    **dict.fromkeys([".expanduser", ".expandvars"], VARIABLE),
    **dict.fromkeys(["help", "linecache", "traceback", ".__doc__", ".getdoc"], SOURCE),
    **dict.fromkeys([".getcomments", ".getsource", ".getsourcelines"], SOURCE),
}
FILES = {
    *("open", "read_text", "read_bytes", "write_text", "write_bytes", "imread", "imsave"),
    *("load", "loadtxt", "genfromtxt", "fromfile", "memmap", "from_file", "read_csv"),
    *("save", "savez", "savez_compressed", "savetxt", "savefig", "tofile"),
    *("exists", "is_dir", "is_file", "stat", "lstat", "getmtime", "getsize"),
    *("glob", "rglob", "iterdir", "walk", "listdir", "scandir", "home", "cwd", "getcwd"),
    *("mkdir", "makedirs", "rmdir", "touch", "unlink", "symlink_to", "hardlink_to"),
}
OWN = {
    *("TemporaryDirectory", "TemporaryFile", "NamedTemporaryFile", "mkdtemp"),
    *("BytesIO", "StringIO"),
}
CHECK_OPTIONS = {"check", "by", "tags"}
CHECK_TAGS = {"hide-output", "remove-output", "remove-stderr", "remove-stdout"}
Found = Iterator[tuple[int, str]]  # a line, counted from 1, and what is wrong with it


@dataclass
class Rules:
    """What the cells of one page may use.

    Args:
        folder: of the page, where its cells run.
        modules: names of what may be imported, besides Python's own modules.
        data: the files that the page declares, as it names them.
    """

    folder: Path
    modules: Iterable[str]
    data: Sequence[str] = ()
    own: set[str] = field(default_factory=set)  # names for files that the cells make themselves

    def faults(self, code: str, options: Iterable[str] = ()) -> Found:
        r"""Give what is wrong with the next cell of the page, line by line.

        Example:
            >>> rules = Rules(Path(), ["torch"])
            >>> list(rules.faults("import torch"))
            []
            >>> [(line, why)] = rules.faults("import torch\nimport pandas")
            >>> print(line, why)
            2 pandas is neither Python's own nor in bookproof_libraries
        """
        if "load" in options:
            yield 1, "a cell's code must stand on the page; this one is to be loaded"
        try:
            tree = ast.parse(code)
        except SyntaxError as error:
            yield error.lineno or 1, f"a cell must be plain Python; got {error.msg}"
            return
        self.own |= own_names(tree, self.own)
        for node in ast.walk(tree):
            for why in (*self.of_import(node), *of_name(node), *self.of_file(node)):
                yield getattr(node, "lineno", 1), why

    def of_import(self, node: ast.AST) -> Iterator[str]:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            return
        base = ""
        if isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "") + "."
        names = [base + alias.name for alias in node.names]
        known = {*sys.stdlib_module_names, *map(module_of, self.modules)}
        for name in names:
            top = name.partition(".")[0]
            if why := first_reason(name, top, f".{name.rpartition('.')[2]}"):
                yield f"{name} is refused: {why}"
            elif top not in sys.stdlib_module_names and module_of(top) not in known:
                yield f"{top or name} is neither Python's own nor in bookproof_libraries"

    def of_file(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Constant) and self.is_file(node.value):
            if node.value not in self.data:
                yield f"{node.value!r} is a file that data_files must name, and does not"
        elif isinstance(node, ast.Call) and called(node) in FILES:
            parts = [*node.args, *(keyword.value for keyword in node.keywords)]
            if isinstance(node.func, ast.Attribute):
                parts.append(node.func.value)
            if not any(self.is_declared(part) or mentions(part, self.own) for part in parts):
                yield (
                    f"{called(node)}(...) must name a file of data_files as text in the call,"
                    " or one in a TemporaryDirectory of the page"
                )

    def is_file(self, value: object) -> bool:
        """Tell whether a value is the name of a file, as seen from the page."""
        name = value if isinstance(value, str) and "\n" not in value else ""
        try:
            return bool(name) and (self.folder / name).is_file()
        except (OSError, ValueError):  # too long, or with a zero byte
            return False

    def is_declared(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call) and called(node) == "Path" and len(node.args) == 1:
            node = node.args[0]
        return isinstance(node, ast.Constant) and node.value in self.data


def of_name(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.Name, ast.Attribute)):
        name, last = ast.unparse(node), f".{getattr(node, 'attr', '')}"
        if why := first_reason(name, last):
            yield f"{name} is refused: {why}"


def first_reason(*names: str) -> str:
    """Return why the first of some names is refused that is; nothing, if none is."""
    return next((REFUSED[name] for name in names if name in REFUSED), "")


def module_of(library: str) -> str:
    """Return the name by which a library is imported, up to capitals."""
    return library.lower().replace("-", "_")


def called(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def mentions(node: ast.AST, names: Iterable[str]) -> bool:
    """Tell whether an expression contains one of some names, or makes a file of its own."""
    parts = list(ast.walk(node))
    return any(isinstance(part, ast.Name) and part.id in names for part in parts) or any(
        isinstance(part, ast.Call) and called(part) in OWN for part in parts
    )


def own_names(tree: ast.Module, known: Iterable[str]) -> set[str]:
    """Return the names that are bound to files of the page's own, or made from them."""
    own = set(known)
    for node in ast.walk(tree):
        bound: list[tuple[ast.expr | None, ast.expr]] = []
        if isinstance(node, ast.Assign):
            bound = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.With):
            bound = [(item.optional_vars, item.context_expr) for item in node.items]
        own |= {to.id for to, of in bound if isinstance(to, ast.Name) and mentions(of, own)}
    return own


# -- A whole chapter ---------------------------------------------------------------


def refusals(chapter: Chapter, modules: Sequence[str]) -> Iterator[str]:
    """Say, with the place, what the cells of a chapter must not do; they may import ``modules``."""
    lines = chapter.file.read_text("utf-8").splitlines()
    matter = chapter.notebook.metadata
    rules = Rules(chapter.file.parent, modules, matter.get("data_files", []))
    for cell, fence in zip(chapter.notebook.cells, matter["source_map"], strict=True):
        if cell.cell_type == "code":
            first = first_line(lines, fence, cell.source.splitlines())
            found = list(rules.faults(cell.source, cell.metadata))
            if not found and (why := fault_of_check(cell.metadata)):
                found = [(1, f"a check that cannot fail: {why}")]
            for line, why in found:
                yield f"{chapter}:{first + line - 1}: {why}"


def fault_of_check(options: Mapping[str, object]) -> str:
    """Return the option of a check that would let it fail; an empty string for other cells.

    Whether its assertions can fail is seen when it runs: see :mod:`bookproof.verify.recorder`.
    """
    if "check" not in options:
        return ""
    if strange := sorted(options.keys() - CHECK_OPTIONS):
        return f"it must have no option {strange[0]}"
    tags = set(re.findall(r"[\w-]+", str(options.get("tags", ""))))
    return f"it must have no tag {min(tags - CHECK_TAGS)}" if tags - CHECK_TAGS else ""
