"""Masks, entry by entry."""

from functools import partial

import numpy as np
import pytest
import torch

from selfattn_book.masks import causal_mask, padding_mask, sliding_window_mask


# Query i sees key j when j <= i + (S - T).
@pytest.mark.parametrize("length", [0, 1, 3, 5, 7])
@pytest.mark.parametrize("key_length", [0, 1, 2, 3, 7])
def test_causal_mask_entry_by_entry(length, key_length):
    mask = causal_mask(length, key_length)
    assert mask.dtype == torch.bool
    assert mask.shape == (length, key_length)
    for i in range(length):
        for j in range(key_length):
            assert mask[i, j] == (j <= i + key_length - length)


@pytest.mark.parametrize("window", [1, 2, 9])
@pytest.mark.parametrize(("length", "key_length"), [(5, 5), (3, 7), (7, 3), (0, 2)])
def test_sliding_window_mask_entry_by_entry(length, key_length, window):
    mask = sliding_window_mask(length, window, key_length)
    rows = range(key_length - length, key_length)
    assert mask.tolist() == [[i - window < j <= i for j in range(key_length)] for i in rows]


def test_causal_mask_is_made_where_asked():
    assert causal_mask(3, device="meta").device.type == "meta"
    with torch.device("meta"):
        assert causal_mask(3).device.type == "meta"


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (causal_mask, (-1,), "length must be at least 0; got -1"),
        (causal_mask, (2, -3), "key_length must be at least 0; got -3"),
        (sliding_window_mask, (3, 0), "window must be at least 1; got 0"),
    ],
)
def test_causal_masks_refuse(make, arguments, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        make(*arguments)


FORMS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "numpy integers": lambda lengths: [np.int64(n) for n in lengths],
    "tensor": torch.tensor,
}
FORMS |= {
    str(dtype): partial(torch.tensor, dtype=dtype)
    for dtype in (torch.int8, torch.int16, torch.int32, torch.uint8, torch.uint16)
}


# Made from lengths as (B, 1, 1, S).
@pytest.mark.parametrize("max_length", [None, 101, 300])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_padding_mask_entry_by_entry(form, max_length):
    lengths = [3, 0, 100, 1, 5]
    given = form(lengths)
    mask = padding_mask(given, max_length)
    assert list(given) == lengths  # unchanged
    width = max_length or 100
    assert mask.dtype == torch.bool
    assert mask.shape == (5, 1, 1, width)
    for row, length in zip(mask[:, 0, 0].tolist(), lengths, strict=True):
        assert row == [True] * length + [False] * (width - length)


def test_no_lengths_have_a_padding_mask():
    assert padding_mask([]).shape == (0, 1, 1, 0)


def test_padding_mask_stays_with_the_lengths():
    lengths = torch.tensor([3, 1], device="meta")
    assert padding_mask(lengths, 5).device.type == "meta"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1.5],), TypeError, "lengths must be integers; got dtype torch.float32"),
        (([True],), TypeError, "lengths must be integers; got dtype torch.bool"),
        (([1j],), TypeError, "lengths must be integers; got dtype torch.complex64"),
        ((torch.tensor(3),), ValueError, r"lengths must have shape \(B,\); got \(\)"),
        (([[3]],), ValueError, r"lengths must have shape \(B,\); got \(1, 1\)"),
        ((3,), TypeError, "lengths must be a sequence or a tensor of .* got int"),
        (("31",), TypeError, "lengths must be a sequence or a tensor of .* got str"),
        (([None],), TypeError, r"lengths must be a sequence .* got \[None\]"),
        (([3, None],), TypeError, r"lengths must be a sequence .* got \[3, None\]"),
        (([[1], [1, 2]],), TypeError, r"lengths .* got \[\[1\], \[1, 2\]\]"),
        (({3},), TypeError, r"lengths must be a sequence .* got \{3\}"),
        (([-1],), ValueError, "lengths must be at least 0; got -1"),
        (([-5, -1], 2), ValueError, "lengths must be at least 0; got -5"),
        (([3, 1], 2), ValueError, "lengths must be at most max_length = 2; got 3"),
        (([3], -2), ValueError, "max_length must be at least 0; got -2"),
    ],
)
def test_padding_mask_refuses(arguments, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        padding_mask(*arguments)
