"""Give each paragraph of a section an address, and a quiet mark that links to it.

The address is a digest of the paragraph's first words, so it survives an edit elsewhere, and most edits
in the paragraph itself; unlike the addresses that are on record, it is not promised. The mark appears
when one points at its paragraph. It is kept out of the tab order and from screen readers: a page has a
hundred of them, and would have as many stops before its next section.
"""

from collections import Counter
from hashlib import sha256

from docutils import nodes
from sphinx.application import Sphinx

from .elements import Anchor
from .formulas import prose

WORDS = 8  # that decide the address
MARK = 'a class="headerlink paragraph" href="#{name}" tabindex="-1" aria-hidden="true"'


def address(text: str) -> str:
    """Return the address of a paragraph, from its first words.

    Example:
        >>> address("All tokens attend.") == address("All tokens  attend.")
        True
        >>> address("All tokens attend.")
        'p-fcf8c6da'
    """
    words = " ".join(text.split()[:WORDS])
    return f"p-{sha256(words.encode()).hexdigest()[:8]}"


def name_paragraphs(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Name the paragraphs of a page; the second of two that begin alike has a number."""
    times: Counter[str] = Counter()
    for paragraph in doctree.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section) or paragraph["ids"]:
            continue
        name = address(prose(paragraph))
        times[name] += 1
        if times[name] > 1:
            name = f"{name}-{times[name]}"
        paragraph["ids"] = [name]
        paragraph += Anchor(open=MARK.format(name=name))


def setup(app: Sphinx) -> None:
    app.setup_extension(f"{__package__}.elements")
    app.connect("doctree-resolved", name_paragraphs, priority=980)
