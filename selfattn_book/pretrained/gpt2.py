"""GPT-2 in this book's parts: which tensor goes where, and how the model is put together."""

from torch import Tensor, nn

from selfattn_book.language import CausalBlock, LanguageModel
from selfattn_book.modern import GELUFeedForward
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.pretrained.asking import Options, Weights

State = dict[str, Tensor]


def gpt2(options: Options) -> LanguageModel:
    """Return a model of this kind, with weights as PyTorch draws them.

    Raises:
        ValueError: an option is missing, or is none that this book's code can do.

    Source:
        :cite:t:`radford2019language`, section 2.3.

    Example:
        >>> sizes = {"n_embd": 6, "n_head": 2, "n_layer": 1, "n_positions": 5, "vocab_size": 7}
        >>> model = gpt2(Options(sizes))
        >>> len(model.blocks), model.positions
        (1, Embedding(5, 6))
        >>> gpt2(Options(sizes | {"activation_function": "relu"}))
        Traceback (most recent call last):
        ValueError: activation_function must be 'gelu_new', all that this book's code can do; got 'relu'
    """
    check_options(options)
    width, eps = options.size("n_embd"), options.number("layer_norm_epsilon", 1e-5)
    heads, inner = options.size("n_head"), options.size("n_inner", 4 * width)

    def block() -> CausalBlock:
        norms = nn.LayerNorm(width, eps=eps), nn.LayerNorm(width, eps=eps)
        attention = MultiHeadAttention(width, heads)
        return CausalBlock(attention, GELUFeedForward(width, inner), norms)

    return LanguageModel(
        nn.Embedding(options.size("vocab_size"), width),
        [block() for _ in range(options.size("n_layer"))],
        nn.LayerNorm(width, eps=eps),
        positions=nn.Embedding(options.size("n_positions"), width),
        tied=options.flag("tie_word_embeddings", True),
    )


def gpt2_weights(options: Options, weights: Weights) -> State:
    """Return the weights of such a model under this book's names.

    GPT-2 keeps its matrices as ``(in, out)``, and those of query, key and value in one.

    Raises:
        ValueError: an option is not supported, or a tensor is missing or has another shape.
    """
    check_options(options)
    width, vocabulary = options.size("n_embd"), options.size("vocab_size")
    prefix = (
        "transformer." if "transformer.wte.weight" in weights.left else ""
    )  # as saved, or as published
    state = {
        "embedding.weight": weights.take(f"{prefix}wte.weight", vocabulary, width),
        "positions.weight": weights.take(
            f"{prefix}wpe.weight", options.size("n_positions"), width
        ),
        **_norm("norm", f"{prefix}ln_f", width, weights),
    }
    for i in range(options.size("n_layer")):
        block = _block(f"{prefix}h.{i}.", options, weights)
        state |= {f"blocks.{i}.{name}": tensor for name, tensor in block.items()}
    if not options.flag("tie_word_embeddings", True):
        state["unembedding.weight"] = weights.take(
            "lm_head.weight", vocabulary, width
        )
    return state


def check_options(options: Options) -> None:
    """Refuse what this book's code cannot do."""
    options.only("activation_function", "gelu_new")
    options.only("scale_attn_weights", True)
    options.only("scale_attn_by_inverse_layer_idx", False)
    options.only("reorder_and_upcast_attn", False)
    options.only("add_cross_attention", False)


def _block(theirs: str, options: Options, weights: Weights) -> State:
    """Return the weights of one block."""
    width = options.size("n_embd")
    inner = options.size("n_inner", 4 * width)
    # What hides the future is a table among the weights of older files.
    weights.ignore([f"{theirs}attn.bias", f"{theirs}attn.masked_bias"])
    merged = _linear("merged", f"{theirs}attn.c_attn", (width, 3 * width), weights)
    state: State = {}
    for kind in ("weight", "bias"):
        parts = merged[f"merged.{kind}"].chunk(3)
        for role, part in zip(("query", "key", "value"), parts, strict=True):
            state[f"attention.project_{role}.{kind}"] = part
    for ours, name, shape in (
        ("attention.project_output", "attn.c_proj", (width, width)),
        ("feed_forward.expand", "mlp.c_fc", (width, inner)),
        ("feed_forward.contract", "mlp.c_proj", (inner, width)),
    ):
        state |= _linear(ours, theirs + name, shape, weights)
    state |= _norm("attention_norm", f"{theirs}ln_1", width, weights)
    return state | _norm("feed_forward_norm", f"{theirs}ln_2", width, weights)


def _linear(
    ours: str, theirs: str, shape: tuple[int, int], weights: Weights
) -> State:
    return {
        f"{ours}.weight": weights.take(f"{theirs}.weight", *shape).T.contiguous(),
        f"{ours}.bias": weights.take(f"{theirs}.bias", shape[1]),
    }


def _norm(ours: str, theirs: str, width: int, weights: Weights) -> State:
    return {
        f"{ours}.{kind}": weights.take(f"{theirs}.{kind}", width)
        for kind in ("weight", "bias")
    }
