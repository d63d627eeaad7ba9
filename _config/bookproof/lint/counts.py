"""Count what a book has, so that nothing is lost unnoticed."""

import re
from collections import Counter

from .page import Book

DIRECTIVES = {
    "claim": "claims",
    "exercise": "exercises",
    "solution-start": "solutions",
    "predict": "predictions",
    "caption": "figures with a caption",
    "figure": "figures of files",
    "listing": "listings",
    "code-cell": "code cells",
    "instructors": "notes for instructors",
}
EQUATION = re.compile(r"^\$\$\s*\([\w-]+\)$|^`{3,}\{math\}\n:label:", re.M)
PATTERNS = {
    "quiz questions": r"^```\{dropdown\} Answer$",
    "links to terms": r"\{term\}`",
    "citations": r"\{cite:\w+\}`",
    "words of prose": r"[A-Za-z]{2,}",
}


def counts(book: Book) -> dict[str, int]:
    """Count pages, claims, checks, exercises, figures and the rest."""
    found = Counter(block.kind for page in book.pages for block in page.blocks)
    cells = [cell for page in book.pages for cell in page.cells]
    entries = (b.code for p in book.pages for b in p.blocks if b.kind == "glossary")
    return {
        "pages": len(book.pages),
        "chapters": len(book.chapters),
        "checks": sum(cell.is_check for cell in cells),
        **{name: found[kind] for kind, name in DIRECTIVES.items()},
        "equations with a label": sum(len(re.findall(EQUATION, page.text)) for page in book.pages),
        "glossary entries": sum(len(re.findall(r"^\w.*\n(?=  )", text, re.M)) for text in entries),
        **{
            name: sum(len(re.findall(pattern, page.prose, re.M)) for page in book.pages)
            for name, pattern in PATTERNS.items()
        },
    }
