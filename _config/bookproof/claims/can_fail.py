"""Refuse the options of a check that would let it fail.

Whether its assertions can fail is seen when it runs: see :mod:`bookproof.verify.recorder`.
"""

import re
from collections.abc import Mapping

OPTIONS = {"check", "by", "tags"}
TAGS = {"hide-output", "remove-output", "remove-stderr", "remove-stdout"}


def fault_of(options: Mapping[str, object]) -> str:
    """Return the fault of a check's options, or an empty string.

    Example:
        >>> fault_of({"check": "two", "tags": ["raises-exception"]})
        'it must have no tag raises-exception'
    """
    if strange := sorted(options.keys() - OPTIONS):
        return f"it must have no option {strange[0]}"
    if strange := sorted(set(re.findall(r"[\w-]+", str(options.get("tags", "")))) - TAGS):
        return f"it must have no tag {strange[0]}"
    return ""
