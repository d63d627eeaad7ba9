"""Properties of attention hold for right programs; each broken one is refused, and its error named."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from selfattn_book.attention import masked_softmax
from selfattn_book.attention import scaled_dot_product_attention as attend
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.properties import explain_attention as explain
from selfattn_book.properties import explain_models
from selfattn_book.properties import of_attention as has


def by_weights(change, num_heads=1):
    """Attention whose weights are a function of scores and mask."""

    def attention(query, key, value, mask):
        q, k, v = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (query, key, value))
        weights = change(q @ k.mT / q.size(-1) ** 0.5, mask[:, None])
        context = (weights @ v).transpose(1, 2).flatten(2)
        return context, weights[:, 0] if num_heads == 1 else weights

    return attention


def with_weights(change):
    """Attention that returns other weights than it uses."""

    def attention(*inputs):
        context, weights = attend(*inputs)
        return context, change(weights)

    return attention


def fill(scores, mask, number=-torch.inf):
    return scores.masked_fill(~mask, number)


MASKS = {
    explain.LATE: lambda s, m: s.softmax(-1) * m,
    explain.NUMBERS: lambda s, m: (s + m.double()).softmax(-1),
    explain.INVERTED: lambda s, m: masked_softmax(s, ~m),
    explain.FILLED: lambda s, m: (s * m).softmax(-1),
    explain.UNUSED: lambda s, m: s.softmax(-1),
}
plain_softmax = by_weights(lambda s, m: fill(s, m).softmax(-1))
finite_fill = by_weights(lambda s, m: fill(s, m, -1e9).softmax(-1))
added_mask = by_weights(
    lambda s, m: (s + torch.zeros(m.shape).masked_fill(~m, -torch.inf)).softmax(-1).nan_to_num()
)
two_heads = by_weights(masked_softmax, 2)


def scaled(power, num_heads=1):
    """Attention whose scores are multiplied by a function of the width of a head."""
    width = 6 / num_heads
    return by_weights(lambda s, m: masked_softmax(s * width**0.5 * power(width), m), num_heads)


def scrambled(merge):
    """Attention of two heads that are split by `view`, and merged by a function."""

    def attention(query, key, value, mask):
        heads = [x.reshape(3, 2, x.size(1), -1) for x in (query, key, value)]
        context, weights = attend(*heads, mask[:, None])
        return merge(context), weights

    return attention


viewed = scrambled(lambda context: context.reshape(3, context.size(2), 6))
transposed = scrambled(lambda context: context.transpose(1, 2).flatten(2))


def negative(weights):
    bent = weights.clone()
    bent[0, 2, 0], bent[0, 2, 1] = -0.25, weights[0, 2, :2].sum() + 0.25
    return bent


def swapped(query, key, value, mask):
    return attend(*(x.transpose(0, 1) for x in (query, key, value)))


def length_first(*inputs):
    context, weights = swapped(*inputs)
    return context.transpose(0, 1), weights


def doubled(*inputs):
    return [2 * x for x in attend(*inputs)]


BAND = torch.ones(5, 5, dtype=torch.bool).tril(1)
along_queries = by_weights(lambda s, m: fill(s, m).softmax(-2))
MASKED = [(by_weights(change), name) for name, change in MASKS.items()]
BROKEN = {
    has.rows_sum_to_one: [
        MASKED[0],
        (along_queries, explain.ALONG_QUERIES),
        (by_weights(lambda s, m: s.softmax(0)), explain.ALONG_BATCH),
        (lambda q, k, v, m: (attend(q, k, v)[0], q @ k.mT / 6**0.5), explain.ARE_SCORES),
        (with_weights(F.dropout), explain.RANDOM_WEIGHTS),
        (with_weights(lambda weights: 2 * weights), ""),
        (with_weights(lambda weights: -weights), ""),
        (with_weights(negative), ""),
        (doubled, ""),
    ],
    has.is_causal: [
        *MASKED,
        (transposed, explain.SCRAMBLED),
        (lambda q, k, v, m: attend(q, k, v, BAND), explain_models.TOO_WIDE),
        (lambda q, k, v, m: attend(q, k, v, m | m.roll(1, dims=-1)), explain_models.TOO_WIDE),
    ],
    has.padding_has_no_effect: [
        *MASKED,
        (lambda q, k, v, m: attend(q, k * m[:, :1].mT, v * m[:, :1].mT), explain.ZEROED_PADDING),
        (lambda *x: (attend(*x)[0].mean(1, keepdim=True), None), explain.POOLED_PADDING),
        (lambda q, k, v, m: (v.mean(1, keepdim=True), None), explain.UNUSED),
    ],
    has.samples_are_independent: [
        (length_first, explain.BATCH_AS_LENGTH),
        (
            lambda q, k, v, m: attend(q, k, v + torch.arange(len(v))[:, None, None]),
            explain.BY_SAMPLE,
        ),
        (lambda q, k, v, m: attend(q - q.mean(0), k, v), ""),
        (lambda q, k, v, m: attend(q, k, v.mean(0, keepdim=True)), ""),
    ],
    has.is_invariant_to_key_order: [
        (viewed, explain.SCRAMBLED),
        (transposed, explain.SCRAMBLED),
        (lambda q, k, v, m: attend(q, k.cumsum(1), v, m), ""),
    ],
    has.fully_masked_rows_are_zero: [
        MASKED[2],
        MASKED[4],
        (plain_softmax, explain.NAN_ROW),
        (finite_fill, explain.EVEN_ROW),
        (added_mask, explain.REPLACED_NAN),
    ],
    has.scores_have_unit_variance: [
        (scaled(lambda d: 1), explain.NOT_DIVIDED),
        (scaled(lambda d: 1, 2), explain.NOT_DIVIDED),
        (scaled(lambda d: 1 / d), explain.BY_THE_WIDTH),
        (scaled(lambda d: 1 / d, 3), explain.BY_THE_WIDTH),
        (scaled(lambda d: d**0.5), explain.MULTIPLIED),
        (scaled(lambda d: 6**-0.5, 2), explain.WHOLE_WIDTH),
        (scaled(lambda d: 0.6), explain.WRONG_DIVISOR),
        (scaled(lambda d: -0.6), ""),
        (scaled(lambda d: 0), ""),
    ],
    has.is_deterministic: [
        (lambda q, k, v, m: attend(q, k, F.dropout(v), m), explain_models.RANDOM),
        (by_weights(lambda s, m: F.dropout(masked_softmax(s, m))), explain_models.RANDOM),
    ],
    has.equals_pytorch: [
        *MASKED,
        (scaled(lambda d: 1), explain.NOT_DIVIDED),
        (scaled(lambda d: 1 / d), explain.BY_THE_WIDTH),
        (scaled(lambda d: d**0.5), explain.MULTIPLIED),
        (viewed, explain.SCRAMBLED),
        (transposed, explain.SCRAMBLED),
        (along_queries, explain.ALONG_QUERIES),
        (lambda q, k, v, m: attend(q, v, k, m), explain.EXCHANGED),
        (lambda q, k, v, m: attend(-q, k, v, m), explain.NEGATED),
        (two_heads, ""),
        (doubled, ""),
    ],
}
every_property = pytest.mark.parametrize("ask", BROKEN, ids=lambda ask: ask.__name__)
CASES = [(ask, *case) for ask, cases in BROKEN.items() for case in cases]


@every_property
@pytest.mark.parametrize("default", [torch.float32, torch.float64])
def test_the_books_attention_has_every_property(ask, default):
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        assert ask(attend)
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize(("ask", "code", "misconception"), CASES)
def test_a_broken_attention_is_refused_and_its_misconception_named(ask, code, misconception):
    answer = ask(code)
    assert (answer.kind, answer.misconception) == ("mathematics", misconception)


REASONS = {
    "mathematics: a weight of query 2 of sample 0 is -0.25, and none may be negative.": (
        has.rows_sum_to_one,
        with_weights(negative),
    ),
    "mathematics: the gradient of query 1 of sample": (has.fully_masked_rows_are_zero, added_mask),
    "shape: the context must have shape": (has.samples_are_independent, swapped),
    "exception: ValueErr": (
        has.padding_has_no_effect,
        lambda q, k, v, m: attend(q, k, v, m[:, -1]),
    ),
}


@pytest.mark.parametrize("reason", REASONS)
def test_the_reason_gives_kind_place_and_numbers(reason):
    ask, code = REASONS[reason]
    answer = ask(code)
    assert f"{answer.kind}: {answer.reason}".startswith(reason)


@every_property
@pytest.mark.parametrize("name", MASKS)
def test_no_other_misconception_about_a_mask_is_named(ask, name):
    allowed = {name, "", explain.NAN_ROW, explain.EVEN_ROW}
    assert ask(by_weights(MASKS[name])).misconception in allowed


@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("name", [*MASKS, ""])
def test_each_mask_is_explained_by_one_misconception(name, num_heads, draw):
    x, mask = draw(3, 3, 5, 6), torch.ones(3, 5, 5, dtype=torch.bool).tril()
    code = by_weights(MASKS.get(name, masked_softmax), num_heads)
    holding = [sentence for sentence, explains in explain.masks(code, *x, mask) if explains()]
    assert holding == ([name] if name else [])


def with_projections(query, key, value, mask):
    torch.manual_seed(0)
    return MultiHeadAttention(6, 3).double()(query, key, value, mask[:, None])


@pytest.mark.parametrize(
    ("code", "failing"),
    [
        (plain_softmax, [has.fully_masked_rows_are_zero]),
        (finite_fill, [has.fully_masked_rows_are_zero]),
        (added_mask, [has.fully_masked_rows_are_zero]),
        (two_heads, [has.equals_pytorch]),
        (with_projections, [has.scores_have_unit_variance, has.equals_pytorch]),
    ],
)
def test_a_program_fails_only_where_it_is_wrong(code, failing):
    assert [ask for ask in BROKEN if not ask(code)] == failing


@pytest.mark.parametrize("name", MASKS)
def test_a_module_with_projections_is_compared_with_itself(name):
    torch.manual_seed(0)
    projections = nn.ModuleList(nn.Linear(6, 6) for _ in range(3)).double()
    code = by_weights(MASKS[name])

    def module(*inputs):
        *vectors, mask = inputs
        return code(*(f(x) for f, x in zip(projections, vectors, strict=True)), mask)

    assert has.is_causal(module).misconception == name
    assert has.equals_pytorch(module).misconception == ""


@pytest.mark.parametrize(
    ("num_heads", "power", "name"),
    [
        (2, lambda d: 1, explain.NOT_DIVIDED),
        (3, lambda d: 1 / d, explain.BY_THE_WIDTH),
        (2, lambda d: 6**-0.5, explain.WHOLE_WIDTH),
    ],
)
def test_the_width_of_a_head_counts(num_heads, power, name):
    assert has.equals_pytorch(scaled(power, num_heads), num_heads=num_heads).misconception == name


def test_several_heads_are_compared_with_as_many():
    assert has.equals_pytorch(two_heads, num_heads=2)
    assert has.scores_have_unit_variance(with_projections).misconception == ""


def test_a_replaced_nan_is_accepted_if_gradients_are_finite():
    def replaced(*inputs):
        weights = plain_softmax(*inputs)[1].nan_to_num()
        return weights @ inputs[2], weights

    assert has.fully_masked_rows_are_zero(replaced)


def test_kept_state_is_distinguished_from_randomness():
    calls = []

    def counting(query, key, value, mask):
        calls.append(1)
        return attend(len(calls) * query, key, value, mask)

    assert has.is_deterministic(counting).misconception == explain_models.STATEFUL


@pytest.mark.parametrize("d_model", [2, 5, 64])
def test_the_variance_is_checked_for_any_width(d_model):
    assert has.scores_have_unit_variance(attend, d_model)
    assert not has.scores_have_unit_variance(lambda q, k, v, m: attend(1.2 * q, k, v), d_model)


@every_property
def test_an_error_because_of_the_input_is_an_answer_and_others_are_not(ask):
    def stops(error):
        def attention(*_):
            raise error

        return attention

    for error in (ValueError, TypeError, RuntimeError, IndexError):
        assert ask(stops(error)).kind == "exception"
    with pytest.raises(NameError):
        ask(stops(NameError))


@every_property
def test_the_global_generator_is_left_alone(ask):
    before = torch.random.get_rng_state()
    ask(lambda q, k, v, mask: attend(q, k, F.dropout(v), mask))
    assert torch.equal(torch.random.get_rng_state(), before)
