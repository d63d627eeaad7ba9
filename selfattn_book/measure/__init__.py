"""Measurements of attention: sensitivity, symmetry, softmax, loss floors, cost."""
