"""Check an answer against a reference program, and name the misconception behind a wrong one."""
