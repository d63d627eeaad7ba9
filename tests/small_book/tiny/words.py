"""The answer in a sentence."""

from dataclasses import dataclass

from .numbers import answer


def sentence() -> str:
    """Return the answer in a sentence."""
    return f"The answer is {answer()}."


SVG = '<svg xmlns="http://www.w3.org/2000/svg"'


@dataclass
class Line:
    """A picture of a line, so many points long."""

    points: int

    def _repr_svg_(self) -> str:
        """Draw it, and say what it is."""
        said = f'role="img" aria-label="A line of {self.points} points."'
        live = f"<metadata>{self.points}</metadata>" if self.points > 100 else ""
        return f"{SVG} {said}>{live}<path d='M0 4h{self.points}'/></svg>"


@dataclass
class Lines:
    """Some lines, which a page may put below each other."""

    points: list[int]

    def _repr_svg_(self) -> str:
        """Draw each as a picture of its own."""
        return f"{SVG}>{''.join(Line(each)._repr_svg_() for each in self.points)}</svg>"
