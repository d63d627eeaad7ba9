"""Pretrained GPT-2 and Llama models in this book's own modules; loading them runs no code."""
