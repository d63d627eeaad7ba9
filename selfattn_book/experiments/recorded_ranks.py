"""What true processes did, recorded: a page of the book starts none.

Written by ``python -m benchmarks.launched``, which starts the training as one process and as several,
and measures on two ranks what they hold and compute. Not to be edited: a test compares the digest,
and others start the same processes again.
"""

from typing import Any

RECORDED: dict[str, Any] = {
    "made": {
        "torch": "2.13.0+cpu",
        "python": "3.11.7",
        "machine": "x86_64, 2 cores",
        "date": "2026-11-22",
    },
    "runs": {
        "alone": {
            "code": 0,
            "said": ["1 rank, after 6 epochs: loss 0.926009803849"],
            "root_cause": [],
        },
        "two ranks": {
            "code": 0,
            "said": ["2 ranks, after 6 epochs: loss 0.926009803849"],
            "root_cause": [],
        },
        "three ranks": {
            "code": 1,
            "said": [
                "The training failed: the batch must be a "
                "multiple of the number of ranks, 3; got 16",
                "The training failed: the batch must be a "
                "multiple of the number of ranks, 3; got 16",
                "The training failed: the batch must be a "
                "multiple of the number of ranks, 3; got "
                "16",
            ],
            "root_cause": [2, 1],
        },
        "a rank dies": {
            "code": 1,
            "said": ["The training failed: Read error: Connection reset by peer."],
            "root_cause": [1, 7],
        },
        "one goes on": {
            "code": 0,
            "said": ["1 rank, after 6 epochs: loss 0.926009803849"],
            "root_cause": [],
        },
        "a rank hangs": {
            "code": 1,
            "said": [
                "The training failed: Timed out waiting "
                "5000ms for recv operation to complete"
            ],
            "root_cause": [0, 1],
        },
    },
    "kept": 2,
    "measured": {
        "equal": {
            "largest": 0.12056056402554738,
            "averaged": 8.326672684688674e-17,
            "own": 0.08718418719452913,
        },
        "unequal": {
            "largest": 0.12056056402554738,
            "averaged": 0.07980569611854758,
            "own": 0.2394170883556427,
        },
        "sharded": {
            "parameters": 7040.0,
            "held": 3520.0,
            "held by Adam": 7040.0,
            "gradients": 8.326672684688674e-17,
            "after a step": 4.0245584642661925e-16,
        },
        "splits": {
            "feed-forward": 1.1102230246251565e-16,
            "keys": 4.440892098500626e-16,
            "blocks": 0.0,
        },
    },
}
DIGEST = "8d50b138234198e8686a76a90d014a03a577d475b5abc2067954f8fe0eb2db01"
