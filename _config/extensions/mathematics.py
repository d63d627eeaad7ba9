"""Render mathematics with KaTeX, and name the place of a formula that cannot be rendered.

By itself sphinxcontrib-katex prints a faulty formula in red, and the build stays green.
"""

from collections.abc import Callable

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator
from sphinxcontrib import katex

LOGGER = logging.getLogger(__name__)
Visitor = Callable[[HTML5Translator, nodes.Element], None]


def checked(visit: Visitor) -> Visitor:
    """Return the visitor with KaTeX's complaint turned into a warning at the formula."""

    def visit_formula(self: HTML5Translator, node: nodes.Element) -> None:
        try:
            visit(self, node)
        except katex.KaTeXError as error:
            LOGGER.warning("%s", error, location=node)
            raise nodes.SkipNode from error

    return visit_formula


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer; the name is what `html_math_renderer` is set to."""
    app.setup_extension("sphinxcontrib.katex")
    katex.KATEX_DEFAULT_OPTIONS.update(throwOnError=True, strict="error")
    # The server's socket file is there a moment before anyone listens, and then a busy
    # machine fails the build; a network socket is tried again until someone answers.
    katex.KaTeXServer.start_server_process = katex.KaTeXServer.start_network_socket
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60
    app.add_html_math_renderer(
        "checked_katex",
        inline_renderers=(checked(katex.html_visit_math), None),
        block_renderers=(checked(katex.html_visit_displaymath), None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
