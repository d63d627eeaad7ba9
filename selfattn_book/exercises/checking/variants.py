"""Draw different numbers for each student, the same ones each time.

A student's numbers depend on the week's code, the student's id and the name of what is drawn, and on
nothing else: no generator is seeded, and a number added to an exercise moves none of the others.
The week's code is made from a key that only the instructor has. It is printed in the notebook of its
week, so that students can draw their own numbers; those of later weeks cannot be guessed from it.
"""

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

RANGE = re.compile(r"(?:(\d+) of )?(-?\d+)\.\.(-?\d+)")


def week_code(key: str, chapter: str) -> str:
    """Return the code of a chapter's assignment, from a key that only the instructor has."""
    if not key.strip():
        raise ValueError(f"the course key must be a text that only you know; got {key!r}")
    return _digest(key, chapter).hex()[:16]


def draw(code: str, student: object, choices: Mapping[str, Any]) -> dict[str, Any]:
    r"""Draw a student's numbers.

    Args:
        code: of the week, from :func:`week_code`.
        student: an id; capitals and spaces around it make no difference.
        choices: by name, what is drawn from: ``"2..5"``, both ends included; ``"3 of 1..9"``, three
            different ones; or a list, of which one is taken.

    Raises:
        ValueError: the id is no text, is empty or too long, or has characters that cannot be printed;
            or what is drawn from is not as above.

    Example:
        >>> choices = {"width": "2..5", "scores": "3 of 1..9", "words": [["I", "am"], ["we", "are"]]}
        >>> numbers = draw("code", "ada", choices)
        >>> numbers == draw("code", " ADA\n", choices), 2 <= numbers["width"] <= 5
        (True, True)
        >>> len(set(numbers["scores"])), numbers["words"] in choices["words"]
        (3, True)
    """
    who = checked_id(student)
    return {name: _drawn(name, given, code, who) for name, given in choices.items()}


def checked_id(student: object) -> str:
    r"""Return a student's normalized id, or raise.

    Example:
        >>> checked_id("  Zoë Ångström-2 "), checked_id("Zoe\u0308") == checked_id("zoë")
        ('zoë ångström-2', True)
    """
    if not isinstance(student, str):
        rule = "a student id must be text, in the cell at the top"
        raise ValueError(f"{rule}; got {student!r}")
    who = unicodedata.normalize("NFC", student.strip().casefold())
    if not 1 <= len(who) <= 100:
        raise ValueError(f"a student id must have 1 to 100 characters; got {len(who)}")
    if not who.isprintable():
        rule = "a student id must have characters that can be printed"
        raise ValueError(f"{rule}; got {student!r}")
    return who


def _drawn(name: str, given: object, code: str, who: str) -> Any:
    """Draw what goes by one name."""
    if isinstance(given, list) and given:
        return _ordered(given, code, who, name)[0]
    found = RANGE.fullmatch(given) if isinstance(given, str) else None
    choices = range(int(found[2]), int(found[3]) + 1) if found else range(0)
    if not found or len(choices) < int(found[1] or 1):
        rule = f'{name} must be drawn from "2..5", "3 of 1..9" or a list'
        raise ValueError(f"{rule}; got {given!r}")
    taken = _ordered(choices, code, who, name)
    return taken[: int(found[1])] if found[1] else taken[0]


def _ordered(choices: Sequence[Any], code: str, *names: str) -> list[Any]:
    """Return the choices in an order that code and names decide."""
    return sorted(choices, key=lambda choice: _digest(code, *names, repr(choice)))


def _digest(key: str, *words: str) -> bytes:
    message = "\0".join(words).encode()
    return hmac.new(key.encode(), message, hashlib.sha256).digest()
