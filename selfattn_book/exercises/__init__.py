"""Coding exercises as data, and the checker that names the likely misconception."""
