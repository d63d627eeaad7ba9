"""The answer in a sentence."""

from dataclasses import dataclass

from .numbers import answer


def sentence() -> str:
    """Return the answer in a sentence."""
    return f"The answer is {answer()}."


@dataclass
class Line:
    """A picture of a line, so many points long."""

    points: int

    def _repr_svg_(self) -> str:
        """Draw it, with its text alternative as the title."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.points}pt" height="9pt">'
        return f"{head}<title>A line of {self.points} points.</title><path d='M0 4h999'/></svg>"
