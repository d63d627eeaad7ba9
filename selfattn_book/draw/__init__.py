"""The book's pictures; the only room that knows matplotlib."""
