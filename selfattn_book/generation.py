"""Continue a text token by token: which token next, and from which distribution.

Shape letters: ``B`` batch, ``T`` length, ``V`` number of tokens in the vocabulary.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from selfattn_book._arguments import check_floating, check_integer, check_number
from selfattn_book.cache import KeyValueCache
from selfattn_book.language import LanguageModel

Choice = Callable[[Tensor], Tensor]


def likeliest(logits: Tensor) -> Tensor:
    """Choose the token with the highest logit: greedy decoding.

    Args:
        logits: ``(B, V)``.

    Returns:
        ``(B,)``, integers; of several equal ones the first.

    Example:
        >>> likeliest(torch.tensor([[0.0, 2.0, 1.0]]))
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
    r"""Turn logits into the probabilities from which the next token is drawn.

    .. math:: p_v = \operatorname{softmax}(\ell / \tau)_v

    over the tokens that are left: the ``top_k`` likeliest, and of these the fewest whose
    probabilities sum to at least ``top_p``.

    Args:
        logits: ``(..., V)``, floating point.
        temperature: above 0; below 1 it sharpens, above 1 it evens out.
        top_k: how many of the likeliest tokens are left; all when left out.
        top_p: how much probability is left at least; all when left out.

    Returns:
        ``(..., V)``: non-negative, each row sums to 1.

    Raises:
        TypeError: the logits are not floating point, or an option is not a number.
        ValueError: the temperature is not above 0 and finite, ``top_k`` is below 1 or above ``V``,
            or ``top_p`` is not above 0 and at most 1.

    Source:
        Top-k, :cite:t:`fan2018hierarchical`; top-p, :cite:t:`holtzman2020curious`.

    Example:
        >>> logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
        >>> next_token_distribution(logits, temperature=0.5)
        tensor([0.6849, 0.2466, 0.0616, 0.0068])
        >>> next_token_distribution(logits, top_k=2)
        tensor([0.6250, 0.3750, 0.0000, 0.0000])
        >>> next_token_distribution(logits, top_p=0.7)
        tensor([0.6250, 0.3750, 0.0000, 0.0000])
        >>> next_token_distribution(logits, temperature=0)
        Traceback (most recent call last):
        ValueError: temperature must be above 0, and finite; got 0
    """
    _check_options(logits, temperature, top_k, top_p)
    logits = logits / temperature
    if top_k is not None:
        weakest = logits.topk(top_k).values[..., -1:]
        logits = logits.masked_fill(logits < weakest, -torch.inf)
    if top_p is not None:
        sorted_logits, order = logits.sort(descending=True, stable=True)
        shares = sorted_logits.softmax(-1)
        enough = shares.cumsum(-1) - shares >= top_p  # reached by those before
        dropped = torch.zeros_like(enough).scatter(-1, order, enough)
        logits = logits.masked_fill(dropped, -torch.inf)
    return logits.softmax(-1)


def sampler(
    generator: torch.Generator,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Choice:
    """Return a choice that draws from :func:`next_token_distribution`.

    Args:
        generator: of all chance in it.
        temperature: as of :func:`next_token_distribution`.
        top_k: as of it.
        top_p: as of it.

    Example:
        >>> draw = sampler(torch.Generator().manual_seed(0), top_k=1)
        >>> draw(torch.tensor([[0.0, 2.0, 1.0], [3.0, 2.0, 1.0]]))
        tensor([1, 0])
    """

    def draw(logits: Tensor) -> Tensor:
        shares = next_token_distribution(
            logits, temperature=temperature, top_k=top_k, top_p=top_p
        )
        return torch.multinomial(shares, 1, generator=generator)[..., 0]

    return draw


def generate(
    model: LanguageModel,
    tokens: Tensor,
    length: int,
    *,
    choose: Choice = likeliest,
    real: Tensor | None = None,
    cached: bool = True,
) -> Tensor:
    """Continue each row of tokens, one token after the other.

    A model with a context reads only the last tokens that fit into it. From then on every token
    moves to another position with each step, so nothing can be kept of the steps before.

    Args:
        model: in evaluation mode, if it drops.
        tokens: ``(B, T)``, integers, at least one.
        length: how many tokens to add.
        choose: from logits ``(B, V)`` to the next tokens ``(B,)``.
        real: ``(B, T)``, boolean, ``False`` where a row begins with padding.
        cached: compute each key and value once, as long as all tokens fit into the context,
            instead of all of them for every token.

    Returns:
        ``(B, T + length)``: the tokens and their continuation.

    Raises:
        TypeError: ``length`` is no integer, or as of :meth:`.LanguageModel.forward`.
        ValueError: ``length`` is below 0, ``real`` does not tell of each token or calls the
            last one of a row padding, or as of :meth:`.LanguageModel.forward`.

    Example:
        >>> from selfattn_book.language import decoder_only
        >>> model = decoder_only(11, d_model=4, num_layers=2, num_heads=2, context=5)
        >>> prompt = torch.tensor([[3, 1], [4, 1]])
        >>> longer = generate(model, prompt, 7)
        >>> longer.shape, longer[:, :2].equal(prompt)
        (torch.Size([2, 9]), True)
        >>> longer.equal(generate(model, prompt, 7, cached=False))
        True
        >>> generate(model, prompt[:, :0], 7)
        Traceback (most recent call last):
        ValueError: tokens must have shape (B, T), with one of them at least; got (2, 0)
    """
    length = check_integer("length", length, least=0)
    if real is not None:
        _check_ends_real(tokens, real)
    caches = [KeyValueCache() for _ in model.blocks] if cached else None
    with torch.inference_mode():
        for _ in range(length):
            if model.context is not None and tokens.size(1) > model.context:
                caches = None
            logits = _read(model, tokens, real, caches)[:, -1]
            newest = choose(logits)[:, None]  # (B, 1)
            tokens = torch.cat([tokens, newest], dim=1)
            if real is not None:
                real = torch.cat([real, torch.ones_like(newest).bool()], dim=1)
    return (
        tokens.clone()
    )  # made out here: PyTorch would not let a model learn from the others


def _read(
    model: LanguageModel,
    tokens: Tensor,
    real: Tensor | None,
    caches: list[KeyValueCache] | None,
) -> Tensor:
    """Return logits of what the model has not read yet: with caches, of the new tokens alone."""
    if caches is not None:
        return model(tokens[:, len(caches[0]) :], real, caches=caches)
    begin = 0 if model.context is None else -model.context
    return model(tokens[:, begin:], None if real is None else real[:, begin:])


def _check_ends_real(tokens: Tensor, real: Tensor) -> None:
    """Raise unless a row's last token, which is continued, is no padding."""
    if real.shape != tokens.shape or not real[:, -1:].all():
        rule = (
            "real must have the shape of the tokens, and be True of each row's last"
        )
        raise ValueError(f"{rule}; got {real.tolist()}")


def _check_options(
    logits: Tensor, temperature: float, top_k: int | None, top_p: float | None
) -> None:
    check_floating("logits", logits)
    check_number("temperature", temperature)
    if not 0 < temperature < torch.inf:
        raise ValueError(
            f"temperature must be above 0, and finite; got {temperature}"
        )
    vocabulary = logits.size(-1)
    if top_k is not None and check_integer("top_k", top_k, least=1) > vocabulary:
        raise ValueError(
            f"top_k must be at most the vocabulary, {vocabulary}; got {top_k}"
        )
    if top_p is not None:
        check_number("top_p", top_p)
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1; got {top_p}")
