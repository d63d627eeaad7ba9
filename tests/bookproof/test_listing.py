"""A listing is the source as it runs, and nothing of its docstring."""

from listing import caption_of, source_without_docstring

from selfattn_book import attention, masks


def test_the_docstring_is_left_out():
    source = source_without_docstring(masks.causal_mask)
    assert source.startswith("def causal_mask(")
    assert '"""' not in source
    assert "Let every query" not in source


def test_the_listing_is_valid_code_that_does_the_same():
    names = {
        "Tensor": object,
        "torch": masks.torch,
        "check_integer": masks.check_integer,
    }
    source = source_without_docstring(masks.causal_mask)
    exec(source, names)
    assert names["causal_mask"](3, 5).equal(masks.causal_mask(3, 5))


def test_a_method_is_dedented():
    source = source_without_docstring(attention.MultiHeadAttention.forward)
    assert source.startswith("def forward(")


def test_docstrings_within_a_class_are_left_out():
    source = source_without_docstring(attention.MultiHeadAttention)
    assert '"""' not in source
    assert "def reset_parameters(self)" in source
    assert "@torch.no_grad()" in source


def test_a_comment_is_kept():
    assert "# Divided first" in source_without_docstring(
        attention.attention_weights
    )


def test_the_caption_links_to_the_reference():
    caption = caption_of("selfattn_book.masks")
    assert caption == "{py:obj}`masks <selfattn_book.masks>`"


def test_the_caption_of_a_private_name_has_no_link():
    """The reference does not document it, so that a link would lead nowhere."""
    caption = caption_of("selfattn_book.attention.MultiHeadAttention._split_heads")
    assert caption == "`attention.MultiHeadAttention._split_heads`"
