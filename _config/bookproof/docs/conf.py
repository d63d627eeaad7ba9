"""Settings of the documentation, which the engine builds and checks itself."""

project = "bookproof"
author = "The authors of bookproof"
release = "0.2.0"
extensions = ["myst_nb", "sphinx_exercise", "sphinxcontrib.bibtex"]
extensions += ["bookproof.claims", "bookproof.fresh", "bookproof.html", "bookproof.listing"]
bibtex_bibfiles: list[str] = []
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
html_math_renderer = "checked_katex"
katex_prerender = True
html_css_files = ["boxes.css"]
bookproof_package = "bookproof"
bookproof_libraries = ["ipykernel", "sphinx"]
