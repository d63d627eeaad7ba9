"""Boxes that hold cells: ``{predict}`` with its answer, and ``{versus}`` with wrong beside right.

A directive cannot hold cells that are to run, so that each of these begins with one directive
and ends with another, as the solutions of sphinx-exercise do: see README.md.
"""

from hashlib import sha256
from itertools import count
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from ..words import _
from .addresses import link_to, named
from .elements import Tag, tag
from .formulas import prose

LOGGER = logging.getLogger(__name__)
BOXES = ("predict", "versus")


class Gate(SphinxDirective):
    """The beginning or the end of a box, by the name of the directive."""

    has_content = True
    option_spec: ClassVar = {
        "choices": directives.unchanged_required,
        "name": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        asked = "\n".join([*self.content, self.options.get("choices", "")])
        gate = nodes.container(gate=self.name, asked=asked)
        self.set_source_info(gate)
        if self.content:
            gate += self.parse_content_to_nodes()
        given = self.options.get("name", "")
        gate["called"] = nodes.make_id(given) if given else named("predict", prose(gate))
        choices = self.options.get("choices", "").split("|")
        gate["choices"] = [self.parse_inline(text.strip())[0] for text in choices if text.strip()]
        return [gate]


def close_gates(app: Sphinx, doctree: nodes.document) -> None:
    """Put what is between two gates into the box, on a page that was just read."""
    numbers = count(1)
    for gate in [node for node in doctree.findall(nodes.container) if is_gate(node, *BOXES)]:
        siblings, place = gate.parent, gate.parent.index(gate)
        wanted = f"{gate['gate']}-end"
        ends = (i for i, node in enumerate(siblings) if i > place and is_gate(node, wanted))
        if (end := next(ends, None)) is None:
            LOGGER.warning("nothing ends this %s in its section", gate["gate"], location=gate)
            continue
        inside = siblings[place + 1 : end]
        del siblings[place : end + 1]
        if gate["gate"] == "predict":
            box = predict(gate, inside, app.env.docname, next(numbers))
        else:
            box = versus(gate, inside)
        siblings.insert(place, box)
    for gate in doctree.findall(lambda node: is_gate(node, *(f"{name}-end" for name in BOXES))):
        LOGGER.warning("this %s ends nothing", gate["gate"], location=gate)


def is_gate(node: nodes.Node, *names: str) -> bool:
    return isinstance(node, nodes.container) and node.get("gate") in names


def text(words: str, classes: str) -> nodes.paragraph:
    return nodes.paragraph("", words, classes=[classes])


def predict(gate: nodes.container, answer: list[nodes.Node], page: str, number: int) -> Tag:
    """Make a box of a question, a place to commit oneself, and one fold with all of the answer.

    A cell right under the question whose output was to be hidden belongs to it: only the output
    is an answer.
    """
    if not answer:
        LOGGER.warning("this prediction has no answer", location=gate)
    shown, hidden = question_and_answer(answer)
    of_which = nodes.inline(
        "", _(" to prediction {n}").format(n=number), classes=["visually-hidden"]
    )
    summary = tag("summary", nodes.Text(_("See the answer")), of_which)
    # Under another question, or among other choices, an old prediction would make no sense.
    key = f"{page}/{sha256(gate['asked'].encode()).hexdigest()[:12]}"
    name = gate["called"]
    title = text(_("Predict"), "predict-title")
    title += link_to(name, _("Link to this prediction"))
    box = tag(
        f'div class="predict" id="{name}" data-prediction="{key}"',
        title,
        *gate.children,
        *shown,
        commitment(f"prediction-{number}", gate["choices"]),
        tag('details class="answer"', summary, tag("div", *hidden)),
    )
    box["ids"], box["asks"] = [name], True
    return box


def question_and_answer(parts: list[nodes.Node]) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Return what belongs to the question, and what to the answer."""
    shown: list[nodes.Node] = []
    hidden: list[nodes.Node] = []
    for part in parts:
        hides = part.get("hide_mode") if isinstance(part, nodes.Element) else None
        if hides in ("all", "output"):  # one fold is enough
            del part["hide_mode"]
        if hides == "output" and len(part) > 1 and not hidden:
            output = part.pop(-1)
            shown.append(part)
            part = nodes.container("", output, classes=["cell"])
        hidden.append(part)
    return shown, hidden


def commitment(name: str, choices: list[list[nodes.Node]]) -> Tag:
    """Make a row of choices, or a line to write on."""
    if not choices:
        hint = _("before you look")
        field = tag(f'input autocomplete="off" placeholder="{hint}"')
        return tag('label class="commit"', nodes.Text(_("Your prediction")), field)
    options = [
        tag("label", tag(f'input type="radio" name="{name}" value="{value}"'), *choice)
        for value, choice in enumerate(choices)
    ]
    legend = tag("legend", nodes.Text(_("Your prediction")))
    return tag('fieldset class="commit"', legend, *options)


def versus(gate: nodes.container, parts: list[nodes.Node]) -> Tag:
    if len(parts) != 4:
        rule = "a versus holds four things: wrong, right, and a verdict on each"
        LOGGER.warning("%s; got %d", rule, len(parts), location=gate)
    wrong, right = parts[::2], parts[1::2]
    # With its label inside, as wrong code has it, so that both codes begin on one line.
    code = nodes.container("", text(_("Right"), "right-label"), *right[:1], classes=["right-code"])
    return tag(
        'div class="versus"',
        nodes.container("", *wrong, classes=["side-wrong"]),
        nodes.container("", code, *right[1:], classes=["side-right"]),
    )


def setup(app: Sphinx) -> None:
    for name in BOXES:
        app.add_directive(name, Gate)
        app.add_directive(f"{name}-end", Gate)
    app.setup_extension(f"{__package__}.elements")
    app.connect("doctree-read", close_gates, priority=400)
