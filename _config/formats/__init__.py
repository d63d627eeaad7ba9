"""The book as files to keep: PDF of the whole and of each page, and EPUB, made of the built site."""
