"""Settings of a book; `sphinx-build` reads them."""

project = "Sums"
author = "you"
release = "0.1"
extensions = ["myst_nb", "sphinx_exercise", "sphinxcontrib.bibtex", "bookproof"]
bibtex_bibfiles: list[str] = []
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
html_math_renderer = "checked_katex"
katex_prerender = True
html_css_files = ["boxes.css"]
html_js_files = ["predict.js"]
bookproof_libraries = ["ipykernel"]  # what cells may import, besides Python's own modules
