"""No equation and no claim without its check, and no check without its target."""

import re


def test_a_check_is_folded_under_its_name_and_its_target_leads_to_it(built):
    html = built.html("number")
    folds = re.findall(r'<details class="fold check( beside)?"><summary>(.*?)</summ', html)
    # One follows its target at once, and is the mark itself; the other one is far from it.
    assert [beside for beside, _ in folds] == [" beside", ""]
    assert [re.sub(r"<.*?>", "", name) for _, name in folds] == [
        "✓Check: double is even against an independent implementation",
        "✓Check: twice exactly, or to rounding",
    ]
    assert re.findall(r'class="check-mark" href="#check-([\w-]+)"', html) == ["twice"]
    for name in ("twice", "double-is-even"):
        assert f'id="check-{name}"' in html


def ledger(book):
    """Return the tables of the ledger, row by row, with the HTML of each cell."""
    tables = re.findall(r"(?s)<table.*?</table>", book.html("reference"))
    rows = [re.findall(r"(?s)<tr.*?</tr>", table) for table in tables]
    return [[re.findall(r"(?s)<td><p>(.*?)</p>", row) for row in part] for part in rows]


def words(cell):
    return re.sub(r"<.*?>", "", cell)


def test_the_ledger_has_a_table_a_page_in_the_order_of_what_is_checked(built):
    of_number, of_word = ledger(built)
    html, text = built.html("reference"), built.page("reference")
    assert re.search(r"3 checks, run with Python 3\.\d+\.\d+, ipykernel \d", text)
    html = html[html.index("3 checks, run") :]
    assert html.index(">A number<") < html.index("twice") < html.index(">A word<")
    assert [words(row[0])[:13] for row in of_number[1:]] == [
        "equation (1.1",
        "By definition",
    ]
    assert 'href="number.html#equation-twice"' in of_number[1][0]
    assert 'href="number.html#check-twice"' in of_number[1][-1]
    assert words(of_number[2][1]) == "against an independent implementation"
    [(what, how, *_, check)] = of_word[1:]
    assert words(what) == "The sentence ends with a full stop."
    assert words(how) == "as a property, on random inputs"
    assert words(check) == "full-stop"


def test_the_ledger_shows_the_mathematics_of_a_claim_and_drops_its_links(built):
    claim = ledger(built)[0][2][0]
    assert 'class="katex"' in claim
    assert "$" not in claim
    assert "example.org" not in claim
    assert "By definition, " in claim


def test_the_ledger_follows_a_claim_on_another_page(built):
    built.edit("docs/word.md", "The sentence ends", "A sentence ends")
    assert built.build().good
    assert words(ledger(built)[1][1][0]) == "A sentence ends with a full stop."


def test_the_ledger_says_under_how_many_shifts_a_check_held(built):
    assert "; for those that draw, 2 shifts of all seeds are on record." in built.page("reference")
    assert "other seeds" in built.page("reference")
    of_number, of_word = ledger(built)
    assert [words(row[2]) for row in of_number[1:]] == ["", ""]  # nothing is drawn
    assert words(of_word[1][2]) == "1 of 2"

    built.edit("config/reseeded.json", '"digest": "', '"digest": "of other cells ')
    assert built.build().good
    assert words(ledger(built)[1][1][2]) == "–"


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
    (
        check("luck", "luck"),
        "check 'luck' is by 'luck'; it must be by one of exact, oracle",
    ),
    (claim("again"), ""),
    (claim("again") + check("again"), "two equations or claims are called 'again'"),
    (
        claim("it's") + check("it's"),
        "an id must be made of letters and digits, with hyphens",
    ),
    (check("twice"), "a cell checks 'twice', which is on the page number"),
]


def test_what_is_unbound_fails_the_build_with_its_place(built):
    page = (built.root / "docs" / "data.md").read_text("utf-8")
    text, expected = page + "\n", []
    for part, why in UNBOUND:
        expected.append((len(text.splitlines()) + 1, part.count("\n"), why))
        text += part
    built.write("docs/data.md", text)
    failed = built.build()
    assert not failed.good
    found = re.findall(r"docs/data\.md:(\d+): WARNING: (.*)", failed.said)
    for start, lines, why in filter(lambda row: row[2], expected):
        places = [int(line) for line, said in found if said.startswith(why)]
        assert len(places) == 1, why
        assert start <= places[0] <= start + lines + 1, why
