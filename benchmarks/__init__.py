"""The book's code beside other code, in one run: ``python -m benchmarks``. Never part of the tests."""
