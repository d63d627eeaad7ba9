"""Checks of the exercises in code: each names the misconception behind a wrong answer."""
