"""Phrases are those that people say, and loss floors are mean entropies."""

import math
from collections import defaultdict
from unittest.mock import Mock

import pytest
import torch

from selfattn_book.experiments import clock

PHRASES = {  # written down by ear, not by rule
    (1, 0): ["one o'clock"],
    (12, 0): ["twelve o'clock"],
    (7, 5): ["five past seven", "seven oh five"],
    (7, 15): ["quarter past seven", "seven fifteen"],
    (7, 20): ["twenty past seven", "seven twenty"],
    (7, 23): ["twenty three past seven", "seven twenty three"],
    (7, 30): ["half past seven", "seven thirty"],
    (7, 31): ["twenty nine to eight", "seven thirty one"],
    (7, 45): ["quarter to eight", "seven forty five"],
    (7, 59): ["one to eight", "seven fifty nine"],
    (12, 1): ["one past twelve", "twelve oh one"],
    (12, 50): ["ten to one", "twelve fifty"],
    (10, 10): ["ten past ten", "ten ten"],
}
NUMBERS = {word: n for n, word in enumerate(clock.COUNTED, 1)}
NUMBERS |= {word: 20 + 10 * n for n, word in enumerate(clock.TENS)}
NUMBERS |= {"quarter": 15, "half": 30, "oh": 0}


@pytest.mark.parametrize("time", PHRASES)
def test_phrases_are_those_that_people_say(time):
    assert list(dict.fromkeys(clock.phrases(time))) == PHRASES[time]


def parsed(phrase):
    """Return the time that a phrase means."""
    words = phrase.split()
    for joint, sign in (("past", 1), ("to", -1)):
        if joint in words:
            at = words.index(joint)
            minutes = sum(NUMBERS[word] for word in words[:at])
            [hour] = words[at + 1 :]
            total = 60 * NUMBERS[hour] + sign * minutes - 60
            return total // 60 % 12 + 1, total % 60
    return NUMBERS[words[0]], sum(NUMBERS[word] for word in words[1:] if word != "o'clock")


def test_each_phrase_means_its_time_and_no_other():
    for time in clock.all_times():
        assert {parsed(phrase) for phrase in clock.phrases(time)} == {time}


def test_tokens_of_the_training_set_can_be_decoded():
    times = clock.all_times()
    source, decoder_input, mask, target = clock.training_set(times)
    assert [x.shape for x in (source, decoder_input, target)] == [(1440, 5)] * 3
    for row, real, time in zip(source, mask, [t for t in times for _ in "ab"], strict=True):
        text = "".join(clock.CHARACTERS[token] for token in row[real[0, 0]])
        assert text == f"{time[0]}:{time[1]:02}"
        assert (row[~real[0, 0]] == clock.PAD).all()
    assert clock.decode_phrases(target) == [p for time in times for p in clock.phrases(time)]
    assert (decoder_input[:, 0] == clock.START).all()
    assert (decoder_input[:, 1:] == target[:, :-1])[target[:, :-1] != clock.END].all()
    assert ((target == clock.END).sum(1) == 1).all()
    assert target.unique().tolist() == [0, *range(2, 32)]
    assert source.unique().tolist() == [*range(len(clock.CHARACTERS))]


def test_the_loss_equals_pytorch_s(draw):
    target = clock.training_set([(7, 50), (7, 31), (9, 0)]).target
    logits = draw(*target.shape, len(clock.WORDS))
    expected = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), target, ignore_index=clock.PAD, reduction="none"
    )
    torch.testing.assert_close(clock.phrase_losses(logits, target), expected)
    torch.testing.assert_close(clock.phrase_loss(logits, target), expected.sum() / 6)


@pytest.mark.parametrize("seen", [clock.shown, clock.bag, lambda time: ""])
def test_the_loss_floor_is_a_mean_entropy(seen):
    times = clock.all_times()[::7]
    groups = defaultdict(list)
    for time in times:
        groups[seen(time)] += clock.phrases(time)
    total = 0.0
    for group in groups.values():
        probabilities = [group.count(phrase) / len(group) for phrase in set(group)]
        total += len(group) * -sum(p * math.log(p) for p in probabilities)
    assert math.isclose(clock.loss_floor(times, seen), total / (2 * len(times)))


def test_the_floor_of_whole_times_is_that_of_their_two_phrases():
    assert math.isclose(clock.loss_floor(clock.all_times()), math.log(2) * 59 / 60)


def test_correct_predictions_are_counted():
    times, model = [(7, 50), (9, 0), (12, 30), (3, 3)], Mock()
    said = clock.training_set([(7, 50), (9, 0), (12, 31), (3, 3)]).target[::2]
    model.generate.return_value = said
    assert clock.predicted_phrases(model, times)[2] == "twenty nine to one"
    assert clock.count_right(model, times) == 3
    (source, length), options = model.generate.call_args
    assert source.equal(clock.training_set(times).source[1::2])
    assert options.pop("source_mask").equal((source != clock.PAD)[:, None, None])
    assert options == {"bos_token": clock.START, "eos_token": clock.END}
    assert length > said.size(1)
