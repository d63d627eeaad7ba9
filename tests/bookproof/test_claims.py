"""No equation and no claim without its check, and no check without its target."""

import hashlib
import json
import re

import pytest
from book import NOTEBOOK, PAGES
from chapter_keys import cells_digest
from myst_nb.core.read import read_myst_markdown_notebook

from selfattn_book.cells import read_cells

EQUATION = "```{math}\n:label: sum\n1 + 1 = 2\n```\n\n"
CLAIM = "```{claim} it-holds\nOne and one is two.\n```\n\n"


def check(name, by="exact"):
    return (
        f"```{{code-cell}}\n:check: {name}\n:by: {by}\nassert 1 + 1 == 2\n```\n\n"
    )


def test_a_checked_page_is_built_with_marks_folds_and_ledger(build):
    page = (
        NOTEBOOK
        + "# P\n\n"
        + EQUATION
        + check("sum", "oracle")
        + CLAIM
        + check("it-holds")
    )
    code, messages = build(page + "```{ledger}\n```\n")
    assert code == 0, messages
    html = (build.site / "page.html").read_text("utf-8")
    assert html.count('class="check-mark"') == 2
    assert html.count('<details class="fold check">') == 2
    for name in ("sum", "it-holds"):
        assert f'href="#check-{name}"' in html
        assert f'id="check-{name}"' in html
    table = html[html.index("ledger") :]
    assert "against an independent implementation" in table
    assert "One and one is two." in table


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (EQUATION, 9, "nothing checks 'sum'"),
        (CLAIM, 9, "nothing checks 'it-holds'"),
        (check("sum"), 11, "a cell checks 'sum', and nothing has that id"),
        (EQUATION + check("sum") + check("sum"), 22, "2 cells check 'sum'"),
        (
            EQUATION + check("sum", "luck"),
            16,
            "'luck'; it must be by one of exact, oracle",
        ),
        (
            CLAIM + CLAIM + check("it-holds"),
            13,
            "two equations or claims are called 'it-holds'",
        ),
        (
            CLAIM.replace("it-holds", "it's") + check("it's"),
            9,
            "an id must be made of letters and digits, with hyphens between them;"
            ' got "it\'s"',
        ),
    ],
)
def test_what_is_unbound_fails_the_build_with_its_place(build, body, line, message):
    code, messages = build(NOTEBOOK + "# P\n\n" + body)
    assert code != 0
    assert message in messages
    assert f"page.md:{line}" in messages


def test_a_target_on_another_page_is_named(build):
    other = "# Extra\n\n" + EQUATION
    page = NOTEBOOK + "# P\n\n```{toctree}\nextra\n```\n\n" + check("sum")
    code, messages = build(page, extra=other)
    assert code != 0
    assert "which is on the page extra" in messages
    assert "nothing checks 'sum'" in messages


def test_a_failing_check_fails_the_build(build):
    body = EQUATION + check("sum").replace("== 2", "== 3")
    code, messages = build(NOTEBOOK + "# P\n\n" + body)
    assert code != 0
    assert "assert 1 + 1 == 3" in messages


def test_the_ledger_follows_a_claim_on_another_page(build):
    toctree = "```{toctree}\nextra\n```\n\n"
    page = NOTEBOOK + "# P\n\n" + toctree + CLAIM + check("it-holds")
    ledger = "# Extra\n\n```{ledger}\n```\n"
    assert build(page, extra=ledger)[0] == 0
    code, messages = build(page.replace("is two.", "makes two."), extra=ledger)
    assert code == 0, messages
    assert "One and one makes two." in (build.site / "extra.html").read_text(
        "utf-8"
    )


def test_an_empty_claim_is_named_with_its_place(build):
    code, messages = build("# P\n\n```{claim} nothing\n```\n")
    assert code != 0
    assert "page.md:3" in messages


def test_the_ledger_has_a_table_a_page_in_the_order_of_what_is_checked(build):
    first = "# P\n\n```{toctree}\nextra\n```\n\n" + EQUATION + CLAIM
    first = NOTEBOOK + first + check("it-holds") + check("sum")
    other = CLAIM.replace("it-holds", "too") + check("too")
    code, messages = build(
        first, extra=NOTEBOOK + "# Extra\n\n" + other + "```{ledger}\n```\n"
    )
    assert code == 0, messages
    html = (build.site / "extra.html").read_text("utf-8")
    ledger = html[html.index("3 checks, run with") :]
    of_first, of_other = ledger.split("<table")[1:]
    assert "equation (1)" in of_first[: of_first.index("One and one")]
    assert "Extra" in of_first  # the heading of the next table
    assert "One and one" in of_other
    assert "check-sum" not in of_other


def test_the_ledger_shows_the_mathematics_of_a_claim_and_drops_its_links(build):
    claim = CLAIM.replace("One and one", "By [this](https://example.org), $1 + 1$")
    page = NOTEBOOK + "# P\n\n" + claim + check("it-holds") + "```{ledger}\n```\n"
    code, messages = build(page)
    assert code == 0, messages
    html = (build.site / "page.html").read_text("utf-8")
    row = html[html.index("<table") : html.index("</table")]
    assert 'class="katex"' in row
    assert "$" not in row
    assert "example.org" not in row
    assert "By this, " in row


def test_the_ledger_says_under_how_many_shifts_a_check_held(build, tmp_path):
    body = EQUATION + check("sum") + CLAIM + check("it-holds", "seeds")
    body += CLAIM.replace("it-holds", "too") + check("too", "property")
    page = NOTEBOOK + "# P\n\n" + body + "```{ledger}\n```\n"
    answers = {"sum": True, "it-holds": True}
    shifts = {"1000": answers, "2000": {**answers, "it-holds": False}}
    code = "\n".join(["assert 1 + 1 == 2"] * 3)
    digest = hashlib.sha256(code.encode()).hexdigest()[:16]
    record = tmp_path / "shifts.json"

    def rows(digest):
        entry = {"digest": digest, "shifts": shifts}
        record.write_text(json.dumps({"page": entry}), "utf-8")
        code, messages = build(page, options=[f"-Dchecks_shifts={record}"])
        assert code == 0, messages
        html = (build.site / "page.html").read_text("utf-8")
        assert "; for those that draw, 2 shifts of all seeds are on record." in html
        table = html[html.index("<table") : html.index("</table")]
        assert "unseen seeds" in table
        cells = re.findall(r"<td><p>(.*?)</p></td>", table)
        return [re.sub("<.*?>", "", cell) for cell in cells[2::5]]

    assert rows(digest) == ["", "1 of 2", "–"]
    assert rows("of other cells") == ["", "–", "–"]


def test_a_digest_is_that_of_the_code_which_the_package_reads():
    for page in PAGES:
        text = page.read_text("utf-8")
        code = "\n".join(cell.code.strip() for cell in read_cells(text))
        digest = hashlib.sha256(code.encode()).hexdigest()[:16]
        assert cells_digest(read_myst_markdown_notebook(text)) == digest
