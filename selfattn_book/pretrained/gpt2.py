"""GPT-2: its options and the names of its weights."""

from torch import nn

from selfattn_book.pretrained.architecture import Architecture
from selfattn_book.pretrained.options import Options

# Names under which `transformers` accepts an option as well; they win there.
ALIASES = {
    "hidden_size": "n_embd",
    "max_position_embeddings": "n_positions",
    "n_ctx": "n_positions",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
}


def gpt2(options: Options) -> Architecture:
    """Read the options of a GPT-2.

    Raises:
        TypeError, ValueError: an option is missing or not supported.

    Source:
        :cite:t:`radford2019language`, section 2.3.

    Example:
        >>> sizes = {"n_embd": 6, "n_head": 2, "n_layer": 1, "n_positions": 5, "vocab_size": 7}
        >>> gpt2(Options(sizes)).d_ff
        24
    """
    options.only("scale_attn_weights", True)
    options.only("scale_attn_by_inverse_layer_idx", False)
    options.only("reorder_and_upcast_attn", False)
    options.only("add_cross_attention", False)
    for alias, name in ALIASES.items():
        options.equal(alias, name)
    d_model, heads = options.size("n_embd"), options.size("n_head")
    if d_model % heads:
        raise ValueError(f"n_embd must be divisible by n_head; got {d_model} and {heads}")
    return Architecture(
        vocab_size=options.size("vocab_size"),
        d_model=d_model,
        num_layers=options.size("n_layer"),
        num_heads=heads,
        num_kv_heads=heads,
        d_head=d_model // heads,
        d_ff=options.size("n_inner", 4 * d_model),
        norm=nn.LayerNorm,
        eps=options.number("layer_norm_epsilon", 1e-5),
        activation=options.activation("activation_function", "gelu_new"),
        gated=False,
        tie_weights=options.flag("tie_word_embeddings", True),
        context_length=options.size("n_positions"),
        query_bias=True,
        output_bias=True,
        feed_forward_bias=True,
    )


def gpt2_names() -> dict[str, str]:
    """Return the names of the weights in the file by those in this book's modules.

    One matrix holds the projections of queries, keys and values. Matrices are ``(in, out)``.
    """
    return {
        "embedding": "wte",
        "positions": "wpe",
        "norm": "ln_f",
        "unembedding": "lm_head",
        "blocks": "h",
        "attention_norm": "ln_1",
        "attention.project_query": "attn.c_attn",
        "attention.project_key": "attn.c_attn",
        "attention.project_value": "attn.c_attn",
        "attention.project_output": "attn.c_proj",
        "feed_forward_norm": "ln_2",
        "feed_forward.expand": "mlp.c_fc",
        "feed_forward.contract": "mlp.c_proj",
    }
