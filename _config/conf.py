"""Settings of the book, in sections. Run as: sphinx-build -c _config docs _build/html."""

import gc
import sys
import tomllib
from pathlib import Path

import yaml

import selfattn_book
from selfattn_book.draw.palette import style_sheet

CONFIG = Path(__file__).parent
sys.path[:0] = [str(CONFIG), str(CONFIG.parent)]  # for the engine, and for what is beside it
# A build makes millions of nodes that live to its end; to look through them for garbage as often
# as Python does would take a quarter of its time.
gc.set_threshold(50_000, 20, 100)

# -- The book ------------------------------------------------------------------

project = "Self-Attention, Executed"
author = "the authors of Self-Attention, Executed"
copyright = f"2026, {author}. Text and figures CC BY 4.0, code BSD-3-Clause"
release = version = selfattn_book.__version__

extensions = [
    # libraries
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_exercise",
    "sphinxcontrib.bibtex",
    # the engine, beside this file
    "bookproof",
    "_config.course.credit",  # a column for its table of weeks
    "_config.weights",  # for the live figure of the language model
]

exclude_patterns = [
    "_build",
    "**/.ipynb_checkpoints",
    "course/**",
    "live/**",
]  # course: with solutions
templates_path = ["templates", "templates/components"]  # as the theme has them
numfig = True
numfig_secnum_depth = 1  # equation (6.1), Figure 6.2, Listing 6.3
bookproof_lettered = "Appendix"
numfig_format = {
    "code-block": "Listing %s",
    "figure": "Figure %s",
    "table": "Table %s",
}

# -- The book is found ---------------------------------------------------------

ROOT = CONFIG.parent
# Where it lives is said in pyproject.toml, and when it was published in CITATION.cff.
where = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["metadata"]
html_baseurl = where["hooks"]["custom"]["site"]
bookproof_repository = where["hooks"]["custom"]["repository"]
bookproof_changes = "appendix/changes"  # made from CHANGELOG.md
bookproof_reference = "appendix/reference"  # a page for each module, made by the build
bookproof_reference_options = {
    "cache": ":members:\n   :exclude-members: target, memory",
    "draw.canvas": ":members:\n   :exclude-members: set",  # which matplotlib adds
    "draw.style": ":members:\n   :exclude-members: set",
    "experiments.clock": ":members:\n   :exclude-members: source, decoder_input, source_mask, target",
    "gpt": "",  # read as a file, on its page
    "experiments.squares": ":members:\n   :exclude-members: points, lengths, directions",
    "verify": ":members: book_folder, main",
}
bookproof_run = ["python -m selfattn_book verify {page}", "chapters/welcome", "how-to-run-it"]
bookproof_pip = "--extra-index-url https://download.pytorch.org/whl/cpu"  # without CUDA
bookproof_redirects = "redirects.txt"  # old addresses, and where they lead now
bookproof_addresses = "addresses.list"  # those that last; the session `addresses` notes new ones
if "tags" in globals() and tags.has("files"):  # noqa: F821, from Sphinx, in the session `formats`
    bookproof_files = {
        "PDF of this page": "files/{page}.pdf",
        "The whole book as PDF": "files/book.pdf",
        "The whole book as EPUB": "files/book.epub",
    }
    bookproof_cards = "_static/cards/{page}.png"
cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
# In the words of schema.org, for search engines.
bookproof_book = {
    "license": "https://creativecommons.org/licenses/by/4.0/",
    "educationalLevel": "undergraduate, second year and above",
    "about": cited["keywords"][:2],
    "datePublished": str(cited["date-released"]),
    "image": "_static/cover.png",
}
if "doi" in cited:  # which an archive gives to an edition
    bookproof_book["identifier"] = f"https://doi.org/{cited['doi']}"

# -- References are checked ----------------------------------------------------

nitpicky = True
# torch publishes no inventory that a build without a network could read.
nitpick_ignore_regex = [
    (
        "py:.*",
        r"(torch|tokenizers|numpy|np|matplotlib|argparse|ast|collections|contextlib|fractions|pathlib|socket)(\..*)?",
    ),
    (
        "py:class",
        # the last: a dataclass's `= <factory>` is no Python, so its commas are misread
        r"(Tensor|Axes|Figure|Callable|Sequence|dict\[str"
        r"|(selfattn_book\.(draw\.style|experiments\.ranks|tokens)\.)?([PRT]|Made))",
    ),
]

# -- Chapters are executed -----------------------------------------------------

nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_output_stderr = "warn"  # a warning in a cell belongs to no page
nb_execution_timeout = 600
nb_execution_show_tb = True
nb_code_prompt_show = "Show the {type}"
nb_ipywidgets_js = {}  # would load from two CDNs
bookproof_package = "selfattn_book"
bookproof_libraries = ["torch", "numpy", "matplotlib", "ipykernel", "ipython", "myst-nb"]
# They say in which line of a cell something went wrong; tests see that they ask for no other lines.
bookproof_line_readers = ["selfattn_book.properties.calls"]
bookproof_preload = [
    "matplotlib.pyplot",
    "numpy",
    "torch",
    "torch._dynamo",  # what the first step of an optimizer would load
]
bookproof_sheet_card = "chapters/notation.html#table-of-shapes"
bookproof_reseeded = "reseeded.json"  # written by `python -m selfattn_book verify --record`
bookproof_versions = ["torch", "numpy", "matplotlib"]  # named in the ledger
bookproof_layers = str(CONFIG.parent / "pyproject.toml")  # the contract that {layers} draws

# -- Text ----------------------------------------------------------------------

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
bibtex_bibfiles = [str(CONFIG / "references.bib")]
bibtex_reference_style = "author_year"
bibtex_default_style = "plain"
# A doctest ends at an empty line, which is not to be seen.
highlight_options = {"pycon": {"stripnl": True}}
# Copied is what one would run: no output, and nothing that is wrong on purpose.
copybutton_selector = (
    "div.cell:not(.wrong) div.cell_input pre, .literal-block-wrapper pre, .doctest pre, pre.bibtex"
)
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# -- Mathematics is rendered by the build --------------------------------------

html_math_renderer = "checked_katex"
katex_prerender = True
katex_css_path = "katex/katex.min.css"

# -- Reference from docstrings -------------------------------------------------

autodoc_inherit_docstrings = False  # what PyTorch says of `forward` says nothing here
autodoc_member_order = "bysource"
autodoc_use_type_comments = False  # types stand in signatures
autodoc_typehints_format = "short"
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = [("Source", "notes_style")]

# -- Pages ---------------------------------------------------------------------

html_theme = "sphinx_book_theme"
html_title = project
made = ROOT / "_build" / "static"  # files made here, for all builds
made.mkdir(parents=True, exist_ok=True)
(made / "figure-colors.css").write_text(style_sheet(), "utf-8")
html_static_path = ["static", str(made)]
html_css_files = [
    *("book.css", "boxes.css", "cover.css", "figure-colors.css", "figures.css"),
    *("outward.css", "previews.css"),
    ("print.css", {"media": "print"}),
]
html_js_files = ["book.js", "cover.js", "live.js", "predict.js", "previews.js"]
bookproof_only_with = {
    "live.js": 'class="live-bar"',
    "cover.css": r'class="[^"]*\b(begin|chapters)\b',
    "design-tabs.js": "sd-tab-set",
    "sphinx_highlight.js": "",  # no link asks for a word to be marked
}
html_domain_indices = False
html_favicon = "static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_persistent": [],
    "secondary_sidebar_items": [],  # sections stand under the name of their page
    "back_to_top_button": False,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
