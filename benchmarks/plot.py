"""A picture of the benchmark: every contender's time, in times of the first's."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from selfattn_book.draw.style import panels


def draw(results: dict[str, Any], file: Path) -> None:
    """Draw the ratios of all comparisons into an SVG file, one row a contender."""
    rows = sum(len(result["contenders"]) for result in results.values())
    (ax,) = panels(width=6.0, height=0.8 + 0.25 * rows)
    names, place = [], 0
    for result in results.values():
        for row in result["contenders"]:
            ax.plot([0, row["ratio"]], [place, place], color="0.5")
            ax.plot([row["ratio"]], [place], "o", color="0.2")
            names.append(f"{result['title']}: {row['contender']}")
            place += 1
    ax.axvline(1.0, linestyle="dashed", color="0.5")
    ax.set_yticks(range(place), names)
    ax.invert_yaxis()
    ax.set_xlabel("time, in times of the first of each comparison")
    plt.savefig(file, bbox_inches="tight")
    plt.close("all")
