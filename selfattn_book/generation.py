"""Autoregressive decoding: the distribution of the next token, sampling, and generation.

Shape letters: ``B`` batch, ``T`` length, ``V`` number of tokens in the vocabulary.
"""

from collections.abc import Callable, Collection

import torch
from torch import Tensor

from selfattn_book._arguments import (
    check_boolean,
    check_floating,
    check_integer,
    check_number,
    check_positive,
    check_tokens,
    check_vocabulary,
)
from selfattn_book.cache import KeyValueCache
from selfattn_book.language import LanguageModel

Select = Callable[[Tensor], Tensor]


def greedy(logits: Tensor) -> Tensor:
    """Select the most likely token ``(B,)``, the first one of equals: greedy decoding.

    Example:
        >>> greedy(torch.tensor([[0.0, 2.0, 1.0]]))
        tensor([1])
    """
    return logits.argmax(-1)


def next_token_distribution(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    r"""Turn logits into the probabilities of the next token.

    .. math:: p_v = \operatorname{softmax}(\ell / \tau)_v

    over the tokens that remain: the ``top_k`` most likely ones, and of these the fewest whose
    probabilities sum to at least ``top_p``. Of equally likely tokens, those with the lowest index
    come first.

    Args:
        logits: ``(..., V)``, floating point; ``-inf`` excludes a token.
        temperature: :math:`\tau`, above 0; below 1 it sharpens the distribution.
        top_k: number of tokens that remain; all by default.
        top_p: probability that remains at least; all by default.

    Returns:
        ``(..., V)``: non-negative, each row sums to 1; in float32 at least.

    Raises:
        TypeError, ValueError: a row has no finite maximum, or an option is out of range.

    Source:
        Top-k, :cite:t:`fan2018hierarchical`; top-p, :cite:t:`holtzman2020curious`.

    Example:
        >>> logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
        >>> next_token_distribution(logits, top_k=2)
        tensor([0.6250, 0.3750, 0.0000, 0.0000])
    """
    _check_options(logits, temperature, top_k, top_p)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    logits = logits - _checked_maximum(logits)  # at most 0: no division overflows to inf
    limits = torch.finfo(logits.dtype)
    logits = logits / min(max(temperature, limits.tiny), limits.max)
    logits, order = logits.sort(descending=True, stable=True)
    if top_k is not None:
        logits[..., top_k:] = -torch.inf
    if top_p is not None:
        probabilities = logits.softmax(-1)
        before = probabilities.cumsum(-1) - probabilities
        logits = logits.masked_fill(before >= top_p, -torch.inf)
    return torch.empty_like(logits).scatter(-1, order, logits.softmax(-1))


def make_sampler(
    generator: torch.Generator,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Select:
    """Return a function that samples from :func:`next_token_distribution`, with its options.

    Example:
        >>> sample = make_sampler(torch.Generator().manual_seed(0), top_k=1)
        >>> sample(torch.tensor([[0.0, 2.0, 1.0], [3.0, 2.0, 1.0]]))
        tensor([1, 0])
    """

    def sample(logits: Tensor) -> Tensor:
        probabilities = next_token_distribution(
            logits, temperature=temperature, top_k=top_k, top_p=top_p
        )
        return torch.multinomial(probabilities, 1, generator=generator)[..., 0]

    return sample


def generate(
    model: LanguageModel,
    tokens: Tensor,
    max_new_tokens: int,
    *,
    select: Select = greedy,
    padding_mask: Tensor | None = None,
    cached: bool = True,
    eos_tokens: Collection[int] = (),
) -> Tensor:
    """Continue each row of tokens, one token at a time; return ``(B, T + max_new_tokens)``.

    Beyond the model's ``context_length`` only the last tokens are read, without a KV cache.

    Args:
        model: in evaluation mode, if it has dropout.
        tokens: ``(B, T)``, integers, at least one per row.
        max_new_tokens: number of tokens to add.
        select: function from logits ``(B, V)`` to the next tokens ``(B,)``.
        padding_mask: boolean, ``False`` = padding, on the left; ``(B, T)`` or ``(B, 1, 1, T)``.
        cached: use a KV cache while all tokens fit into ``context_length``.
        eos_tokens: tokens that end a text; a row that has added one repeats it until all rows have.

    Raises:
        TypeError, ValueError: ``max_new_tokens``, tokens or mask are out of range.

    Example:
        >>> from selfattn_book.language import decoder_only
        >>> model = decoder_only(11, d_model=4, num_layers=2, num_heads=2, context_length=5)
        >>> generate(model, torch.tensor([[3, 1], [4, 1]]), 7).shape
        torch.Size([2, 9])
    """
    max_new_tokens = check_integer("max_new_tokens", max_new_tokens, least=0)
    check_tokens("tokens", tokens)
    check_vocabulary("tokens", tokens, model.embedding.num_embeddings)
    if padding_mask is not None:
        padding_mask = _checked_padding(tokens, padding_mask)
    caches = [KeyValueCache() for _ in model.blocks] if cached else None
    ends = torch.tensor(list(eos_tokens), dtype=tokens.dtype, device=tokens.device)
    has_ended = torch.zeros_like(tokens[:, :1], dtype=torch.bool)
    with torch.inference_mode():
        for _ in range(max_new_tokens):
            if model.context_length is not None and tokens.size(1) > model.context_length:
                caches = None  # every token changes its position from now on
            logits = _last_logits(model, tokens, padding_mask, caches)
            newest = select(logits)[:, None]  # (B, 1)
            if eos_tokens:
                newest = torch.where(has_ended, tokens[:, -1:], newest)
                has_ended = torch.isin(newest, ends)
            tokens = torch.cat([tokens, newest], dim=1)
            if padding_mask is not None:
                padding_mask = torch.cat([padding_mask, torch.ones_like(newest).bool()], dim=1)
            if eos_tokens and has_ended.all():
                break
    return tokens.clone()  # an inference tensor could not be used in training


def _last_logits(
    model: LanguageModel,
    tokens: Tensor,
    padding_mask: Tensor | None,
    caches: list[KeyValueCache] | None,
) -> Tensor:
    """Return the logits ``(B, V)`` after the last token; with caches, compute new tokens only."""
    if caches is not None:
        return model(tokens[:, len(caches[0]) :], padding_mask, caches=caches)[:, -1]
    start = 0 if model.context_length is None else -model.context_length
    mask = None if padding_mask is None else padding_mask[:, start:]
    return model(tokens[:, start:], mask)[:, -1]


def _checked_padding(tokens: Tensor, padding_mask: Tensor) -> Tensor:
    """Return the mask as ``(B, T)``, or raise if it masks a last token, which is continued."""
    check_boolean(padding_mask, "padding_mask")
    mask = padding_mask.flatten(1)
    if mask.shape != tokens.shape or not mask[:, -1:].all():
        rule = "padding_mask must cover the tokens, and be True for the last one of each row"
        got = f"shape {tuple(padding_mask.shape)}"
        if mask.shape == tokens.shape:
            got = f"False in row {int(mask[:, -1].int().argmin())}"
        raise ValueError(f"{rule}; got {got}")
    return mask


def _check_options(
    logits: Tensor, temperature: float, top_k: int | None, top_p: float | None
) -> None:
    check_floating("logits", logits)
    check_positive("temperature", temperature)
    vocabulary = logits.size(-1)
    if top_k is not None and check_integer("top_k", top_k, least=1) > vocabulary:
        raise ValueError(f"top_k must be at most the vocabulary, {vocabulary}; got {top_k}")
    if top_p is not None:
        check_number("top_p", top_p)
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1; got {top_p}")


def _checked_maximum(logits: Tensor) -> Tensor:
    """Return the maximum of each row, or raise unless it is finite."""
    maximum = logits.amax(-1, keepdim=True)
    if not maximum.isfinite().all():
        rule = "logits must be finite, or -inf for some tokens of a row"
        raise ValueError(f"{rule}; got a row with maximum {maximum[~maximum.isfinite()][0].item()}")
    return maximum
