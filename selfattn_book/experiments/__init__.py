"""What the book experiments on: data, models to compare with, and the training of them."""
