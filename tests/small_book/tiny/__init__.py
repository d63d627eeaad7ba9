"""A package of two modules, one of which uses the other."""
