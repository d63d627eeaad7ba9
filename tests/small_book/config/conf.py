"""Settings of a small book that tests the machinery of the large one."""

project = "A small book"
extensions = ["myst_nb", "freshness"]
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 60
freshness_package = "tiny"
freshness_libraries = ["ipykernel"]
freshness_preload = ["ipykernel.kernelapp", "ipykernel.ipkernel"]
html_theme = "basic"
