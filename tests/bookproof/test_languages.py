"""A translation is a book in a folder of its original's site, and both lead to each other."""

import os
import re
import subprocess
import sys

from bookproof.translations import renew
from small_books import ENGINE, STRICT

GERMAN = "-c config -D language=de -d _build/de-doctrees docs/languages/de _build/html/de"
INDEX = """---
translates: ""
---
# Ein kleines Buch

See [](number.md), [a word](word.md) and [what is drawn](word.md#two-pictures).

```{toctree}
:numbered: 1

word
```
"""


def build_translation(book):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(book.root), str(ENGINE)])}
    command = [sys.executable, "-m", "sphinx", *STRICT, *GERMAN.split()]
    done = subprocess.run(
        command, cwd=book.root, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_page_in_two_languages(built):
    docs = built.root / "docs"
    (docs / "languages" / "de").mkdir(parents=True)
    files = [docs / "languages" / "de" / name for name in ("index.md", "word.md")]
    word = (docs / "word.md").read_text("utf-8").replace("# A word", "# Ein Wort", 1)
    word = word.replace("## Two pictures", "(two-pictures)=\n## Zwei Bilder")
    word = word.replace("**You will** draw", "**Du wirst** draw").replace("**Time**", "**Zeit**")
    files[0].write_text(INDEX, "utf-8")
    files[1].write_text(word.replace("---\n", '---\ntranslates: ""\n', 1), "utf-8")
    renew(files[1], docs / "word.md")
    assert "hreflang" not in built.html("word")

    build_translation(built)
    page, cover = built.html("de/word"), built.html("de/index")
    assert '<html lang="de"' in page
    assert re.search(r'<section[^>]* id="two-pictures"', page)
    assert "Das Original hat sich" in cover
    assert "Das Original hat sich" not in page
    assert re.search(r'<a hreflang="en" [^>]*href="../number.html"', cover)
    assert 'href="word.html#two-pictures"' in cover
    assert built.made("de/_static/words.js").is_file()
    numbers = [re.search(r"<title>(\S+) ", built.html(name))[1] for name in ("word", "de/word")]
    assert numbers == ["2.", "2."]

    assert built.build().good
    assert not built.made("languages").exists()
