"""Text as numbers: characters, and pairs of bytes that occur together."""
