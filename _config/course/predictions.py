"""Count the predictions that students committed to: a file for each, with lines of *Copy my prediction*.

The script of the page, `predict.js`, writes a line as `page, prediction, choice, time, digest`. The
digest shows that nobody edited the line by hand. A student who reads the script can compute one, so
give it little weight.
"""

import sys
from hashlib import sha256
from pathlib import Path


def unchanged(line: str) -> bool:
    """Return whether a line is as the page wrote it.

    Example:
        >>> unchanged("masks, predict-one, 2, 2026-11-26T16:55:00.000Z, 0a2bb51b8fd7c3a4")
        False
        >>> unchanged("masks, predict-one, 2, 2026-11-26T16:55:00.000Z, 0ab23b3cc9031369")
        True
    """
    text, _, digest = line.strip().rpartition(", ")
    return text.count(", ") >= 3 and digest == sha256(text.encode()).hexdigest()[:16]


def main(names: list[str]) -> int:
    """Print for each file the count of its predictions, and each line that does not count."""
    owners: dict[str, str] = {}
    for file in map(Path, names):
        lines = [line.strip() for line in file.read_text("utf-8").splitlines() if line.strip()]
        reasons = {line: "changed" for line in lines if not unchanged(line)}
        reasons |= {line: f"also in {owners[line]}" for line in lines if line in owners}
        owners |= dict.fromkeys(lines, file.name)
        print(f"{file.name}: {len(set(lines)) - len(reasons)} predictions")
        for line, reason in reasons.items():
            print(f"  {reason}: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
