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
            "said": ["1 rank, after 10 epochs: loss 0.752766924462"],
            "root_cause": [],
        },
        "two ranks": {
            "code": 0,
            "said": ["2 ranks, after 10 epochs: loss 0.752766924462"],
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
            "root_cause": [1, 1],
        },
        "a rank dies": {
            "code": 1,
            "said": ["The training failed: Read error: Connection reset by peer."],
            "root_cause": [1, 7],
        },
        "one goes on": {
            "code": 0,
            "said": ["1 rank, after 10 epochs: loss 0.752766924462"],
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
            "largest": 0.1428439950204709,
            "averaged": 5.551115123125783e-17,
            "own": 0.08523947470377516,
        },
        "unequal": {
            "largest": 0.1428439950204709,
            "averaged": 0.07018892637718246,
            "own": 0.21056677913154753,
        },
        "sharded": {
            "parameters": 7040.0,
            "held": 3520.0,
            "held by Adam": 7040.0,
            "gradients": 5.551115123125783e-17,
            "after a step": 5.620504062164855e-16,
        },
        "splits": {
            "feed-forward": 1.1102230246251565e-16,
            "keys": 4.440892098500626e-16,
            "blocks": 0.0,
        },
    },
}
DIGEST = "a9f70d35f48824a59ecbafc9403084c1c0d1828328c07f6addb0b30f0b964363"
