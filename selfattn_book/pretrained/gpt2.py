"""GPT-2 built from this book's modules, and the names of its weights."""

from torch import Tensor, nn

from selfattn_book.blocks import PreNormBlock
from selfattn_book.feed_forward import FeedForward
from selfattn_book.language import LanguageModel
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.pretrained.options import Options, Weights

State = dict[str, Tensor]
# Names under which `transformers` accepts an option as well; they win there.
ALIASES = {
    "hidden_size": "n_embd",
    "max_position_embeddings": "n_positions",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
}


def gpt2(options: Options) -> LanguageModel:
    """Build an untrained GPT-2.

    Raises:
        ValueError: an option is missing or not supported.

    Source:
        :cite:t:`radford2019language`, section 2.3.

    Example:
        >>> sizes = {"n_embd": 6, "n_head": 2, "n_layer": 1, "n_positions": 5, "vocab_size": 7}
        >>> gpt2(Options(sizes)).positions
        Embedding(5, 6)
    """
    check_options(options)
    d_model, eps = options.size("n_embd"), options.number("layer_norm_epsilon", 1e-5)
    heads, d_ff = options.size("n_head"), options.size("n_inner", 4 * d_model)

    def block() -> PreNormBlock:
        norms = nn.LayerNorm(d_model, eps=eps), nn.LayerNorm(d_model, eps=eps)
        attention = MultiHeadAttention(d_model, heads)
        return PreNormBlock(attention, FeedForward(d_model, d_ff, activation="gelu_tanh"), norms)

    return LanguageModel(
        nn.Embedding(options.size("vocab_size"), d_model),
        [block() for _ in range(options.size("n_layer"))],
        nn.LayerNorm(d_model, eps=eps),
        positions=nn.Embedding(options.size("n_positions"), d_model),
        tied=options.flag("tie_word_embeddings", True),
    )


def gpt2_weights(options: Options, weights: Weights) -> State:
    """Take GPT-2's weights, renamed for this book's modules.

    GPT-2 stores its matrices as ``(in, out)``, and query, key and value projections in one matrix.

    Raises:
        ValueError: an option is not supported, or a tensor is missing or has the wrong shape.
    """
    check_options(options)
    d_model, vocabulary = options.size("n_embd"), options.size("vocab_size")
    # Saved files have a prefix; the published one has not.
    prefix = "transformer." if "transformer.wte.weight" in weights.left else ""
    state = {
        "embedding.weight": weights.take(f"{prefix}wte.weight", vocabulary, d_model),
        "positions.weight": weights.take(
            f"{prefix}wpe.weight", options.size("n_positions"), d_model
        ),
        **_layer("norm", f"{prefix}ln_f", (d_model,), weights),
    }
    for i in range(options.size("n_layer")):
        block = _block(f"{prefix}h.{i}.", options, weights)
        state |= {f"blocks.{i}.{name}": tensor for name, tensor in block.items()}
    if not options.flag("tie_word_embeddings", True):
        state["unembedding.weight"] = weights.take("lm_head.weight", vocabulary, d_model)
    return state


def check_options(options: Options) -> None:
    """Raise ``ValueError`` for an option that this book's code does not support."""
    options.only("architectures", ["GPT2LMHeadModel"], None)
    options.only("activation_function", "gelu_new", "gelu_pytorch_tanh")
    options.only("scale_attn_weights", True)
    options.only("scale_attn_by_inverse_layer_idx", False)
    options.only("reorder_and_upcast_attn", False)
    options.only("add_cross_attention", False)
    for alias, name in ALIASES.items():
        options.equal(alias, name)


def _block(theirs: str, options: Options, weights: Weights) -> State:
    """Take the weights of one block."""
    d_model = options.size("n_embd")
    d_ff = options.size("n_inner", 4 * d_model)
    # Older files store the causal mask among the weights.
    weights.ignore([f"{theirs}attn.bias", f"{theirs}attn.masked_bias"])
    state: State = {}
    for ours, name, shape in (
        ("merged", "attn.c_attn", (d_model, 3 * d_model)),
        ("attention.project_output", "attn.c_proj", (d_model, d_model)),
        ("feed_forward.expand", "mlp.c_fc", (d_model, d_ff)),
        ("feed_forward.contract", "mlp.c_proj", (d_ff, d_model)),
        ("attention_norm", "ln_1", (d_model,)),
        ("feed_forward_norm", "ln_2", (d_model,)),
    ):
        state |= _layer(ours, theirs + name, shape, weights)
    for kind in ("weight", "bias"):
        query, key, value = state.pop(f"merged.{kind}").chunk(3)
        for role, part in {"query": query, "key": key, "value": value}.items():
            state[f"attention.project_{role}.{kind}"] = part
    return state


def _layer(ours: str, theirs: str, shape: tuple[int, ...], weights: Weights) -> State:
    """Take weight and bias of a layer; a matrix ``(in, out)`` is transposed."""
    weight = weights.take(f"{theirs}.weight", *shape)
    return {
        f"{ours}.weight": weight.movedim(0, -1).contiguous(),
        f"{ours}.bias": weights.take(f"{theirs}.bias", shape[-1]),
    }
