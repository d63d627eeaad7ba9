"""What a page or a setting gets wrong fails a strict build, and is named with its place."""

import re

import pytest

NOTE = "-Dbookproof_note_addresses=1"

# -- Everything that a build warns of, in one build ------------------------------------

# Each on a page of its own, and what is said of the line on which it begins.
FAULTS = [
    ("```{listing} tiny.numbers.no_such_thing\n```", "no_such_thing"),
    ("```{listing} no_such_package.thing\n```", "no_such_package"),
    ("{eq}`nowhere`", "nowhere"),
    ("{cite:t}`nobody1900nothing`", "nobody1900nothing"),
    ("[](nothing.md)", "nothing"),
    ("{py:func}`tiny.no_such`", "no_such"),
    ("$\\frac{1}$", "KaTeX parse error"),
    ("![](dot.svg)", "this picture has no text alternative"),
    ("```{claim} nothing\n```", "ontent block expected"),
    ("{minutes}`all`", "minutes are of main, exercises; got 'all'"),
    ("```{changes} ../NOTHING.md\n```", "There must be a change log; got ../NOTHING.md"),
    ("```{changes} ../CHANGELOG.md\n:part: For cats\n```", "a part called 'For cats'; got none"),
]
# Each in a section of its own at the end of the page of words.
LOOSE = {
    "this caption follows no cell with a picture": ":::{caption} lost\nNothing.\n:::",
    "nothing ends this predict in its section": ":::{predict}\nWhat?\n:::",
    "this versus-end ends nothing": ":::{versus-end}\n:::",
    "this prediction has no answer": ":::{predict}\nWhat?\n:::\n\n:::{predict-end}\n:::",
    "a versus holds four things: wrong, right, and a verdict on each; got 1": (
        ":::{versus}\n:::\n\nOne.\n\n:::{versus-end}\n:::"
    ),
    "this picture has nothing that is live": (
        "```{code-cell}\nwords.Line(9)\n```\n\n:::{caption} still\n:live: Move it\n\nA line.\n:::"
    ),
    "the picture of this cell has no caption": "```{code-cell}\nwords.Line(9)\n```",
}
SAME_AGAIN = "(b) 84\n\n**2.** What is $a + a$, as a digit?\n: (a) 1 (b) 2"
# File, text, another text, and what is said of that.
EDITS = [
    ("docs/index.md", "} Behind", "} Before", "named by its caption; got 'Before the book'"),
    ("docs/index.md", "number word\n", "number wordy\n", "syllabus: 'wordy' must be a chapter"),
    ("docs/index.md", "data\n", "data\nfaults\n", ""),
    ("docs/number.md", "(b) 84", SAME_AGAIN, "two things are called 'quiz-what-is-a-a-as-a'"),
    ("config/conf.py", "equation-twice", "equation-2", "there is no number.html#equation-2"),
    ("config/conf.py", '"changes"', '"news"', "_changes must name a page of the book; got 'news'"),
    ("config/conf.py", '"redirects.txt"', '"nothing.txt"', "bookproof_redirects names"),
    ("tiny/words.py", "A line of {self.points} points.", " ", ""),
    ("tiny/words.py", "<path d", "<path id='line' d", ""),
]


def equation(name):
    return f"```{{math}}\n:label: {name}\n1 + 1 = 2\n```\n"


def claim(name):
    return f"```{{claim}} {name}\nOne and one is two.\n```\n"


def check(name, by="exact"):
    return f"```{{code-cell}}\n:check: {name}\n:by: {by}\nassert 1 + 1 == 2\n```\n"


# Parts of a page, and what is said of the last line that begins with three backticks in each.
UNBOUND = [
    (equation("alone"), "nothing checks 'alone'"),
    (claim("said"), "nothing checks 'said'"),
    (check("nobody"), "a cell checks 'nobody', and nothing has that id"),
    (equation("sum") + check("sum"), ""),
    (check("sum"), "2 cells check 'sum'; one must do it"),
    (equation("luck"), ""),
    (check("luck", "luck"), "check 'luck' is by 'luck'; it must be by one of exact, oracle"),
    (claim("again"), ""),
    (claim("again") + check("again"), "two equations or claims are called 'again'"),
    (claim("it's") + check("it's"), "an id must be made of letters and digits, with hyphens"),
    (check("twice"), "a cell checks 'twice', which is on the page number"),
]


@pytest.fixture(scope="module")
def faulty(home, site):
    """A small book with all of these faults, what its build said, and where faults begin."""
    book = type(site).copy(site.root, home / "book")
    for file, old, new, _ in EDITS:
        book.edit(file, old, new)
    book.write("docs/dot.svg", '<svg xmlns="http://www.w3.org/2000/svg"/>')
    book.write("docs/faults.md", "# F\n\n" + "\n\n".join(text for text, _ in FAULTS))
    book.write("docs/outside.md", "# Outside of the table of contents\n")
    text, loose = (book.root / "docs" / "word.md").read_text("utf-8"), {}
    for number, (why, fault) in enumerate(LOOSE.items()):
        text += f"\n## {number}\n\n"
        # A cell is known by its last line.
        loose[why] = text.count("\n") + 1 + 2 * fault.startswith("```")
        text += f"{fault}\n"
    book.write("docs/word.md", text)
    text, unbound = (book.root / "docs" / "data.md").read_text("utf-8") + "\n", []
    for part, why in UNBOUND:
        start = text.count("\n") + 1
        unbound.append((start, start + part.count("\n") + 1, why))
        text += part
    book.write("docs/data.md", text)
    built = book.build()
    assert not built.good
    return built.said, loose, unbound


def test_every_fault_of_a_page_is_named_with_its_place(faulty):
    said, loose, _ = faulty
    line = 3
    for text, why in FAULTS:
        place = rf"^.*docs/faults\.md:{line}: (WARNING|ERROR|CRITICAL): .*{re.escape(why)}"
        assert re.search(place, said, re.MULTILINE), (text, why)
        line += len(text.splitlines()) + 1
    assert re.search(r"docs/outside\.md: WARNING: .*toctree", said)
    for why, line in loose.items():
        assert f"docs/word.md:{line}: WARNING: {why}" in said
    for why in ("this picture has no text alternative", "this picture has ids"):
        lines = re.findall(rf"word\.md:(\d+): WARNING: {why}", said)
        assert lines[:3] == ["41", "49", "76"]


def test_what_is_unbound_is_named_with_its_place(faulty):
    said, _, unbound = faulty
    found = re.findall(r"docs/data\.md:(\d+): WARNING: (.*)", said)
    for start, end, why in filter(lambda row: row[2], unbound):
        places = [int(line) for line, words in found if words.startswith(why)]
        assert len(places) == 1, why
        assert start <= places[0] <= end, why


@pytest.mark.parametrize("why", [why for *_, why in EDITS if why])
def test_what_is_asked_for_must_be_there(faulty, why):
    assert why in faulty[0]


def test_a_warning_fails_the_build_each_time(built):
    built.edit("docs/number.md", "See also", "See [](nothing.md) and")
    for _ in range(2):
        warned = built.build()
        assert not warned.good
        assert "nothing.md" in warned.said


def test_many_pages_are_written_side_by_side_each_with_its_own_formulas(built):
    names = [f"page_{number}" for number in range(20)]
    formulas = {name: [f"x_{{{name}}} + {n}" for n in range(50)] for name in names}
    for name, own in formulas.items():
        text = "\n".join(f"${formula}$" for formula in own)
        built.write(f"docs/{name}.md", f"# {name}\n\n{text}\n")
    built.edit("docs/index.md", "promise\nch", "\n".join(["promise", *names, "ch"]))
    label = 'aria-label="A line of {self.points} points."'
    built.edit("tiny/words.py", label, 'aria-hidden="true"')
    assert built.build().good, "what nobody needs to hear may be silent"
    for name, own in formulas.items():
        found = re.findall(r"<annotation[^>]*>(.*?)</annotation>", built.html(name))
        assert found == own

    built.edit("docs/page_17.md", "+ 49", r"+ \nothing")
    broken = built.build()
    assert not broken.good
    assert "docs/page_17.md" in broken.said
    assert broken.said.count("nothing") == 1


# -- Addresses and redirects -----------------------------------------------------------


def record(book):
    return (book.root / "config" / "addresses.list").read_text("utf-8").split()


def test_a_lost_address_fails_the_build_with_one_message_until_it_leads_on(built):
    before = record(built)
    assert before == sorted(set(before))
    built.edit("docs/word.md", "full-stop", "last-sign")
    built.edit("docs/word.md", "} short-line", "} thin-line")
    built.edit("docs/word.md", "`short-line`", "`thin-line`")
    lost = ["word#claim-full-stop", "word#fig-short-line"]
    new = ["word#claim-last-sign", "word#fig-thin-line"]
    for options in ([], [NOTE]):
        result = built.build(*options)
        assert not result.good
        assert result.said.count("WARNING") == 1
        assert f"{', '.join(lost)} lead nowhere." in result.said
        assert "redirects.txt" in result.said
    assert record(built) == sorted([*before, *new]), "those lost are kept until they lead on"
    lines = [*map(" -> ".join, zip(lost, new, strict=True)), "promise#its-price -> word#boxes"]
    built.write("config/redirects.txt", "\n".join(lines) + "\n")
    assert built.build(NOTE).good
    assert set(record(built)) == {*before, *new} - set(lost)


def test_a_page_that_moves_takes_its_addresses_along_and_leads_on(built):
    assert built.made("old/numeral.html").exists()
    page = built.root / "docs" / "promise.md"
    page.rename(page.with_name("vow.md"))
    built.edit("docs/index.md", "promise\n", "vow\n")
    assert "; promise, promise#halve lead nowhere." in built.build().said
    built.write("config/redirects.txt", "promise -> vow\n")
    assert built.build().good
    assert 'url=vow.html"' in built.html("promise")
    assert not built.made("old/numeral.html").exists(), "an address was given up"


LEAD_NOWHERE = [
    ("one => word", "a redirect reads 'old -> new'; got 'one => word'"),
    ("two -> nowhere", "a redirect leads to a page of the book; got nowhere"),
    ("three -> word#nothing", "a redirect leads to a part of a page; word has no nothing"),
    ("two -> data", "what was leads to one place; got a second one"),
    ("data -> word", "the page data is still there"),
    ("four -> five", "a redirect leads to a page of the book; got five"),
    ("five -> four", "a redirect leads to a page of the book; got four"),
    ("six#part -> word", "only a page can say where a part of it went"),
    ("word#boxes -> data", "the page word still has the part boxes"),
    ("data#a -> word#b", "a redirect leads to a part of a page; word has no b"),
    ("word#b -> number#a", "a redirect leads to a part of a page; number has no a"),
]


def test_what_leads_nowhere_fails_the_build_with_its_line(built):
    lines = ["# one line above", *(line for line, _ in LEAD_NOWHERE)]
    built.write("config/redirects.txt", "\n".join([*lines, "seven -> word", ""]))
    built.write("config/addresses.list", "".join(f"word#gone-{n}\n" for n in range(1, 8)))
    for _ in range(2):  # and again, until it is put right
        result = built.build()
        assert not result.good
        found = re.findall(r"redirects\.txt:(\d+): WARNING: (.*)", result.said)
        message = {int(number): why for number, why in found}
        assert sorted(message) == list(range(2, 2 + len(LEAD_NOWHERE)))
        for number, (_, said) in enumerate(LEAD_NOWHERE, 2):
            assert said in message[number]
        assert "word#gone-4, word#gone-5 and 2 more lead nowhere." in result.said


# -- The lean theme --------------------------------------------------------------------

THEME = "-Dhtml_theme=sphinx_book_theme"


def test_a_site_with_the_theme_is_made_lean_and_again_to_the_same(built):
    assert built.build("-E", THEME).good
    static = built.made("_static")
    sheets = {file: file.read_bytes() for file in static.rglob("*.css")}
    texts = b"".join(sheets.values()).decode()
    assert 'html[data-theme="light"] .highlight' not in texts
    assert not list(static.rglob("*.map"))
    # This book has the theme's own pages, which show icons of the library.
    assert "Font Awesome" in texts
    assert (static / "scripts" / "fontawesome.js").exists()

    built.edit("docs/word.md", "It fits.", "It does fit.")
    for _ in range(2):
        assert built.build(THEME).good
        assert {file: file.read_bytes() for file in static.rglob("*.css")} == sheets


def test_a_theme_whose_files_are_elsewhere_is_named(built):
    text = (built.root / "config" / "conf.py").read_text("utf-8")
    away = (
        "def setup(app):\n    from pathlib import Path\n"
        "    def move(app, error): Path(app.outdir, '_static/pygments.css').unlink()\n"
        "    app.connect('build-finished', move, priority=800)\n"
    )
    built.write("config/conf.py", text + away)
    failed = built.build(THEME)
    assert not failed.good
    assert "not made lean: pygments.css is not there" in failed.said
