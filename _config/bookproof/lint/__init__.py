"""Lint the pages of a book: each rule reports ``file:line: rule: message``, as Vale does."""
