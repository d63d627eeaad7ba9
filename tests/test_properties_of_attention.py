"""Each property holds of code that has it, and does not of code that has not."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from selfattn_book import properties
from selfattn_book.attention import (
    attention_weights,
    masked_softmax,
    scaled_dot_product_attention,
)
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.positions import sinusoidal_encoding

attend = scaled_dot_product_attention
OF_ATTENTION = [
    properties.rows_sum_to_one,
    properties.future_changes_nothing,
    properties.padding_is_silent,
    properties.samples_are_independent,
    properties.order_of_keys_is_invisible,
    properties.blind_rows_are_silent,
    properties.scores_have_unit_variance,
    properties.same_answer_twice,
    properties.equals_pytorch,
]
of_attention = pytest.mark.parametrize(
    "ask", OF_ATTENTION, ids=lambda ask: ask.__name__
)


def with_weights(weights, value):
    return weights @ value, weights


def late_mask(query, key, value, mask):
    return with_weights(attention_weights(query, key) * mask, value)


def finite_fill(query, key, value, mask):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return with_weights(scores.masked_fill(~mask, -1e9).softmax(-1), value)


def plain_softmax(query, key, value, mask):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return with_weights(scores.masked_fill(~mask, -torch.inf).softmax(-1), value)


def added_mask(query, key, value, mask):
    hidden = torch.zeros(mask.shape, dtype=query.dtype).masked_fill(
        ~mask, -torch.inf
    )
    scores = query @ key.mT / math.sqrt(query.size(-1)) + hidden
    return with_weights(scores.softmax(-1).nan_to_num(), value)


def unscaled(query, key, value, mask):
    return with_weights(masked_softmax(query @ key.mT, mask), value)


def dropped(query, key, value, mask):
    return attend(query, key, F.dropout(value, 0.5), mask)


def dropped_weights(query, key, value, mask):
    return with_weights(F.dropout(attention_weights(query, key, mask), 0.5), value)


def two_heads(query, key, value, mask, split=None):
    def transpose(x):
        return x.unflatten(-1, (2, -1)).transpose(1, 2)

    heads = [(split or transpose)(x) for x in (query, key, value)]
    context, weights = attend(*heads, mask[:, None])
    return context.transpose(1, 2).flatten(2), weights


def scrambled(query, key, value, mask):
    return two_heads(
        query,
        key,
        value,
        mask,
        lambda x: x.reshape(x.size(0), 2, x.size(1), -1),
    )


def length_first(query, key, value, mask):
    context, weights = attend(*(x.transpose(0, 1) for x in (query, key, value)))
    return context.transpose(0, 1), weights


WRONG = {
    "rows_sum_to_one": [late_mask, dropped_weights],
    "future_changes_nothing": [
        late_mask,
        scrambled,
        lambda q, k, v, mask: attend(q, k, v, ~mask),
        lambda q, k, v, mask: attend(q, k, v, mask | mask.roll(1, dims=-1)),
    ],
    "padding_is_silent": [
        late_mask,
        lambda q, k, v, mask: attend(q, k, v, mask[:, -1]),
        lambda q, k, v, mask: (v.mean(1, keepdim=True), None),
    ],
    "samples_are_independent": [
        lambda q, k, v, mask: attend(q, k, v.mean(0, keepdim=True)),
        lambda q, k, v, mask: attend(*(x.transpose(0, 1) for x in (q, k, v))),
        length_first,
    ],
    "order_of_keys_is_invisible": [
        scrambled,
        lambda q, k, v, mask: attend(q, k.cumsum(1), v, mask),
    ],
    "blind_rows_are_silent": [finite_fill, plain_softmax, added_mask],
    "scores_have_unit_variance": [
        unscaled,
        lambda q, k, v, mask: attend(0 * q, k, v, mask),
    ],
    "same_answer_twice": [dropped, dropped_weights],
    "equals_pytorch": [unscaled, late_mask, two_heads],
}
pairs = [(name, wrong) for name, several in WRONG.items() for wrong in several]


@of_attention
def test_the_books_attention_has_every_property(ask):
    assert ask(attend)


@pytest.mark.parametrize(("name", "wrong"), pairs)
def test_a_wrong_attention_does_not_have_it(name, wrong):
    assert not getattr(properties, name)(wrong)


def test_two_heads_have_what_does_not_count_heads():
    lacking = {ask.__name__ for ask in OF_ATTENTION if not ask(two_heads)}
    assert lacking == {"equals_pytorch"}
    assert properties.equals_pytorch(two_heads, num_heads=2)


def test_a_module_lacks_only_what_its_maps_take():
    torch.manual_seed(0)
    module = MultiHeadAttention(6, 3).double()
    lacking = {
        ask.__name__
        for ask in OF_ATTENTION
        if not ask(lambda q, k, v, mask: module(q, k, v, mask[:, None]))
    }
    assert lacking == {"scores_have_unit_variance", "equals_pytorch"}


def test_a_repair_that_the_gradient_survives_is_accepted():
    def repaired(*inputs):
        _, weights = plain_softmax(*inputs)
        return with_weights(weights.nan_to_num(), inputs[2])

    assert properties.blind_rows_are_silent(repaired)


@of_attention
@pytest.mark.parametrize("error", [ValueError, TypeError, RuntimeError, IndexError])
def test_what_stops_has_no_property(ask, error):
    def stops(*_):
        raise error

    assert ask(stops).kind == "exception"


@of_attention
def test_a_slip_of_the_pen_is_shown(ask):
    with pytest.raises(NameError):
        ask(lambda q, k, v, mask: no_such_function(q))  # noqa: F821


@of_attention
def test_a_question_leaves_chance_as_it_was(ask):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    ask(dropped)
    assert torch.equal(torch.rand(3), expected)


@of_attention
def test_a_question_gives_the_same_answer_under_another_default_dtype(
    ask, monkeypatch
):
    torch.set_default_dtype(torch.float64)
    try:
        assert ask(attend)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("width", [2, 5, 64])
def test_the_variance_is_asked_at_any_width(width):
    assert properties.scores_have_unit_variance(attend, width)
    assert not properties.scores_have_unit_variance(
        lambda q, k, v, mask: attend(1.2 * q, k, v), width
    )


@pytest.mark.parametrize("width", [1, 2, 5, 8, 13])
def test_the_books_table_is_the_formula(width):
    assert properties.equals_the_formula(sinusoidal_encoding, width)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda length, d_model: sinusoidal_encoding(length + 1, d_model)[1:],
        lambda length, d_model: sinusoidal_encoding(length, d_model).flip(1),
        lambda length, d_model: sinusoidal_encoding(length, d_model + 2)[:, :-2],
        lambda length, d_model: sinusoidal_encoding(length, d_model)[0],
        lambda length, d_model: torch.zeros(length, d_model, 1) @ torch.zeros(2, 2),
    ],
)
def test_another_table_is_not(wrong):
    assert not properties.equals_the_formula(wrong)


def test_positions_are_told_apart_by_enough_columns():
    answers = [
        bool(properties.positions_are_told_apart(sinusoidal_encoding, width))
        for width in (2, 4, 8, 16)
    ]
    assert answers == [False, False, True, True]


def test_two_equal_rows_are_not_told_apart():
    def twice(length, d_model):
        table = sinusoidal_encoding(length, d_model)
        table[99] = table[7]
        return table

    assert not properties.positions_are_told_apart(twice)


def reads(mask_of):
    return lambda x: attend(x, x, x, mask_of(x.size(1)))[0]


@pytest.mark.parametrize(
    "model",
    [
        reads(causal_mask),
        lambda x: reads(causal_mask)(reads(causal_mask)(x)),
        F.gelu,
    ],
)
def test_prefixes_keep_what_does_not_look_ahead(model):
    assert properties.prefixes_keep_their_outputs(model)


@pytest.mark.parametrize(
    "model",
    [
        reads(lambda length: None),
        reads(lambda length: causal_mask(length).mT),
        lambda x: x.cumsum(1) / x.size(1),  # causal, but it knows the length
        lambda x: torch.cat(
            [x[:, :3], x[:, 3:].flip(1)], 1
        ),  # the last but one peeks
        lambda x: x[:, -1],
        lambda x: x[:, :4],
    ],
)
def test_prefixes_do_not_keep_what_does(model):
    assert not properties.prefixes_keep_their_outputs(model)


def standardize(x, axis=-1, correction=0):
    centred = x - x.mean(axis, keepdim=True)
    return centred / x.std(axis, correction=correction, keepdim=True)


@pytest.mark.parametrize("width", [3, 512])
def test_what_ends_in_a_norm_is_normalized(width):
    norm = nn.LayerNorm(width).double()
    for model in (norm, lambda x: norm(x + x.relu()), standardize):
        assert properties.rows_are_normalized(model, width)


@pytest.mark.parametrize(
    "model",
    [
        lambda x: standardize(x, correction=1),
        lambda x: standardize(x) + 1e-3,
        lambda x: standardize(x.clamp(-9, 9) + x.sign() / 99),  # small numbers only
        lambda x: x * x.square().mean(-1, keepdim=True).rsqrt(),  # not centred
        lambda x: x - x.mean(-1, keepdim=True),  # not scaled
        lambda x: x + standardize(x),
        lambda x: standardize(x, axis=1),
        lambda x: standardize(x, axis=(1, 2)),
        lambda x: x[..., :0],
    ],
)
@pytest.mark.parametrize("width", [3, 512])
def test_what_does_not_is_not(model, width):
    assert not properties.rows_are_normalized(model, width)


def training(model, trained):
    optimizer = torch.optim.SGD(trained, lr=0.1)

    def step():
        optimizer.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()

    return step


def test_a_step_moves_every_parameter():
    model = nn.Linear(3, 2)
    assert properties.every_parameter_moves(
        model, training(model, model.parameters())
    )


def test_a_step_that_leaves_one_behind():
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    for step in (
        training(model, other.parameters()),
        training(model, [model.weight]),
        training(other, model.parameters()),
    ):
        assert not properties.every_parameter_moves(model, step)
