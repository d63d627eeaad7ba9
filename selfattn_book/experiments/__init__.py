"""Data, baseline models, and training."""
