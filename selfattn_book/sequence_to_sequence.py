"""A whole Transformer: it reads one sequence of tokens and writes another."""
