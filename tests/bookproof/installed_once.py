"""Loaded first by the process that builds are forked from: what is installed is looked up once.

Sphinx, its extensions and Jupyter ask for plug-ins by reading a file of every installed package, ten
times a build; while tests run, the answer stays what it is.
"""

from functools import cache
from importlib import metadata

metadata.entry_points = cache(metadata.entry_points)
