"""``{layers}``: draw the layers of a package, from the contract that import-linter checks."""

import ast
import re
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

Floor = list[tuple[str, str]]  # names of modules, and what each is for


def read_floors(project: Path) -> tuple[str, list[Floor]]:
    """Return the name of the package of a project, and its floors from the top down."""
    settings = tomllib.loads(project.read_text("utf-8"))["tool"]["importlinter"]
    package = settings["root_package"]
    contract = next(c for c in settings["contracts"] if c["type"] == "layers")
    floors = [re.split(r"\s*[|:]\s*", layer) for layer in contract["layers"]]
    root = project.parent / package
    return package, [[(name, purpose(file_of(root, name))) for name in floor] for floor in floors]


def file_of(root: Path, name: str) -> Path:
    package = root / name / "__init__.py"
    return package if package.exists() else root / f"{name}.py"


def purpose(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return text.partition("\n")[0].replace("``", "")


def as_text(project: Path) -> str:
    """Draw the floors with letters, for where there are no pages."""
    _, floors = read_floors(project)
    names = max(len(name) for floor in floors for name, _ in floor)
    lines = [[f"{name:{names}}  {why}" for name, why in floor] for floor in floors]
    width = max(len(line) for floor in lines for line in floor)
    rule = "─" * (width + 2)
    boxes = ["\n".join(f"│ {line:{width}} │" for line in floor) for floor in lines]
    return f"┌{rule}┐\n" + f"\n├{rule}┤\n".join(boxes) + f"\n└{rule}┘\n"


class Layers(SphinxDirective):
    """Draw the floors of the package, each module with a link to its page in the reference."""

    def run(self) -> list[nodes.Node]:
        project = Path(self.config.bookproof_layers)
        package, floors = read_floors(project)
        files = [file_of(project.parent / package, name) for floor in floors for name, _ in floor]
        for file in (project, *files):
            self.env.note_dependency(str(file))
        house = nodes.container(classes=["layers"])
        for floor in floors:
            box = nodes.container(classes=["floor"])
            box += [self.room(package, *module) for module in floor]
            house += box
        return [house]

    def room(self, package: str, name: str, why: str) -> nodes.paragraph:
        label: nodes.Node = nodes.literal("", name)
        if not name.startswith("__"):
            target = f"{package}.{name}"
            to = {"refdomain": "py", "reftype": "mod", "reftarget": target, "refexplicit": True}
            label = pending_xref("", label, refdoc=self.env.docname, **to)
        return nodes.paragraph("", "", label, nodes.inline("", f" {why}"))


def setup(app: Sphinx) -> None:
    app.add_config_value("bookproof_layers", "", "env", str)
    app.add_directive("layers", Layers)
