"""Give what readers refer to an address that lasts, and notice when one is lost.

A prediction and a question of a quiz are named by the first words of what they ask; a prediction may
have another name. Everything else is named by its author or by what it shows.

The address of a paragraph is a digest of its first words, so it survives an edit elsewhere, and most
edits in the paragraph itself; it is not promised. Its mark appears when one points at the paragraph. It
is kept out of the tab order and from screen readers: a page has a hundred of them, and would have as
many stops before its next section.
"""

import re
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx_exercise.nodes import solution_node

from .elements import Anchor
from .formulas import prose
from .places import on_a_site, pages_as_written
from .redirects import redirects

LOGGER = logging.getLogger(__name__)
WORDS = 6  # of what is asked make a name
WORDS_OF_A_PARAGRAPH = 8
MARK = 'a class="headerlink paragraph" href="#{name}" tabindex="-1" aria-hidden="true"'
SHOWN = 5  # of the addresses that are lost
PLACE = re.compile(r'<(?P<tag>\w+)\b(?=[^>]*\bid="(?P<id>[^"]+)")[^>]*>')
CLASSES = re.compile(r'\bclass="([^"]*)"')
KINDS = {"exercise", "quiz-question", "claim", "predict", "literal-block-wrapper"}
COUNTED = re.compile(r"id\d+")
LOST = (
    "what was promised to readers must stay where it is; %s lead nowhere."
    " Give each the name that it had, lead on from it in %s, or take it out of %s"
    " if it was never published"
)


# -- Names ------------------------------------------------------------------------


def named(kind: str, asked: str) -> str:
    """Return the name of something that asks, from its first words but its number.

    Example:
        >>> named("quiz", "1. Which row sees itself, and which sees all?")
        'quiz-which-row-sees-itself-and-which'
    """
    words = re.findall(r"\w+", re.sub(r"^\d+\.\s*|['’]", "", asked))
    return nodes.make_id(" ".join([kind, *words[:WORDS]]))


def link_to(name: str, title: str) -> Anchor:
    return Anchor(open=f'a class="headerlink lasting" href="#{name}" title="{title}"')


def name_solutions(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for solution in doctree.findall(solution_node):
        if target := solution.get("target_label"):
            solution["ids"] = [f"{target.rpartition('/')[2]}-solution"]


def warn_of_equal_names(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    elements = doctree.findall(nodes.Element)
    asking = (e for e in elements if e.get("asks") or "quiz-question" in e.get("classes", ()))
    counts = Counter(name for element in asking for name in element["ids"])
    for name in sorted(name for name, count in counts.items() if count > 1):
        LOGGER.warning("two things are called %r; give one of them a name", name, location=docname)


def address_of_paragraph(text: str) -> str:
    """Return the address of a paragraph, from its first words.

    Example:
        >>> address_of_paragraph("All tokens attend.")
        'p-fcf8c6da'
    """
    words = " ".join(text.split()[:WORDS_OF_A_PARAGRAPH])
    return f"p-{sha256(words.encode()).hexdigest()[:8]}"


def name_paragraphs(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Name the paragraphs of sections; the second of two that begin alike has a number."""
    times: Counter[str] = Counter()
    for paragraph in doctree.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section) or paragraph["ids"]:
            continue
        name = address_of_paragraph(prose(paragraph))
        times[name] += 1
        if times[name] > 1:
            name = f"{name}-{times[name]}"
        paragraph["ids"] = [name]
        paragraph += Anchor(open=MARK.format(name=name))


# -- The record -------------------------------------------------------------------


def addresses(page: str, html: str) -> Iterator[str]:
    """Yield the addresses that a page promises, without those that are merely counted.

    Example:
        >>> list(addresses("one", '<figure class="a" id="fig-it"><p id="id3"><i id="other">'))
        ['one', 'one#fig-it']
    """
    yield page
    for place in PLACE.finditer(html):
        classes = set(" ".join(CLASSES.findall(place[0])).split())
        lasts = place["tag"] == "figure" or place["id"].startswith("equation-") or classes & KINDS
        if lasts and not COUNTED.fullmatch(place["id"]):
            yield f"{page}#{place['id']}"


@on_a_site
def compare(app: Sphinx) -> None:
    """Warn of the addresses that are lost, and note those that are new where that is asked for."""
    config = app.config
    if not config.bookproof_addresses or config.bookproof_edition == "students":
        return  # that edition lacks the solutions, and so the figures in them
    record = Path(app.confdir, config.bookproof_addresses)
    promised = set(record.read_text("utf-8").split()) if record.is_file() else set()
    texts = pages_as_written(app)
    there = {place for page, html in texts.items() for place in addresses(page, html)}
    if lost := sorted(promised - there - moved(app, promised, there)):
        some = ", ".join(lost[:SHOWN]) + (f" and {len(lost) - SHOWN} more" if lost[SHOWN:] else "")
        LOGGER.warning(LOST, some, config.bookproof_redirects, record.name)
    if config.bookproof_note_addresses:
        text = "\n".join(sorted(there | set(lost))) + "\n"
        record.write_text(text, "utf-8")


def moved(app: Sphinx, promised: set[str], there: set[str]) -> set[str]:
    """Return those addresses from which a redirect leads on; that of a page, to its parts too."""
    parts = {f"{one.old}#{one.part}" for one in redirects(app) if one.part}
    pages = {one.old: one.new for one in redirects(app) if not one.part}
    for address in promised:
        page, mark, part = address.partition("#")
        if page in pages and f"{pages[page]}{mark}{part}" in there:
            parts.add(address)
    return parts


def setup(app: Sphinx) -> None:
    for part in ("edition", "elements", "redirects"):
        app.setup_extension(f"{__package__}.{part}")
    app.add_config_value("bookproof_addresses", "", "", str)
    app.add_config_value("bookproof_note_addresses", False, "")
    app.connect("doctree-resolved", name_solutions, priority=850)
    app.connect("doctree-resolved", warn_of_equal_names, priority=950)
    app.connect("doctree-resolved", name_paragraphs, priority=980)
    app.connect("build-finished", compare, priority=410)  # before the build counts its warnings
