"""A package of two modules, one of which uses the other."""

__version__ = "1.0"
