"""Neither look through nor look for what the reference names of other packages.

autodoc would read the source of every base class, and names that cannot lead anywhere would be
compared with those of all objects, one by one.
"""

import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

for_any_module = ModuleAnalyzer.for_module


def read_only_package(app: Sphinx, config: Config) -> None:
    """Let autodoc read no source but that of the package, where the settings name one."""
    package = getattr(config, "bookproof_package", "")

    def for_module(name: str) -> ModuleAnalyzer:
        if package in ("", name.partition(".")[0]):
            return for_any_module(name)
        raise PycodeError(f"{name} is another's")

    # Sphinx has no setting for this; types forbid to replace a method, which is what this does.
    ModuleAnalyzer.for_module = staticmethod(for_module)  # type: ignore[method-assign, assignment]


def unlink_ignored(app: Sphinx, page: nodes.document) -> None:
    """Make words of the names that the build need not find."""
    ignored = [
        (re.compile(kind), re.compile(name)) for kind, name in app.config.nitpick_ignore_regex
    ]

    def leads_nowhere(node: pending_xref) -> bool:
        kind, name = f"{node['refdomain']}:{node['reftype']}", node["reftarget"]
        return any(one.fullmatch(kind) and other.fullmatch(name) for one, other in ignored)

    for node in list(page.findall(pending_xref)):
        if leads_nowhere(node):
            node.replace_self(node.children)


def setup(app: Sphinx) -> None:
    app.connect("config-inited", read_only_package)
    app.connect("doctree-read", unlink_ignored)
