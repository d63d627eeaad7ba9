"""Attention by blocks of keys: the softmax is kept up to date, and no row of weights is formed."""
