"""The book as files: PDF of the whole and of each page, EPUB, and cards, all made of the built site."""
