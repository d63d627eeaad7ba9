"""Experiments refuse wrong arguments, with a message that states the rule."""

import pytest
import torch
from torch import nn

from selfattn_book.experiments import checkpoint, induction, lookup, sources, squares, text
from selfattn_book.experiments import seeding as seeds
from selfattn_book.experiments.many_seeds import fit_seeds
from selfattn_book.experiments.ngrams import NGrams
from selfattn_book.experiments.ranks import run_on_ranks
from selfattn_book.experiments.splits import shard_slice
from selfattn_book.experiments.tiny_models import tiny_model
from selfattn_book.language import decoder_only


def short_fit_seeds(**options):
    x = torch.linspace(-1, 1, 8).unsqueeze(1)
    recipe = {"seeds": [0], "epochs": 9, "progress": False, **options}
    return fit_seeds(lambda: nn.Linear(1, 1), x, 2 * x, nn.functional.mse_loss, **recipe)


def surprisal_from(first):
    model = decoder_only(8, d_model=4, num_layers=1, num_heads=1, context_length=6)
    return text.surprisal(model, torch.arange(20) % 8, first, length=6)


REFUSED = {
    "count must be at least 1; got 0": lambda: induction.orders(0),
    "from 1 to 8, the least first; got (4, 9)": lambda: induction.repeats(2, (4, 9)),
    "from 1 to 8, the least first; got (5, 4)": lambda: induction.repeats(2, (5, 4)),
    "num_layers must be at least 1; got 0": lambda: induction.copying_model(0),
    "num_keys must be at least 1; got 0": lambda: lookup.lookups(7, 0, 2),
    "divisor must be above 0, and finite; got 0": lambda: lookup.Lookup(1, 1, divisor=0),
    "shrink must be above 0": lambda: lookup.Lookup(1, 1, divisor=1, shrink=float("inf")),
    "n must be at least 1; got 0": lambda: squares.square_sequences(0, seed=13),
    "every square must have 4 corners; got one of 2": lambda: squares.halves(
        squares.square_sequences(128, seed=13, variable_length=True)
    ),
    "name must be one of stories, jonah; got 'exodus'": lambda: text.text_of("exodus"),
    "length + 1 tokens, 5; got 4": lambda: text.Windows(
        torch.arange(4), length=4, batch_size=3, steps=2
    ),
    "first must be from length, 6, to the last token, 19; got 5": lambda: surprisal_from(5),
    "tokens must be from 0 to 3; got 4": lambda: NGrams([0, 4], vocabulary=4, order=2),
    "name must be one of tiny-gpt2, tiny-llama; got 'tiny-bert'": lambda: tiny_model("tiny-bert"),
    "on_the_way must name epochs from 0 to 8; got [9]": lambda: short_fit_seeds(on_the_way={9: []}),
    "seed must be at least 0; got -1": lambda: seeds.moved(-1),
    "hits must be at most the number of runs, 2; got 3": lambda: seeds.interval(3, 2),
    "the number of heads must be a multiple of the number of ranks, 2; got 7": lambda: run_on_ranks(
        2, lambda group: shard_slice(7, group, "heads")
    ),
    "'lr: 0.1'; got one with 'lr: 0.2'": lambda: checkpoint.check_same(
        "model.pt", ["seed: 2", "lr: 0.1"], ["seed: 2", "lr: 0.2"]
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_wrong_values_are_refused(message):
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        REFUSED[message]()
    assert message in str(refused.value)


def test_a_failure_on_one_rank_is_raised():
    with pytest.raises(ZeroDivisionError):
        run_on_ranks(2, lambda group: 1 / group.rank())


def test_only_attention_and_linear_layers_have_a_source_order():
    with pytest.raises(TypeError, match="got Embedding"):
        sources.draw_in_source_order(nn.Sequential(nn.Embedding(5, 2)))


def test_code_in_a_checkpoint_is_refused(tmp_path):
    checkpoint.save(tmp_path / "model.pt", {"weight": print})
    with pytest.raises(ValueError, match="it cannot be read as one"):
        checkpoint.load(tmp_path / "model.pt")
