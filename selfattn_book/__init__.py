"""The code of *Self-Attention, Executed*: small, tested, and shown on the book's pages.

Import from the file that owns a thing, as the chapters do:

>>> from selfattn_book.masks import causal_mask
>>> from selfattn_book.attention import scaled_dot_product_attention
"""

__version__ = "0.2.0"
