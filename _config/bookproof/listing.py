"""``{listing}``: show one object of the package, as tested, without its docstring."""

import ast
import inspect
import pkgutil
import textwrap
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.directives.code import container_wrapper
from sphinx.util.docutils import SphinxDirective


def source_without_docstring(thing: Any) -> str:
    """Return the source of a function or class, dedented, without any docstring in it."""
    lines = textwrap.dedent(inspect.getsource(thing)).splitlines()
    tree = ast.parse("\n".join(lines))
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    holders = [node for node in ast.walk(tree) if isinstance(node, documented)]
    for node in sorted(holders, key=lambda node: -node.lineno):
        if ast.get_docstring(node) is not None:
            docstring = node.body[0]
            end = docstring.end_lineno or docstring.lineno
            blank_follows = end < len(lines) and not lines[end].strip()
            del lines[docstring.lineno - 1 : end + blank_follows]
    return "\n".join(lines)


def caption_of(target: str) -> str:
    """Return an object's name in its package, as a link unless the reference leaves it out."""
    name = target.partition(".")[2] or target
    private = any(part.startswith("_") for part in name.split("."))
    return f"`{name}`" if private else f"{{py:obj}}`{name} <{target}>`"


class Listing(SphinxDirective):
    """Show the source of the object that the argument names in full."""

    required_arguments = 1  # for example package.module.Class.method
    option_spec: ClassVar = {"name": str, "again": directives.flag}

    def run(self) -> list[nodes.Node]:
        target = self.arguments[0]
        try:
            thing = pkgutil.resolve_name(target)
            source, file = (source_without_docstring(thing), inspect.getsourcefile(thing))
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise self.error(f"listing: there is no {target!r} to show ({error})") from error
        self.env.note_dependency(str(file))
        block = nodes.literal_block(source, source, language="python")
        self.set_source_info(block)
        if "again" in self.options:  # it has its number where it was shown first
            return [block]
        wrapper = container_wrapper(self, block, caption_of(target))
        # An address of its own, unless one is given; else it would be counted.
        self.options.setdefault("name", f"listing-{target.partition('.')[2] or target}")
        self.add_name(wrapper)
        return [wrapper]


def setup(app: Sphinx) -> None:
    app.add_directive("listing", Listing)
