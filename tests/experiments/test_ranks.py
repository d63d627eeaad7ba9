"""Ranks as threads: they communicate, and the failure of one ends all."""

import threading
import time

import pytest
import torch

from selfattn_book.experiments.ranks import mean_over_ranks, run_on_ranks


def test_a_mean_leaves_its_input_alone(draw):
    own = draw(3, 5, 2)
    before = own.clone()
    means = run_on_ranks(3, lambda group: mean_over_ranks(own[group.rank()], group))
    assert torch.equal(own, before)
    for mean in means:
        torch.testing.assert_close(mean, own.mean(0))


def test_a_failure_on_one_rank_is_raised_and_no_thread_remains():
    def work(group):
        if group.rank() == 1:
            raise KeyError("lost")
        mean_over_ranks(torch.ones(1), group)

    before, begin = threading.active_count(), time.monotonic()
    with pytest.raises(KeyError, match="lost"):
        run_on_ranks(2, work, wait=2)
    assert time.monotonic() - begin < 60
    assert threading.active_count() == before
