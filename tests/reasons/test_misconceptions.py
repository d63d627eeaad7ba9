"""A misconception is named for the code that has it, and for no other."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from selfattn_book import properties as has
from selfattn_book.attention import masked_softmax
from selfattn_book.attention import scaled_dot_product_attention as attend
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.positions import sinusoidal_encoding
from selfattn_book.reasons import of_attention, of_models


def from_scores(change, num_heads=1):
    """Return an attention whose weights are made from scores and mask as one likes."""

    def attention(query, key, value, mask):
        q, k, v = (
            x.unflatten(-1, (num_heads, -1)).transpose(1, 2)
            for x in (query, key, value)
        )
        weights = change(q @ k.mT / q.size(-1) ** 0.5, mask[:, None])
        context = (weights @ v).transpose(1, 2).flatten(2)
        return context, weights[:, 0] if num_heads == 1 else weights

    return attention


def filled(scores, mask, number=-torch.inf):
    return scores.masked_fill(~mask, number)


# Masks: of plain attention, of two heads, and of a module with maps.
CHANGES = {
    of_attention.LATE: lambda s, m: s.softmax(-1) * m,
    of_attention.NUMBERS: lambda s, m: (s + m.double()).softmax(-1),
    of_attention.INVERTED: lambda s, m: masked_softmax(s, ~m),
    of_attention.FILLED: lambda s, m: (s * m).softmax(-1),
    of_attention.UNUSED: lambda s, m: s.softmax(-1),
}
RIGHT = {
    "masked_softmax": masked_softmax,
    "fill": lambda s, m: filled(s, m, -1e9).softmax(-1),
    "softmax": lambda s, m: filled(s, m).softmax(-1),
}
each_change = pytest.mark.parametrize("name", CHANGES)


def a_problem():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(3, 3, 5, 6, generator=generator, dtype=torch.float64)
    return *x, torch.ones(3, 5, 5, dtype=torch.bool).tril()


def named(likely):
    return {sentence for sentence, explains in likely if explains()}


@pytest.mark.parametrize("num_heads", [1, 2])
@each_change
def test_each_mask_is_explained_by_one_misconception(name, num_heads):
    code = from_scores(CHANGES[name], num_heads)
    assert named(of_attention.of_masks(code, *a_problem())) == {name}


@pytest.mark.parametrize("change", RIGHT)
def test_no_misconception_explains_a_right_mask(change):
    code = from_scores(RIGHT[change])
    assert named(of_attention.of_masks(code, *a_problem())) == set()
    assert has.future_changes_nothing(code)


@pytest.mark.parametrize(
    ("ask", "asked"),
    [
        (has.future_changes_nothing, set(CHANGES)),
        (has.padding_is_silent, set(CHANGES)),
        (has.equals_pytorch, set(CHANGES)),
        (has.rows_sum_to_one, {of_attention.LATE}),
        (has.blind_rows_are_silent, {of_attention.UNUSED, of_attention.INVERTED}),
    ],
)
@each_change
def test_a_property_names_what_is_wrong_with_a_mask(ask, asked, name):
    answer = ask(from_scores(CHANGES[name]))
    if name in asked:
        assert answer.misconception == name
    assert answer.misconception in {name, "", *BLIND}


BLIND = {sentence for sentence, _ in of_attention.of_blind_rows(torch.ones(1, 7))}


@each_change
def test_a_module_with_maps_is_judged_by_itself(name):
    torch.manual_seed(0)
    maps = nn.ModuleList(nn.Linear(6, 6) for _ in range(3)).double()
    code = from_scores(CHANGES[name])

    def module(*inputs):
        *vectors, mask = inputs
        return code(*(f(x) for f, x in zip(maps, vectors, strict=True)), mask)

    assert has.future_changes_nothing(module).misconception == name
    assert has.equals_pytorch(module).misconception == ""


# Other errors of an attention.
def exchanged(query, key, value, mask):
    return attend(query, value, key, mask)


def turned(query, key, value, mask):
    return attend(-query, key, value, mask)


def viewed(back):
    def attention(query, key, value, mask):
        heads = [x.reshape(3, 2, x.size(1), -1) for x in (query, key, value)]
        context, weights = attend(*heads, mask[:, None])
        if back:
            return context.reshape(query.shape), weights
        return context.transpose(1, 2).flatten(2), weights

    return attention


def scaled(power, num_heads=1):
    def change(scores, mask):
        width = 6 / num_heads
        return masked_softmax(scores * width**0.5 * power(width), mask)

    return from_scores(change, num_heads)


FACTORS = [
    (of_attention.NOT_DIVIDED, scaled(lambda d: 1)),
    (of_attention.NOT_DIVIDED, scaled(lambda d: 1, 2)),
    (of_attention.BY_THE_WIDTH, scaled(lambda d: 1 / d)),
    (of_attention.BY_THE_WIDTH, scaled(lambda d: 1 / d, 3)),
    (of_attention.MULTIPLIED, scaled(lambda d: d**0.5)),
    (of_attention.WHOLE_WIDTH, scaled(lambda d: 6**-0.5, 2)),
]


@pytest.mark.parametrize(("name", "code"), FACTORS)
def test_a_factor_of_the_scores_is_named(name, code):
    heads = code(*a_problem())[1].ndim == 4
    count = code(*a_problem())[1].size(1) if heads else 1
    assert has.scores_have_unit_variance(code).misconception == name
    assert has.equals_pytorch(code, num_heads=count).misconception == name


def test_another_divisor_is_told_from_what_is_no_factor():
    typed = has.scores_have_unit_variance(scaled(lambda d: 0.6))
    assert "does not follow the width" in typed.misconception
    assert has.scores_have_unit_variance(scaled(lambda d: -0.6)).misconception == ""
    module = MultiHeadAttention(6, 2).double()
    maps = has.scores_have_unit_variance(
        lambda q, k, v, m: module(q, k, v, m[:, None])
    )
    assert (maps.kind, maps.misconception) == ("mathematics", "")


def weights_of(function):
    def attention(*inputs):
        context, weights = attend(*inputs)
        return context, function(context, weights)

    return attention


ROWS = [
    (
        of_attention.ALONG_QUERIES,
        from_scores(lambda s, m: filled(s, m).softmax(-2)),
    ),
    (
        "A softmax along the batch does this.",
        from_scores(lambda s, m: s.softmax(0)),
    ),
    (
        "These are the scores, from before the softmax.",
        lambda q, k, v, m: (attend(q, k, v)[0], q @ k.mT / math.sqrt(6)),
    ),
    (
        "Asked twice, they differ: they have been through dropout.",
        weights_of(lambda context, weights: F.dropout(weights, 0.5)),
    ),
    ("", weights_of(lambda context, weights: 2 * weights)),
    ("", weights_of(lambda context, weights: -weights)),
    ("", lambda q, k, v, mask: [2 * x for x in attend(q, k, v)]),
]


@pytest.mark.parametrize(("name", "code"), ROWS)
def test_rows_that_are_no_shares_are_explained(name, code):
    answer = has.rows_sum_to_one(code)
    assert (answer.kind, answer.misconception) == ("mathematics", name)


def test_a_negative_weight_is_told():
    def unfair(context, weights):
        bent = weights.clone()
        bent[0, 2, 0], bent[0, 2, 1] = -0.25, weights[0, 2, :2].sum() + 0.25
        return bent

    answer = has.rows_sum_to_one(weights_of(unfair))
    told = "a weight of query 2 of sample 0 is -0.25, and none may be negative."
    assert answer.reason == told


@pytest.mark.parametrize(
    ("name", "code"),
    [
        (of_attention.SCRAMBLED, viewed(back=True)),
        (of_attention.SCRAMBLED, viewed(back=False)),
        (of_attention.ALONG_QUERIES, ROWS[0][1]),
        ("Key and value are exchanged.", exchanged),
        ("The scores have the other sign.", turned),
        ("", from_scores(masked_softmax, 2)),
        ("", lambda *inputs: [2 * x for x in attend(*inputs)]),
    ],
)
def test_a_context_that_is_not_pytorchs_is_explained(name, code):
    answer = has.equals_pytorch(code)
    assert (answer.kind, answer.misconception) == ("mathematics", name)


@pytest.mark.parametrize("back", [True, False])
def test_scrambled_heads_are_named_by_the_order_of_keys(back):
    answer = has.order_of_keys_is_invisible(viewed(back))
    assert answer.misconception == of_attention.SCRAMBLED


@pytest.mark.parametrize(
    ("start", "code"),
    [
        ("Where all scores are -inf", from_scores(RIGHT["softmax"])),
        ("All its scores became one", from_scores(RIGHT["fill"])),
        ("A nan was replaced", None),
    ],
)
def test_blind_rows_are_explained(start, code):
    def repaired(query, key, value, mask):
        hidden = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
        scores = query @ key.mT / query.size(-1) ** 0.5 + hidden
        weights = scores.softmax(-1).nan_to_num()
        return weights @ value, weights

    answer = has.blind_rows_are_silent(code or repaired)
    assert answer.misconception.startswith(start)
    assert ("gradient" in answer.reason) == (code is None)


# Padding and samples.
def zeroed(query, key, value, mask):
    real = mask[:, :1].mT
    return attend(query, key * real, value * real)


def pooled(query, key, value, mask):
    return attend(query, key, value, mask)[0].mean(1, keepdim=True), None


@pytest.mark.parametrize(
    ("start", "code"), [("What padding holds", zeroed), ("Padded queries", pooled)]
)
def test_padding_that_speaks_is_explained(start, code):
    assert has.padding_is_silent(code).misconception.startswith(start)


def length_first(query, key, value, mask):
    context, weights = attend(*(x.transpose(0, 1) for x in (query, key, value)))
    return context.transpose(0, 1), weights


def counted(query, key, value, mask):
    return attend(query, key, value + torch.arange(len(value))[:, None, None])


@pytest.mark.parametrize(
    ("start", "code"),
    [
        ("A word meets", length_first),
        ("Equal samples", counted),
        ("", lambda q, k, v, mask: attend(q - q.mean(0), k, v)),
    ],
)
def test_samples_that_depend_are_explained(start, code):
    answer = has.samples_are_independent(code)
    assert answer.misconception[: len(start) or None] == start


def test_chance_is_told_from_memory():
    calls = []

    def counting(query, key, value, mask):
        calls.append(1)
        return attend(len(calls) * query, key, value, mask)

    drops = has.same_answer_twice(lambda q, k, v, m: attend(q, k, F.dropout(v), m))
    assert drops.misconception.startswith("From one seed they agree")
    remembers = has.same_answer_twice(counting)
    assert remembers.misconception.startswith("From one seed they differ")


# Models of sequences.
def reads(diagonal):
    return lambda x: attend(x, x, x, causal_mask(x.size(1)) | diagonal(x.size(1)))[
        0
    ]


def band(length):
    return torch.ones(length, length, dtype=torch.bool).tril(1)


@pytest.mark.parametrize(
    ("start", "model"),
    [
        ("Each position sees one", reads(band)),
        ("It does not look ahead", lambda x: x.cumsum(1) / x.size(1)),
        ("What comes later", lambda x: x.flip(1).cumsum(1).flip(1)),
        ("Every position sees", lambda x: x - x.mean(1, keepdim=True)),
        ("", lambda x: x.cumsum(1) + x.roll(-2, dims=1)),
    ],
)
def test_what_is_known_too_early_is_explained(start, model):
    for answer in (
        has.prefixes_keep_their_outputs(model),
        has.prefixes_agree(lambda source, target: model(target)),
    ):
        assert answer.kind == "mathematics"
        assert answer.misconception[: len(start) or None] == start


def test_a_mask_that_is_too_wide_is_named_of_an_attention():
    def code(q, k, v, mask):
        return attend(q, k, v, band(q.size(1)))

    assert "one diagonal too wide" in has.future_changes_nothing(code).misconception


@pytest.mark.parametrize(
    ("start", "run"),
    [
        ("The mask makes no difference", lambda s, t, real: t + s.sum(1, True)),
        (
            "The mask is inverted",
            lambda s, t, real: t + (s * ~real[:, 0, 0, :, None]).sum(1, True),
        ),
        (
            "What padding holds",
            lambda s, t, real: t + (s * real[:, 0, 0, :, None]).mean(1, True),
        ),
        (
            "",
            lambda s, t, real: t + (s * (1 + real[:, 0, 0, :, None])).sum(1, True),
        ),
    ],
)
def test_padding_of_a_source_is_explained(start, run):
    answer = has.source_padding_is_silent(run)
    assert answer.misconception[: len(start) or None] == start


def test_a_source_that_nobody_hears_is_told_from_one_point():
    deaf = has.source_is_heard(lambda source, target: target)
    assert deaf.misconception.startswith("No output hears")
    last = has.source_is_heard(lambda source, target: target + source[:, -1:])
    assert last.misconception == ""


def test_caches_are_explained():
    seen = []

    def anew(source, length):
        return source.sum(1, True).expand(-1, length, -1)

    def keeping(source, length):
        seen.append(source.sum())
        return anew(source, length) + len(seen) - 1

    def fixed(source, length):
        return (
            source[:, :1].cumsum(1).expand(-1, length, -1)
            + anew(source, length) * 0
        )

    def first_only(source, length):
        return anew(source, length) + (torch.arange(length)[:, None] > 0)

    keeps = has.cache_changes_nothing(keeping, anew)
    assert "at start 1" in keeps.reason
    assert keeps.misconception.startswith("It keeps something")
    places = has.cache_changes_nothing(first_only, anew)
    assert places.misconception.startswith("The first point is right")
    assert has.cache_changes_nothing(fixed, anew).misconception == ""


# Norms.
def standardize(x, axes=-1, correction=0):
    centred = x - x.mean(axes, keepdim=True)
    return centred / x.std(axes, correction=correction, keepdim=True)


@pytest.mark.parametrize(
    ("start", "model"),
    [
        ("It divides by the deviation", lambda x: standardize(x, correction=1)),
        ("The mean is not", lambda x: x * x.square().mean(-1, True).rsqrt()),
        ("The mean is taken", lambda x: x - x.mean(-1, keepdim=True)),
        (
            "It is divided by the var",
            lambda x: standardize(x) / x.std(-1, keepdim=True),
        ),
        ("Mean and deviation are those of an", lambda x: standardize(x, 1)),
        ("Mean and deviation are those of all", lambda x: standardize(x, (1, 2))),
        ("The input comes through", lambda x: x + standardize(x)),
        ("", lambda x: standardize(x) + 1e-2),
        ("", lambda x: 2 * standardize(x)),
    ],
)
@pytest.mark.parametrize("width", [6, 64])
def test_rows_that_are_not_normal_are_explained(start, model, width):
    answer = has.rows_are_normalized(model, width)
    assert answer.kind == "mathematics"
    assert answer.misconception[: len(start) or None] == start


# Tables.
def waves(power, base=10_000.0):
    def table(length, d_model):
        column = torch.arange(d_model, dtype=torch.float64)
        place = torch.arange(length, dtype=torch.float64)[:, None]
        angle = place * base ** -power(column, d_model)
        return torch.where(column % 2 == 0, angle.sin(), angle.cos())

    return table


def halves(length, d_model):
    table = sinusoidal_encoding(length, d_model)
    return torch.cat([table[:, 0::2], table[:, 1::2]], 1)


TABLES = [
    (
        "Sines and cosines",
        lambda n, d: (
            sinusoidal_encoding(n, d).unflatten(1, (-1, 2)).flip(2).flatten(1)
        ),
    ),
    ("All sines come first", halves),
    ("The positions begin at 1", lambda n, d: sinusoidal_encoding(n + 1, d)[1:]),
    ("Nothing is divided", waves(lambda c, d: 0 * c)),
    ("The exponent is i / D", waves(lambda c, d: c // 2 / d)),
    ("The exponent is 4i / D", waves(lambda c, d: 4 * (c // 2) / d)),
    ("Each column has", waves(lambda c, d: c / d)),
    ("The exponent is i / (D/2", waves(lambda c, d: c // 2 / (d // 2 - 1))),
    ("The position is multiplied", waves(lambda c, d: -2 * (c // 2) / d)),
    ("The base is not 10000", waves(lambda c, d: 2 * (c // 2) / d, base=1000.0)),
    ("", lambda n, d: torch.zeros(n, d)),
    ("", lambda n, d: -sinusoidal_encoding(n, d)),
]


@pytest.mark.parametrize(("start", "table"), TABLES)
@pytest.mark.parametrize("d_model", [6, 8])
def test_each_table_is_explained_by_one_misconception(start, table, d_model):
    answer = has.equals_the_formula(table, d_model)
    assert answer.misconception[: len(start) or None] == start
    rows = table(13, d_model).double()
    others = named(of_models.of_table(rows, d_model)) - {answer.misconception}
    assert others <= {
        "The base is not 10000."
    }  # as another exponent is another base


def test_the_right_table_is_explained_by_none():
    for width in (1, 2, 5, 8):
        rows = sinusoidal_encoding(13, width).double()
        assert has.equals_the_formula(waves(lambda c, d: 2 * (c // 2) / d), width)
        assert has.equals_the_formula(lambda n, d, rows=rows: rows, width)


def test_parameters_that_stay_are_explained():
    model, other = nn.Linear(2, 1), nn.Linear(2, 1)

    def step(moved):
        model(torch.ones(1, 2)).sum().backward()
        torch.optim.SGD(moved, lr=0.1).step()

    lost = has.every_parameter_moves(model, lambda: step(other.parameters()))
    assert lost.misconception.startswith("They have gradients")
    half = has.every_parameter_moves(model, lambda: step([model.weight]))
    assert half.reason == "1 of 2 parameters do not move: bias."
    still = has.every_parameter_moves(other, lambda: step(model.parameters()))
    assert still.misconception.startswith("No gradient")
