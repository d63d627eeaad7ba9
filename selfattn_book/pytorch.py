"""Weights copied to and from PyTorch's modules, to compare the two.

A copy spends no random numbers.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.transformer import DecoderBlock, EncoderBlock, Residual

# The parts of a block, and what PyTorch calls them.
ENCODER_PARTS = {
    "attention": "self_attn",
    "attention_path.norm": "norm1",
    "feed_forward.expand": "linear1",
    "feed_forward.contract": "linear2",
    "feed_forward_path.norm": "norm2",
}
DECODER_PARTS = {
    "self_attention": "self_attn",
    "self_attention_path.norm": "norm1",
    "cross_attention": "multihead_attn",
    "cross_attention_path.norm": "norm2",
    "feed_forward.expand": "linear1",
    "feed_forward.contract": "linear2",
    "feed_forward_path.norm": "norm3",
}


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
        A :class:`~selfattn_book.multi_head.MultiHeadAttention` that gives the same outputs.

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


def encoder_to_torch(block: EncoderBlock) -> nn.TransformerEncoderLayer:
    """Return PyTorch's encoder layer with a copy of the weights of our block.

    Args:
        block: with narrow heads and biases, which is all that PyTorch's layer has.

    Returns:
        A layer with ``batch_first=True`` that gives the same states;
        of its masks, remember that ``True`` means *may not attend*.

    Raises:
        ValueError: the heads are wide, the attention has no biases, or parts of the block differ
            in ``dropout``, ``norm_first`` or from the usual ``eps``.

    Example:
        >>> ours, x = EncoderBlock(6, 2, norm_first=True), torch.ones(5, 3, 6).cumsum(1)
        >>> theirs = encoder_to_torch(ours)
        >>> theirs(x).allclose(ours(x)[0], atol=1e-6), theirs.norm_first
        (True, True)
        >>> encoder_to_torch(EncoderBlock(6, 2, attention_bias=False))
        Traceback (most recent call last):
        ValueError: PyTorch's layer needs an attention with biases; got one without
    """
    theirs = _layer_like(nn.TransformerEncoderLayer, block, block.attention)
    for ours, name in ENCODER_PARTS.items():
        _hand_over(block.get_submodule(ours), theirs, name)
    return theirs.train(block.training)


def encoder_from_torch(theirs: nn.TransformerEncoderLayer) -> EncoderBlock:
    """Return the book's encoder block with a copy of the weights of PyTorch's layer.

    Args:
        theirs: with biases and the activation ReLU; batch first or not; ours is always.

    Raises:
        TypeError: it is another layer.
        ValueError: it has another activation, no biases, several rates of dropout,
            or normalizes with another ``eps``.

    Example:
        >>> theirs = nn.TransformerEncoderLayer(6, 2, 24, dropout=0.0, batch_first=True)
        >>> x = torch.ones(5, 3, 6).cumsum(1)
        >>> encoder_from_torch(theirs)(x)[0].allclose(theirs(x), atol=1e-6)
        True
        >>> encoder_from_torch(nn.TransformerEncoderLayer(6, 2, activation=nn.ReLU())).training
        True
        >>> encoder_from_torch(nn.TransformerEncoderLayer(6, 2, activation="gelu"))
        Traceback (most recent call last):
        ValueError: the activation must be relu; got <built-in function gelu>
        >>> encoder_from_torch(nn.TransformerEncoderLayer(6, 2, bias=False))
        Traceback (most recent call last):
        ValueError: the layer must have biases; got one without
        >>> encoder_from_torch(nn.TransformerEncoderLayer(6, 2, layer_norm_eps=0.1))
        Traceback (most recent call last):
        ValueError: layer_norm_eps must be 1e-05; got 0.1
        >>> encoder_from_torch(nn.TransformerDecoderLayer(6, 2))
        Traceback (most recent call last):
        TypeError: the layer must be a TransformerEncoderLayer; got a TransformerDecoderLayer
    """
    _check_layer(theirs, nn.TransformerEncoderLayer)
    ours = _block_like(EncoderBlock, theirs)
    for name, part in ENCODER_PARTS.items():
        _hand_over(theirs.get_submodule(part), ours, name)
    return ours.train(theirs.training)


def decoder_to_torch(block: DecoderBlock) -> nn.TransformerDecoderLayer:
    """Return PyTorch's decoder layer with a copy of the weights of our block.

    Args:
        block: with narrow heads and biases, which is all that PyTorch's layer has.

    Returns:
        A layer with ``batch_first=True`` that gives the same states;
        of its masks, remember that ``True`` means *may not attend*.

    Raises:
        ValueError: the heads are wide, the attention has no biases, or parts of the block differ
            in ``dropout``, ``norm_first`` or from the usual ``eps``.

    Example:
        >>> ours, x = DecoderBlock(6, 2), torch.ones(5, 3, 6).cumsum(1)
        >>> decoder_to_torch(ours)(x, -x).allclose(ours(x, -x)[0], atol=1e-6)
        True
    """
    theirs = _layer_like(nn.TransformerDecoderLayer, block, block.self_attention)
    for ours, name in DECODER_PARTS.items():
        _hand_over(block.get_submodule(ours), theirs, name)
    return theirs.train(block.training)


def decoder_from_torch(theirs: nn.TransformerDecoderLayer) -> DecoderBlock:
    """Return the book's decoder block with a copy of the weights of PyTorch's layer.

    Args:
        theirs: with biases and the activation ReLU; batch first or not; ours is always.

    Raises:
        TypeError: it is another layer.
        ValueError: it has another activation, no biases, several rates of dropout,
            or normalizes with another ``eps``.

    Example:
        >>> theirs = nn.TransformerDecoderLayer(6, 2, 24, dropout=0.0, batch_first=True)
        >>> x = torch.ones(5, 3, 6).cumsum(1)
        >>> decoder_from_torch(theirs)(x, -x)[0].allclose(theirs(x, -x), atol=1e-6)
        True
    """
    _check_layer(theirs, nn.TransformerDecoderLayer)
    ours = _block_like(DecoderBlock, theirs)
    for name, part in DECODER_PARTS.items():
        _hand_over(theirs.get_submodule(part), ours, name)
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


def _layer_like(
    kind: Any, block: EncoderBlock | DecoderBlock, attention: MultiHeadAttention
) -> Any:
    """Return a layer of PyTorch's of the size of a block, with nothing drawn."""
    if attention.project_query.bias is None:
        raise ValueError(
            "PyTorch's layer needs an attention with biases; got one without"
        )
    _check_settings(block)
    expand = block.feed_forward.expand
    return skip_init(
        kind,
        expand.in_features,
        attention.num_heads,
        expand.out_features,
        block.feed_forward.dropout.p,
        batch_first=True,
        norm_first=block.feed_forward_path.norm_first,
        device=expand.weight.device,
        dtype=expand.weight.dtype,
    )


def _block_like(kind: Any, theirs: Any) -> Any:
    """Return a block of the size of a layer of PyTorch's, with nothing drawn."""
    like = theirs.linear1.weight
    with torch.device("meta"):  # where nothing is drawn
        ours = kind(
            theirs.linear1.in_features,
            theirs.self_attn.num_heads,
            d_ff=theirs.linear1.out_features,
            norm_first=theirs.norm_first,
            dropout=theirs.dropout.p,
        )
    return ours.to_empty(device=like.device).to(like.dtype)


def _check_layer(theirs: Any, kind: Any) -> None:
    """Raise unless the book has a block for a layer of PyTorch's."""
    if not isinstance(theirs, kind):
        rule = f"the layer must be a {kind.__name__}"
        raise TypeError(f"{rule}; got a {type(theirs).__name__}")
    activation = theirs.activation
    is_relu = activation in (nn.functional.relu, torch.relu)
    if not is_relu and not isinstance(activation, nn.ReLU):
        raise ValueError(f"the activation must be relu; got {activation}")
    if theirs.linear1.bias is None:
        raise ValueError("the layer must have biases; got one without")
    _check_settings(theirs)


def _check_settings(module: nn.Module) -> None:
    """Raise unless all parts of a block or layer are set alike, for a copy has one setting."""
    found: dict[str, set[Any]] = {"dropout": set(), "norm_first": set()}
    for part in module.modules():
        if isinstance(part, nn.LayerNorm) and part.eps != (
            eps := nn.LayerNorm(1).eps
        ):
            raise ValueError(f"layer_norm_eps must be {eps}; got {part.eps}")
        if isinstance(part, nn.Dropout):
            found["dropout"].add(part.p)
        if isinstance(part, MultiHeadAttention | nn.MultiheadAttention):
            found["dropout"].add(part.dropout)
        if isinstance(part, Residual):
            found["norm_first"].add(part.norm_first)
    for name, values in found.items():
        if len(values) > 1:
            got = " and ".join(map(str, sorted(values)))
            raise ValueError(f"all parts must have one {name}; got {got}")


def _hand_over(part: nn.Module, whole: nn.Module, name: str) -> None:
    """Put a copy of a part of one library into a whole of the other."""
    if isinstance(part, MultiHeadAttention):
        whole.set_submodule(name, to_torch(part))
    elif isinstance(part, nn.MultiheadAttention):
        whole.set_submodule(name, from_torch(part))
    else:
        copy = whole.get_submodule(name)
        copy.load_state_dict(part.state_dict())
        for parameter, like in zip(
            copy.parameters(), part.parameters(), strict=True
        ):
            parameter.requires_grad_(like.requires_grad)
