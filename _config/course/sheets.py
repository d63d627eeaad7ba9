"""Print the reading sheets of the built site as PDF, each on one page: `_build/sheets/NAME.pdf`."""

import sys
from pathlib import Path

from tests.browser.site import launched

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "_build" / "html" / "sheets"
MADE = ROOT / "_build" / "sheets"


def main() -> None:
    """Print all sheets, or exit with the reason if there are none."""
    sheets = sorted(BUILT.glob("*.html"))
    if not sheets:
        sys.exit("There are no sheets yet: run the session 'book' first.")
    MADE.mkdir(parents=True, exist_ok=True)
    with launched() as browser:
        page = browser.new_page()
        for sheet in sheets:
            page.goto(sheet.as_uri())
            page.pdf(path=MADE / f"{sheet.stem}.pdf", format="A4")
    print(f"{len(sheets)} reading sheets are in {MADE}")


if __name__ == "__main__":
    main()
