"""Write formulas as plain text, and say the names of their letters and signs.

For places that show no mathematics: descriptions, and the search.
"""

import re
import unicodedata
from collections.abc import Callable

from docutils import nodes

SIGNS = {
    "sqrt": "√", "sum": "∑", "prod": "∏", "int": "∫", "partial": "∂", "nabla": "∇", "infty": "∞",
    "cdot": "·", "times": "×", "odot": "⊙", "pm": "±", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥",
    "ne": "≠", "neq": "≠", "approx": "≈", "in": "∈", "to": "→", "top": "T", "ell": "ℓ",
    "dots": "…", "cdots": "…", "ldots": "…", "lVert": "‖", "rVert": "‖", "lvert": "|", "rvert": "|",
}  # fmt: skip
FUNCTIONS = {"exp", "ln", "log", "max", "min", "sin", "cos", "tanh", "arg", "det", "dim"}
BETWEEN = {nodes.row: ", ", nodes.tbody: ". "}  # between the parts of a table
COMMAND = re.compile(r"\\([A-Za-z]+)(\s*)")
FRACTION = re.compile(r"\\[td]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")


def letter(name: str) -> str:
    """Return the Greek letter of a name as TeX has it, or an empty string."""
    plain = name.removeprefix("var")
    case = "CAPITAL" if plain[:1].isupper() else "SMALL"
    spelled = plain.upper().replace("LAMBDA", "LAMDA")  # codespell:ignore
    try:
        return unicodedata.lookup(f"GREEK {case} LETTER {spelled}")
    except KeyError:
        return ""


def sign(command: re.Match[str]) -> str:
    """Return what a command of TeX looks like; what only arranges others looks like nothing."""
    name, space = command.groups()
    if name in FUNCTIONS or "quad" in name:
        return f" {name if name in FUNCTIONS else ''} "
    looks = SIGNS.get(name) or letter(name)
    return looks + space if looks and name != "sqrt" else looks


def plain(tex: str) -> str:
    r"""Return a formula as text: ``d_{\text{head}}`` becomes ``d_head``."""
    text = re.sub(r"\\(begin|end)\s*\{\w+\*?\}", " ", tex)
    text = FRACTION.sub(r"\1 / \2", FRACTION.sub(r"\1 / \2", text))
    text = COMMAND.sub(sign, re.sub(r"\\[,;:! ]|~|&|\\\\", " ", text))
    return " ".join(re.sub(r"[{}\\]", "", text).split())


def names(tex: str) -> set[str]:
    """Return the names of the letters and signs of a formula, as one would ask for them."""
    commands = {found[1] for found in COMMAND.finditer(tex)}
    named = {name for name in commands if letter(name) or name in SIGNS}
    return {name.removeprefix("var").lower() for name in named}


def prose(node: nodes.Node, skip: Callable[[nodes.Node], bool] = lambda node: False) -> str:
    """Return the text of a node in one line, its formulas as plain text, without what is skipped."""

    def text(part: nodes.Node) -> str:
        if isinstance(part, nodes.Text):
            return str(part)
        if isinstance(part, nodes.math):
            return plain(part.astext())
        between = "" if isinstance(part, nodes.TextElement) else BETWEEN.get(type(part), " ")
        said = [text(child) for child in part.children if not skip(child)]
        return between.join(filter(None, said))

    return " ".join(text(node).split())
