"""The parts of today's language models: rotary positions, grouped heads, gated networks."""
