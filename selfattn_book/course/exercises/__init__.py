"""What is asked of the answers to each chapter's exercises in code, a module per chapter."""
