"""A content-security policy on every page: scripts of the site, and inline ones by their digest.

Formulas and figures carry their sizes in attributes of style; elements of style need a digest as well.
"""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from sphinx.application import Sphinx

from .places import on_a_site

INLINE = {  # scripts that are data are not run, and ask for nothing
    "script": re.compile(r"<script(?![^>]*(?:\bsrc=|\+json))[^>]*>(.*?)</script>", re.DOTALL),
    "style": re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL),
}
HEAD = re.compile(r"(<meta charset=[^>]*>)")
MARK = '<meta http-equiv="Content-Security-Policy"'
POLICY = (
    "default-src 'none'; script-src 'self'{script}; style-src-elem 'self'{style};"
    " style-src-attr 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'self'"
)


def policy(html: str) -> str:
    """Return the policy that runs the scripts of a page, and no others.

    Example:
        >>> policy("<script>go()</script>")[:51]
        "default-src 'none'; script-src 'self' 'sha256-5KYv+"
    """
    allowed = {kind: digests(pattern.findall(html)) for kind, pattern in INLINE.items()}
    return POLICY.format(**allowed)


def digests(texts: list[str]) -> str:
    """Return the sources of a policy that allow these texts."""
    found = (b64encode(sha256(text.encode()).digest()).decode() for text in texts)
    return "".join(f" 'sha256-{digest}'" for digest in dict.fromkeys(found))


@on_a_site
def add_policies(app: Sphinx) -> None:
    """Put the policy of each page behind the line that says how it is encoded."""
    for file in Path(app.outdir).rglob("*.html"):
        text = file.read_text("utf-8")
        if "_static" not in file.parts and MARK not in text:
            meta = f'\\1{MARK} content="{policy(text)}">'
            file.write_text(HEAD.sub(meta, text, count=1), "utf-8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", add_policies, priority=990)  # when nothing changes pages any more
