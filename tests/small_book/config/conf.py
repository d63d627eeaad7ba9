"""Settings of a small book: the example of how the engine is used, and the bed of its tests."""

import sys
from pathlib import Path

CONFIG = Path(__file__).parent
sys.path.append(str(CONFIG.parents[2] / "_config"))  # for the engine
sys.path.append(str(CONFIG.parent))  # for the package; better install yours

project = "A small book"
author = "nobody"
release = "1.0"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_exercise",
    "sphinxcontrib.bibtex",
    "bookproof",
]

# What the engine asks for.
bookproof_package = "tiny"
bookproof_libraries = ["ipykernel"]
bookproof_line_readers = []  # neither of its modules looks at lines
bookproof_preload = []  # none of them is heavy
bookproof_fresh = False
bookproof_edition = ""  # with solutions; or "students", "instructors"
bookproof_versions = ["ipykernel"]
bookproof_lettered = "Behind the book"
bookproof_sheet_card = "number.html#equation-twice"
bookproof_reference = ""  # the page `reference.md` is written by hand
bookproof_reference_options = {}
bookproof_reseeded = "reseeded.json"
bookproof_layers = str(CONFIG.parent / "pyproject.toml")
bookproof_changes = "changes"
bookproof_only_with = {"doctools.js": "<table", "sphinx_highlight.js": ""}
bookproof_redirects = "redirects.txt"
bookproof_addresses = "addresses.list"
bookproof_note_addresses = False
# With `html_baseurl`, pages have addresses; with `bookproof_repository`, a link to report an error.
html_baseurl = ""
bookproof_repository = ""
bookproof_pip = ""
bookproof_files = {}  # a test sets it
bookproof_cards = ""  # a test sets it
bookproof_run = []  # a test sets it
bookproof_book = {
    "license": "https://licence.example/free",
    "educationalLevel": "beginner",
    "datePublished": "1979-10-12",
    "image": "_static/cover.png",
}

# What it asks of the others.
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 60
html_math_renderer = "checked_katex"
katex_prerender = True
katex_css_path = "katex.min.css"  # of the book; without one, formulas are MathML alone

# As one likes.
bibtex_bibfiles = [str(CONFIG / "references.bib")]
bibtex_reference_style = "author_year"
html_theme = "basic"
html_copy_source = False
html_use_index = False
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
nb_code_prompt_show = "Show the {type}"
nb_ipywidgets_js = {}
numfig = True
numfig_secnum_depth = 1
