"""Times are said as people say them, and the least losses are those of a count."""

import itertools
import math
from collections import defaultdict

import pytest
import torch

from selfattn_book.experiments import clock

HEARD = {  # by ear, not by rule
    (1, 0): ["one o'clock"],
    (12, 0): ["twelve o'clock"],
    (7, 5): ["five past seven", "seven oh five"],
    (7, 10): ["ten past seven", "seven ten"],
    (7, 15): ["quarter past seven", "seven fifteen"],
    (7, 20): ["twenty past seven", "seven twenty"],
    (7, 23): ["twenty three past seven", "seven twenty three"],
    (7, 30): ["half past seven", "seven thirty"],
    (7, 31): ["twenty nine to eight", "seven thirty one"],
    (7, 40): ["twenty to eight", "seven forty"],
    (7, 45): ["quarter to eight", "seven forty five"],
    (7, 59): ["one to eight", "seven fifty nine"],
    (12, 1): ["one past twelve", "twelve oh one"],
    (12, 50): ["ten to one", "twelve fifty"],
    (10, 10): ["ten past ten", "ten ten"],
    (11, 49): ["eleven to twelve", "eleven forty nine"],
}
NUMBERS = {word: n for n, word in enumerate(clock.COUNTED, 1)}
NUMBERS |= {word: 20 + 10 * n for n, word in enumerate(clock.TENS)}
NUMBERS |= {"quarter": 15, "half": 30, "oh": 0}


@pytest.mark.parametrize("time", HEARD)
def test_times_are_said_as_they_are_heard(time):
    assert list(dict.fromkeys(clock.phrases(time))) == HEARD[time]


def understood(saying):
    """Return the time that a saying means."""
    words = saying.split()
    for joint, sign in (("past", 1), ("to", -1)):
        if joint in words:
            at = words.index(joint)
            minutes = sum(NUMBERS[word] for word in words[:at])
            [hour] = words[at + 1 :]
            total = 60 * NUMBERS[hour] + sign * minutes - 60
            return total // 60 % 12 + 1, total % 60
    minutes = sum(NUMBERS[word] for word in words[1:] if word != "o'clock")
    return NUMBERS[words[0]], minutes


def test_each_saying_means_its_time_and_no_other():
    for time in clock.all_times():
        for saying in clock.phrases(time):
            assert understood(saying) == time


def test_a_lesson_can_be_read_back():
    times = clock.all_times()
    source, fed, mask, asked = clock.training_set(times)
    assert len(source) == 1440
    assert [len(x[0]) for x in (source, fed, asked)] == [5, 5, 5]
    for row, seen, time in zip(source, mask, [t for t in times for _ in "ab"], strict=True):
        letters = "".join(clock.CHARACTERS[token] for token in row[seen[0, 0]])
        assert letters == f"{time[0]}:{time[1]:02}"
        assert (row[~seen[0, 0]] == clock.PAD).all()
    assert clock.decode_phrases(asked) == [s for time in times for s in clock.phrases(time)]
    assert (fed[:, 0] == clock.START).all()
    is_word = asked != clock.END
    assert (fed[:, 1:] == asked[:, :-1])[is_word[:, :-1]].all()
    assert ((asked == clock.END).sum(1) == 1).all()


def test_all_that_is_needed_has_a_token():
    assert len(set(clock.WORDS)) == len(clock.WORDS) == 32
    asked = clock.training_set(clock.all_times()).target
    assert set(asked.unique().tolist()) == {0, *range(2, 32)}
    assert asked[asked != 0].min() == clock.END
    source = clock.training_set(clock.all_times()).source
    assert set(source.unique().tolist()) == set(range(len(clock.CHARACTERS)))


def test_the_loss_is_that_of_pytorch(draw):
    asked = clock.training_set([(7, 50), (7, 31), (9, 0)]).target
    logits = draw(*asked.shape, len(clock.WORDS))
    losses = clock.phrase_losses(logits, asked)
    expected = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), asked, ignore_index=clock.PAD, reduction="none"
    )
    torch.testing.assert_close(losses, expected)
    torch.testing.assert_close(clock.phrase_loss(logits, asked), expected.sum() / 6)


@pytest.mark.parametrize("seen", [clock.shown, clock.bag, lambda time: ""])
def test_the_least_loss_is_a_mean_of_entropies(seen):
    """Group by group, with the definition of the entropy."""
    times = clock.all_times()[::7]
    groups = defaultdict(list)
    for time in times:
        groups[seen(time)] += clock.phrases(time)
    total = 0.0
    for said in groups.values():
        shares = [said.count(saying) / len(said) for saying in set(said)]
        total += len(said) * -sum(share * math.log(share) for share in shares)
    assert math.isclose(clock.loss_floor(times, seen), total / (2 * len(times)))


def test_who_sees_more_can_lose_less():
    times = clock.all_times()
    sights = [clock.shown, clock.bag, lambda time: ""]
    losses = [clock.loss_floor(times, seen) for seen in sights]
    assert all(one < other for one, other in itertools.pairwise(losses))
    assert math.isclose(losses[0], math.log(2) * 59 / 60)


@pytest.mark.parametrize("time", [(0, 5), (13, 5), (5, 60), (5, -1)])
@pytest.mark.parametrize("reads", [clock.shown, clock.phrases, clock.bag])
def test_what_no_clock_shows_is_refused(time, reads):
    with pytest.raises(ValueError, match="1 to 12 hours and 0 to 59 minutes; got"):
        reads(time)


@pytest.mark.parametrize("reads", [clock.training_set, clock.loss_floor])
def test_no_times_at_all_are_refused(reads):
    with pytest.raises(ValueError, match="at least one time; got none"):
        reads([])


class Parrot(torch.nn.Module):
    """Write what is asked for, whatever is shown, and note what is shown."""

    def __init__(self, said):
        super().__init__()
        self.said = clock.training_set(said).target[::2]

    def predict(self, source, length, *, start, end, source_mask):
        assert (start, end) == (clock.START, clock.END)
        assert length > self.said.size(1)
        assert source_mask.equal((source != clock.PAD)[:, None, None])
        self.shown = source
        return self.said


def test_what_is_right_is_counted():
    times = [(7, 50), (9, 0), (12, 30), (3, 3)]
    parrot = Parrot([(7, 50), (9, 0), (12, 31), (3, 3)])
    assert clock.predicted_phrases(parrot, times)[2] == "twenty nine to one"
    assert parrot.shown.equal(clock.training_set(times).source[1::2])
    assert clock.count_right(parrot, times) == 3
