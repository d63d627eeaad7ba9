"""Figures of single pages, one per file, built from the drawing library."""
