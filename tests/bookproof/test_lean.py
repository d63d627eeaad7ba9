"""What no page uses is taken out of the theme's files, and its two sets of colours are joined."""

import re

import pytest
from bookproof.html.lean import lean, words_of

PALETTES = """
html:not([data-theme]){--pst-color-text:#111;--pst-size:1px}
html[data-theme=light]{--pst-color-text:#111;--pst-size:1px;--only-here:1}
html[data-theme=dark]{--pst-color-text:#eee;--pst-size:1px;color-scheme:dark}
"""


def test_a_rule_stays_if_a_page_or_a_script_has_all_of_its_classes():
    css = ".a,.b .c,.a:not(.d){x:1}.d{x:2}p{x:3}@media print{.d{x:4}}@media print{.a{x:5}}"
    kept = ".a,.a:not(.d){x:1}p{x:3}@media print{.a{x:5}}"
    assert lean(css, {"a", "b"}) == kept


def test_what_is_lean_already_stays_as_it_is():
    once = lean(PALETTES + ".a{x:1}/*# sourceMappingURL=a.css.map */", {"a"})
    assert lean(once, {"a"}) == once
    assert "sourceMappingURL" not in once


def test_colours_of_both_modes_are_said_once_as_pairs():
    said = lean(PALETTES, set())
    assert said.count("{") == 1
    assert "--pst-color-text:light-dark(#111,#eee)" in said
    assert "--pst-size:1px" in said
    assert "only-here" not in said
    assert "color-scheme" not in said


def test_syntax_colours_are_joined_selector_by_selector():
    css = """
    html[data-theme="light"] .highlight .k { color: #6730C5 } /* Keyword */
    html[data-theme="light"] .highlight .n { color: #080808 }
    html[data-theme="dark"] .highlight .k { color: #dcc6e0; font-weight: bold }
    """
    said = lean(css, {"highlight", "k", "n"})
    assert ":root .highlight .k{color:light-dark(#6730C5,#dcc6e0)}" in said
    assert 'html[data-theme="light"] .highlight .n' in said  # the other side says nothing


def test_a_licence_stays_and_a_remark_goes():
    assert lean("/*! BSD *//* why */.a{x:1}", set()) == "/*! BSD */"


@pytest.mark.parametrize(("page", "stays"), [("<i class='x'>", 0), ('<i class="fa-x">', 1)])
def test_the_font_of_icons_stays_where_a_page_shows_one(page, stays):
    css = '@font-face{font-family:"Font Awesome 6 Free";src:url(a.woff2)}'
    assert lean(css, words_of([page], [])).count("@font-face") == stays


def test_a_site_with_the_theme_is_made_lean_and_again_to_the_same(built):
    theme = "--define=html_theme=sphinx_book_theme"
    assert built.build("-E", theme).good
    static = built.root / "_build" / "html" / "_static"
    sheets = {file: file.read_bytes() for file in static.rglob("*.css")}
    texts = b"".join(sheets.values()).decode()
    assert 'html[data-theme="light"] .highlight' not in texts
    assert not list(static.rglob("*.map"))
    # This book has the theme's own pages, which show icons of the library.
    assert "Font Awesome" in texts
    assert (static / "scripts" / "fontawesome.js").exists()

    assert built.build(theme).good
    built.edit("docs/word.md", "It fits.", "It does fit.")
    assert built.build(theme).good
    assert {file: file.read_bytes() for file in static.rglob("*.css")} == sheets


def test_a_theme_whose_files_lie_elsewhere_is_named(built, monkeypatch):
    conf = "config/conf.py"
    text = (built.root / conf).read_text("utf-8")
    away = (
        "def setup(app):\n    from pathlib import Path\n"
        "    def move(app, error): Path(app.outdir, '_static/pygments.css').unlink()\n"
        "    app.connect('build-finished', move, priority=800)\n"
    )
    built.write(conf, text + away)
    failed = built.build("--define=html_theme=sphinx_book_theme")
    assert not failed.good
    assert re.search("not made lean: pygments.css is not there", failed.said)
