"""``{layers}``: draw the layers of a package, from the contract that import-linter checks."""

import ast
import re
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

Layer = list[tuple[str, str]]  # names of modules, and what each is for


def read_layers(project: Path) -> tuple[str, list[Layer]]:
    """Return the name of the package of a project, and its layers from the top down."""
    settings = tomllib.loads(project.read_text("utf-8"))["tool"]["importlinter"]
    package = settings["root_package"]
    contract = next(c for c in settings["contracts"] if c["type"] == "layers")
    layers = [re.split(r"\s*[|:]\s*", layer) for layer in contract["layers"]]
    root = project.parent / package
    return package, [[(name, purpose(file_of(root, name))) for name in layer] for layer in layers]


def file_of(root: Path, name: str) -> Path:
    package = root / name / "__init__.py"
    return package if package.exists() else root / f"{name}.py"


def purpose(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return text.partition("\n")[0].replace("``", "")


class Layers(SphinxDirective):
    """Draw the layers of the package, each module with a link to its page in the reference."""

    def run(self) -> list[nodes.Node]:
        project = Path(self.config.bookproof_layers)
        package, layers = read_layers(project)
        files = [file_of(project.parent / package, name) for layer in layers for name, _ in layer]
        for file in (project, *files):
            self.env.note_dependency(str(file))
        picture = nodes.container(classes=["layers"])
        for layer in layers:
            box = nodes.container(classes=["floor"])
            box += [self.line_of(package, *module) for module in layer]
            picture += box
        return [picture]

    def line_of(self, package: str, name: str, why: str) -> nodes.paragraph:
        label: nodes.Node = nodes.literal("", name)
        if not name.startswith("__"):
            target = f"{package}.{name}"
            to = {"refdomain": "py", "reftype": "mod", "reftarget": target, "refexplicit": True}
            label = pending_xref("", label, refdoc=self.env.docname, **to)
        return nodes.paragraph("", "", label, nodes.inline("", f" {why}"))


def setup(app: Sphinx) -> None:
    app.add_config_value("bookproof_layers", "", "env", str)
    app.add_directive("layers", Layers)
