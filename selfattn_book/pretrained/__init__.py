"""Weights of other people's models, read without running anything, in this book's own code."""
