"""What a property answers with: a reason, with numbers, and the likely misconception."""
