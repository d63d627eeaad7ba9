"""The drawing library: scenes, matrices, curves and their style, on matplotlib."""
