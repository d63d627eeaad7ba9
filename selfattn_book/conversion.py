"""Weights copied between the book's attention and PyTorch's, so that the two can be compared.

A copy spends no random numbers.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from selfattn_book.attention import MultiHeadAttention


def to_torch(attention: MultiHeadAttention) -> nn.MultiheadAttention:
    """Return PyTorch's module with a copy of the weights of ours.

    Args:
        attention: with narrow heads, which is all that PyTorch's module has.

    Returns:
        An :class:`torch.nn.MultiheadAttention` with ``batch_first=True``, which gives the same
        outputs; of its masks, remember that ``True`` means *may not attend*.

    Raises:
        ValueError: the heads are wide, the input has another width than the output, or some of
            the query, key and value maps learn and some are frozen: PyTorch keeps them in one matrix.

    Example:
        >>> ours, x = MultiHeadAttention(6, 2), torch.ones(5, 3, 6).cumsum(1)
        >>> theirs = to_torch(ours)
        >>> theirs(x, x, x)[0].allclose(ours(x, x, x)[0], atol=1e-6)
        True
        >>> theirs = to_torch(MultiHeadAttention(6, 2, bias=False, dropout=0.5).eval())
        >>> theirs.in_proj_bias, theirs.dropout, theirs.training
        (None, 0.5, False)
        >>> to_torch(MultiHeadAttention(6, 2, d_head=6))
        Traceback (most recent call last):
        ValueError: PyTorch needs d_input = d_model = num_heads * d_head; got 6, 6 and 2 * 6
        >>> to_torch(MultiHeadAttention(6, 2, d_input=5))
        Traceback (most recent call last):
        ValueError: PyTorch needs d_input = d_model = num_heads * d_head; got 5, 6 and 2 * 3
        >>> _ = ours.project_key.requires_grad_(False)
        >>> to_torch(ours)
        Traceback (most recent call last):
        ValueError: query, key and value maps must all learn or all be frozen; got 2 of 6 tensors frozen
    """
    width, d_input = (
        attention.project_output.out_features,
        attention.project_query.in_features,
    )
    if not d_input == width == attention.num_heads * attention.d_head:
        rule = "PyTorch needs d_input = d_model = num_heads * d_head"
        heads = f"{attention.num_heads} * {attention.d_head}"
        raise ValueError(f"{rule}; got {d_input}, {width} and {heads}")
    like = attention.project_query.weight
    theirs = skip_init(
        nn.MultiheadAttention,
        width,
        attention.num_heads,
        dropout=attention.dropout,
        bias=attention.project_query.bias is not None,
        batch_first=True,
        device=like.device,
        dtype=like.dtype,
    )
    parts = _parts(attention)
    _copy(parts, _torch_parts(theirs))
    _let_learn(list(theirs.parameters()), _learning_together(parts))
    return theirs.train(attention.training)


def from_torch(theirs: nn.MultiheadAttention) -> MultiHeadAttention:
    """Return the book's module with a copy of the weights of PyTorch's.

    Args:
        theirs: batch first or not; ours is batch first always.

    Returns:
        A :class:`~selfattn_book.attention.MultiHeadAttention` that gives the same outputs.

    Raises:
        ValueError: PyTorch's module has keys or values of another width, or adds a key of its own
            (``add_bias_kv``, ``add_zero_attn``), which ours never does.

    Example:
        >>> theirs, x = nn.MultiheadAttention(6, 2, batch_first=True), torch.ones(5, 3, 6).cumsum(1)
        >>> from_torch(theirs)(x, x, x)[0].allclose(theirs(x, x, x)[0], atol=1e-6)
        True
        >>> theirs = nn.MultiheadAttention(6, 2, bias=False, batch_first=True).double().eval()
        >>> ours, x = from_torch(theirs), x.double()
        >>> ours(x, x, x)[0].allclose(theirs(x, x, x)[0]), ours.training
        (True, False)
        >>> from_torch(nn.MultiheadAttention(6, 2, kdim=5))
        Traceback (most recent call last):
        ValueError: keys and values must be as wide as embed_dim = 6; got kdim = 5, vdim = 6
        >>> from_torch(nn.MultiheadAttention(6, 2, add_zero_attn=True))
        Traceback (most recent call last):
        ValueError: there must be no added key; got add_bias_kv or add_zero_attn
        >>> from_torch(nn.MultiheadAttention(6, 2, add_bias_kv=True))
        Traceback (most recent call last):
        ValueError: there must be no added key; got add_bias_kv or add_zero_attn
    """
    if not theirs.embed_dim == theirs.kdim == theirs.vdim:
        rule = f"keys and values must be as wide as embed_dim = {theirs.embed_dim}"
        raise ValueError(f"{rule}; got kdim = {theirs.kdim}, vdim = {theirs.vdim}")
    if theirs.bias_k is not None or theirs.add_zero_attn:
        raise ValueError(
            "there must be no added key; got add_bias_kv or add_zero_attn"
        )
    like = theirs.in_proj_weight
    with torch.device("meta"):  # where nothing is drawn
        ours = MultiHeadAttention(
            theirs.embed_dim,
            theirs.num_heads,
            bias=theirs.in_proj_bias is not None,
            dropout=theirs.dropout,
        )
    ours = ours.to_empty(device=like.device).to(like.dtype)
    _copy(_torch_parts(theirs), _parts(ours))
    learning = [parameter.requires_grad for parameter in theirs.parameters()]
    together = (
        len(learning) // 2
    )  # with biases 2, without 1; the output map's are the last
    _let_learn(_parts(ours), [*learning[:together] * 3, *learning[together:]])
    return ours.train(theirs.training)


def _parts(attention: MultiHeadAttention) -> list[Tensor]:
    """Return weight and bias, if any, of the query, key, value and output map, in this order."""
    maps = (
        attention.project_query,
        attention.project_key,
        attention.project_value,
        attention.project_output,
    )
    parts = [part for linear in maps for part in (linear.weight, linear.bias)]
    return [part for part in parts if part is not None]


def _torch_parts(theirs: nn.MultiheadAttention) -> list[Tensor]:
    """Return the same of PyTorch's module, which keeps three of the maps in one matrix."""
    weights = theirs.in_proj_weight.chunk(3)
    biases = (
        [None] * 3 if theirs.in_proj_bias is None else theirs.in_proj_bias.chunk(3)
    )
    parts = [part for pair in zip(weights, biases, strict=True) for part in pair]
    parts += [theirs.out_proj.weight, theirs.out_proj.bias]
    return [part for part in parts if part is not None]


@torch.no_grad()
def _copy(sources: list[Tensor], targets: list[Tensor]) -> None:
    for source, target in zip(sources, targets, strict=True):
        target.copy_(source)


def _learning_together(parts: list[Tensor]) -> list[bool]:
    """Return what learns of the three maps together, and of the output map, or raise."""
    learning = [part.requires_grad for part in parts]
    kinds = len(parts) // 4  # with biases 2, without 1
    if learning[: 3 * kinds] != learning[:kinds] * 3:
        rule = "query, key and value maps must all learn or all be frozen"
        frozen = 3 * kinds - sum(learning[: 3 * kinds])
        raise ValueError(f"{rule}; got {frozen} of {3 * kinds} tensors frozen")
    return learning[:kinds] + learning[3 * kinds :]


def _let_learn(parts: list[Tensor], learning: list[bool]) -> None:
    for part, learns in zip(parts, learning, strict=True):
        part.requires_grad_(learns)
