"""Pretrained GPT-2, Llama, Mistral and Qwen in this book's own modules; loading runs no code.

Supported are GPT-2, Llama 2 and 3, Mistral, Qwen 2 and Qwen 3: grouped heads, a head dimension of
their own, tied embeddings, biases, QK-norm, sliding windows, and RoPE scaling (linear, dynamic NTK,
YaRN, Llama 3's). An option that is not known is refused by name: experts, quantization and others.
"""
