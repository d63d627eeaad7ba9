"""A whole Transformer is its parts in order, and generates the same with a KV cache."""

import copy
import math
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from selfattn_book.cache import DecoderCache
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.positions import sinusoidal_encoding
from selfattn_book.transformer import Transformer

B, S, T, SOURCES, TARGETS, WIDTH, LAYERS, HEADS = 3, 5, 7, 13, 11, 6, 2, 2
SIZES = {"d_model": WIDTH, "num_layers": LAYERS, "num_heads": HEADS}

close = partial(torch.testing.assert_close, rtol=1e-11, atol=1e-11)
both_norms = pytest.mark.parametrize("norm_first", [True, False])


@pytest.fixture(scope="session")
def make(seeded):
    """Make a float64 model with random parameters only: zeros and ones would hide a swap."""

    def _make(seed=0, **options):
        with seeded(seed):
            model = Transformer(SOURCES, TARGETS, **SIZES, **options).double()
            for name, parameter in model.named_parameters():
                if "embedding" not in name:
                    nn.init.normal_(parameter, std=0.5)
        return model

    return _make


def tokens(rows, length, vocabulary, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(vocabulary, (rows, length), generator=generator)


@pytest.fixture
def source():
    return tokens(B, S, SOURCES)


@pytest.fixture
def target():
    return tokens(B, T, TARGETS, seed=1)


@both_norms
@pytest.mark.parametrize("tie_weights", [True, False])
def test_it_is_its_parts_in_order(make, source, target, norm_first, tie_weights):
    """Every step once more, with products of one-hot rows instead of a table of tokens."""
    model = make(norm_first=norm_first, tie_weights=tie_weights)
    vectors = []
    for sequence, table in (
        (source, model.source_embedding.weight),
        (target, model.target_embedding.weight),
    ):
        hot = torch.eye(len(table), dtype=torch.float64)[sequence]
        positions = sinusoidal_encoding(sequence.size(1), WIDTH, dtype=torch.float64)
        vectors.append(math.sqrt(WIDTH) * hot @ table + positions)
    seen = padding_mask([5, 2, 3])
    memory, _ = model.encoder(vectors[0], seen)
    states, *_ = model.decoder(vectors[1], memory, causal_mask(T), seen)
    table = model.target_embedding if tie_weights else model.unembedding
    close(model(source, target, seen), states @ table.weight.T)


@both_norms
def test_a_padded_source_equals_itself_alone(make, source, target, norm_first):
    model, lengths = make(norm_first=norm_first), [5, 2, 3]
    together = model(source, target, padding_mask(lengths))
    for b, n in enumerate(lengths):
        alone = model(source[b : b + 1, :n], target[b : b + 1])
        close(together[b : b + 1], alone)


@both_norms
def test_a_padded_target_equals_itself_alone(make, source, target, norm_first):
    """Padding on the left has nothing to see, and stays finite; positions count from the left."""
    model = make(norm_first=norm_first)
    right = padding_mask([7, 2, 3])
    together = model(source, target, None, right)
    for b, n in enumerate([7, 2, 3]):
        alone = model(source[b : b + 1], target[b : b + 1, :n])
        close(together[b : b + 1, :n], alone)
    other = target.clone()
    other[:, 0] = (other[:, 0] + 1) % TARGETS
    hidden = torch.ones(B, 1, 1, T, dtype=torch.bool)
    hidden[..., 0] = False
    one, two = (model(source, y, None, hidden) for y in (target, other))
    assert one.isfinite().all()
    assert one[:, 1:].equal(two[:, 1:])
    assert not one[:, :1].allclose(two[:, :1])


def test_source_and_target_have_positions(make, source, target):
    model = make()
    logits = model(source, target)
    assert not model(source.flip(1), target).allclose(logits)
    last = model(source, target[:, [1, 0, 2, 3, 4, 5, 6]])[:, -1]
    assert not last.allclose(logits[:, -1])


def test_embeddings_are_initialized_for_two_sizes(seeded):
    """Embedded tokens and logits both begin with entries of variance 1."""
    with seeded(0):
        model = Transformer(999, 998, d_model=64, num_layers=1, num_heads=1)
    for table in (model.source_embedding, model.target_embedding, model.unembedding):
        assert abs(table.weight.std().item() * 8 - 1) < 0.02


def test_the_sizes_of_its_parts(seeded):
    with seeded(0):
        model = Transformer(4, 5, **SIZES, d_ff=3, norm_first=True, dropout=0.25, max_len=9)
    stacks = model.encoder, model.decoder
    assert [len(stack.blocks) for stack in stacks] == [LAYERS, LAYERS]
    for stack in stacks:
        assert stack.blocks[0].feed_forward.expand.out_features == 3
        assert stack.blocks[0].feed_forward_residual.norm_first
    rates = {part.p for part in model.modules() if isinstance(part, nn.Dropout)}
    assert rates == {0.25}
    assert model.dropout.p == 0.25
    assert model.source_positions.table.shape == (9, WIDTH)
    assert model.target_positions.table.shape == (9, WIDTH)
    assert model.unembedding.bias is None
    assert Transformer(4, 5, **SIZES).dropout.p == 0


def test_embedded_tokens_are_dropped_in_training(make, source, target):
    """On both sides, with all other dropout taken away, nothing of any token is left."""
    model = make(dropout=1.0)
    for part in (*model.encoder.modules(), *model.decoder.modules()):
        if isinstance(part, nn.Dropout):
            part.p = 0.0
        if hasattr(part, "d_head"):
            part.dropout = 0.0
    assert model.encode(source).std(0).max() < 1e-12
    memory = model.encode(source[:1]).expand(B, S, WIDTH)
    assert model.decode(target, memory).std(0).max() < 1e-12


def test_tied_weights_learn_as_one(make, source, target):
    model = make(tie_weights=True)
    names = [name for name, _ in model.named_parameters()]
    assert "unembedding.weight" not in names
    assert len(names) + 1 == len(list(make().named_parameters()))
    model(source, target).square().mean().backward()
    assert model.unembedding.weight.grad is model.target_embedding.weight.grad


def test_every_parameter_learns(make, source, target):
    model = make(norm_first=True)
    model(source, target).square().mean().backward()
    for name, parameter in model.named_parameters():
        if not name.endswith("project_key.bias"):  # adds the same to each score
            assert parameter.grad.abs().max() > 1e-9, name


@both_norms
@given(cuts=st.lists(st.integers(1, 3), min_size=3, max_size=7))
def test_chunks_with_caches_equal_the_whole(make, norm_first, cuts):
    model, seen = make(norm_first=norm_first), padding_mask([5, 2, 3])
    source, target = tokens(B, S, SOURCES), tokens(B, sum(cuts), TARGETS, seed=1)
    real = padding_mask([sum(cuts), 2, 1], sum(cuts))
    memory = model.encode(source, seen)
    for hide in (None, real):
        whole = model.decode(target, memory, seen, hide)
        caches = [DecoderCache() for _ in model.decoder.blocks]
        at, parts = 0, []
        for chunk in target.split(cuts, dim=1):
            at += chunk.size(1)
            so_far = None if hide is None else hide[..., :at]
            parts.append(model.decode(chunk, memory, seen, so_far, caches=caches))
        close(torch.cat(parts, dim=1), whole)
        assert [len(cache.target) for cache in caches] == [at] * LAYERS
        assert [len(cache.memory) for cache in caches] == [S] * LAYERS


@both_norms
@pytest.mark.parametrize("end", [None, 4])
def test_generation_with_a_cache_equals_generation_without(make, source, norm_first, end):
    """The logits agree to rounding, and no two of these are as near to each other."""
    seen = padding_mask([5, 2, 3])
    for seed in range(5):
        model, found = make(seed=seed, norm_first=norm_first), []
        for cached in (True, False):
            logits = []

            def select(given, logits=logits):
                logits.append(given)
                return given.argmax(-1)

            options = {"bos_token": 1, "eos_token": end, "cached": cached, "select": select}
            tokens = model.generate(source, 9, source_mask=seen, **options)
            plain = {name: options[name] for name in ("bos_token", "eos_token", "cached")}
            assert tokens.equal(model.generate(source, 9, source_mask=seen, **plain))
            found.append((tokens, torch.stack(logits)))
        assert found[0][0].equal(found[1][0])
        close(found[0][1], found[1][1])


def test_each_token_is_the_most_likely_one(make, source):
    """Handed back, shifted by one, the training pass says the same at every position."""
    model, before = make(), source.clone()
    tokens = model.generate(source, 9, bos_token=TARGETS - 1)
    assert source.equal(before)
    shifted = torch.cat([torch.full((B, 1), TARGETS - 1), tokens[:, :-1]], dim=1)
    assert model(source, shifted).argmax(-1).equal(tokens)


def test_no_weights_are_computed_and_caches_are_used(make, source, target, monkeypatch):
    monkeypatch.setattr("selfattn_book.multi_head.attention_weights", None)
    model, seen = make(), []
    model(source, target)
    model.target_embedding.register_forward_pre_hook(lambda _, given: seen.append(len(given[0][0])))
    for options in ({}, {"cached": False}):
        model.generate(source, 4, bos_token=1, **options)
    assert seen == [1, 1, 1, 1, 1, 2, 3, 4]


def test_a_row_of_a_batch_is_generated_as_alone(make, source):
    model, lengths = make(seed=2), [5, 2, 3]
    together = model.generate(
        source, 9, bos_token=1, eos_token=4, source_mask=padding_mask(lengths)
    )
    for row, one, n in zip(together, source, lengths, strict=True):
        alone = model.generate(one[None, :n], 9, bos_token=1, eos_token=4)[0]
        assert row[: len(alone)].equal(alone)
        assert (row[len(alone) :] == 4).all()


def scripted(make, rows):
    """Make a model and a selection that generates given rows, and record its steps."""
    model, steps = make(), []

    def select(logits):
        steps.append(logits.shape)
        assert not logits.requires_grad
        return torch.tensor(rows)[:, len(steps) - 1]

    return model, select, steps


def test_after_its_end_token_a_row_repeats_it(make, source):
    rows = [[2, 4, 7, 8], [3, 5, 4, 9], [6, 5, 4, 1]]
    model, select, steps = scripted(make, rows)
    tokens = model.generate(source, 9, bos_token=0, eos_token=4, select=select)
    assert tokens.tolist() == [[2, 4, 4], [3, 5, 4], [6, 5, 4]]
    assert steps == [(B, TARGETS)] * 3  # no step more than the longest needs


def test_without_an_end_every_step_is_made(make, source):
    model, select, _ = scripted(make, [[2, 4], [4, 4], [4, 4]])
    tokens = model.generate(source, 2, bos_token=0, select=select)
    assert tokens.tolist() == [[2, 4], [4, 4], [4, 4]]


def test_what_is_no_token_is_refused(make, source, target):
    """All checks of tokens are in tests/test_arguments.py."""
    model, message = make(), "source must hold tokens from 0 to 12; got"
    with pytest.raises(ValueError, match=message):
        model(source + SOURCES, target)
    with pytest.raises(ValueError, match=message):
        model.generate(source + SOURCES, 3, bos_token=0)
    with pytest.raises(ValueError, match="target must hold tokens from 0 to 10; go"):
        model(source, target + TARGETS)
    assert model(source.int(), target.int()).equal(model(source, target))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens must be at least 1; got 0"),
        ({"bos_token": 11}, "bos_token must be at most 10; got 11"),
        ({"bos_token": -1}, "bos_token must be at least 0; got -1"),
        ({"eos_token": 11}, "eos_token must be at most 10; got 11"),
        ({"eos_token": -1}, "eos_token must be at least 0; got -1"),
        ({"max_new_tokens": 11}, "max_len = 9"),
    ],
)
@pytest.mark.parametrize("cached", [True, False])
def test_arguments_of_a_prediction_are_checked(make, source, change, message, cached):
    arguments = {"max_new_tokens": 3, "bos_token": 1, "cached": cached, **change}
    with pytest.raises(ValueError, match=message):
        make(max_len=9).generate(source, **arguments)


@pytest.mark.parametrize(("sizes", "side"), [((0, 5), "source"), ((5, 0), "target")])
def test_sizes_are_checked(sizes, side):
    with pytest.raises(ValueError, match=f"{side}_vocab_size must be at least 1; got 0"):
        Transformer(*sizes, **SIZES)


def test_a_refused_step_leaves_every_cache_as_it_was(make, source, target):
    model = make().requires_grad_(False)
    memory = model.encode(source)
    begun = [DecoderCache() for _ in range(LAYERS)]
    model.decode(target[:, :2], memory, caches=begun)
    newest, other = target[:, 2:3], copy.deepcopy(begun)
    for wrong, message in (
        ((newest + TARGETS, memory), "target must hold tokens"),
        ((newest, memory[:, 1:]), "memory must be that of the steps before"),
        ((newest, memory, torch.ones(S)), "boolean"),
        ((newest, memory, None, torch.ones(B, 1, 1, 2).bool()), "size of tensor"),
    ):
        with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
            model.decode(*wrong, caches=begun)
        assert [len(cache.target) for cache in begun] == [2] * LAYERS
    with pytest.raises(ValueError, match="one cache for each of the 2 blocks; got 1"):
        model.decode(newest, memory, caches=begun[:1])
    again = model.decode(newest, memory, caches=begun)
    assert again.equal(model.decode(newest, memory, caches=other))


def test_it_runs_on_meta_and_compiles_nothing_away():
    with torch.device("meta"):
        model = Transformer(4, 5, **SIZES)
        assert model.source_positions.table.shape == (1000, WIDTH)
        whole = torch.empty(2, 3, dtype=torch.int64)
        assert model(whole, whole[:, :2]).shape == (2, 2, 5)
