"""Run the book's checks on your own machine."""
