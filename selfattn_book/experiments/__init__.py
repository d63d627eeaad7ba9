"""Data, models to compare with, and the training of them."""
