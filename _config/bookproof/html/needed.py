"""Let a page ask for some scripts and style sheets only where it has what they are for.

Each file costs a reader's first visit a request and its bytes, whether or not anything comes of it.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def leave_out(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], page: nodes.document | None
) -> None:
    """Take away the files whose text the page does not have; an empty text is in none."""
    only_with: dict[str, str] = app.config.bookproof_only_with
    body = context.get("body", "")

    def needed(file: Any) -> bool:
        name = str(getattr(file, "filename", file)).rpartition("/")[2]
        text = only_with.get(name)
        return text is None or bool(text and re.search(text, body))

    for kind in ("script_files", "css_files"):
        context[kind] = [file for file in context[kind] if needed(file)]


def setup(app: Sphinx) -> None:
    app.add_config_value("bookproof_only_with", {}, "html")
    app.connect("html-page-context", leave_out, priority=950)
