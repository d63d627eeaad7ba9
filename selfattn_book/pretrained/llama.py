"""Llama built from this book's modules, and the names of its weights."""

from torch import Tensor, nn

from selfattn_book.blocks import PreNormBlock
from selfattn_book.feed_forward import FeedForward
from selfattn_book.language import LanguageModel
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.pretrained.options import Options, Weights

State = dict[str, Tensor]


def llama(options: Options) -> LanguageModel:
    """Build an untrained Llama.

    Raises:
        ValueError: an option is missing or not supported.

    Source:
        :cite:t:`touvron2023llama`, section 2.2.

    Example:
        >>> sizes = {"hidden_size": 8, "intermediate_size": 5, "num_attention_heads": 4}
        >>> sizes |= {"num_key_value_heads": 2, "num_hidden_layers": 1, "vocab_size": 7}
        >>> model = llama(Options(sizes))
        >>> model.blocks[0].attention.num_kv_heads, model.blocks[0].feed_forward.gate
        (2, Linear(in_features=8, out_features=5, bias=False))
    """
    check_options(options)
    d_model, eps = options.size("hidden_size"), options.number("rms_norm_eps", 1e-6)
    d_ff = options.size("intermediate_size")
    heads, kv_heads, d_head = _heads(options)

    def block() -> PreNormBlock:
        attention = MultiHeadAttention(
            d_model,
            heads,
            num_kv_heads=kv_heads,
            d_head=d_head,
            bias=False,
            rotary_base=_rotary(options).number("rope_theta", 10000.0),
        )
        norms = nn.RMSNorm(d_model, eps=eps), nn.RMSNorm(d_model, eps=eps)
        network = FeedForward(d_model, d_ff, activation="silu", gated=True, bias=False)
        return PreNormBlock(attention, network, norms)

    return LanguageModel(
        nn.Embedding(options.size("vocab_size"), d_model),
        [block() for _ in range(options.size("num_hidden_layers"))],
        nn.RMSNorm(d_model, eps=eps),
        tied=options.flag("tie_word_embeddings", False),
    )


def llama_weights(options: Options, weights: Weights) -> State:
    """Take Llama's weights, renamed for this book's modules.

    Raises:
        ValueError: an option is not supported, or a tensor is missing or has the wrong shape.
    """
    check_options(options)
    d_model, vocabulary = options.size("hidden_size"), options.size("vocab_size")
    state = {
        "embedding.weight": weights.take("model.embed_tokens.weight", vocabulary, d_model),
        "norm.weight": weights.take("model.norm.weight", d_model),
    }
    for i in range(options.size("num_hidden_layers")):
        theirs = f"model.layers.{i}."
        # Older files store the RoPE frequencies, which follow from the options.
        weights.ignore([f"{theirs}self_attn.rotary_emb.inv_freq"])
        for ours, (name, shape) in _parts(options).items():
            tensor = weights.take(f"{theirs}{name}.weight", *shape)
            state[f"blocks.{i}.{ours}.weight"] = tensor
    if not options.flag("tie_word_embeddings", False):
        state["unembedding.weight"] = weights.take("lm_head.weight", vocabulary, d_model)
    return state


def check_options(options: Options) -> None:
    """Raise ``ValueError`` for an option that this book's code does not support."""
    options.only("architectures", ["LlamaForCausalLM"], None)
    options.only("hidden_act", "silu")
    options.only("attention_bias", False)
    options.only("mlp_bias", False)
    options.only("rope_scaling", None)
    rotary = _rotary(options)
    rotary.only("rope_type", "default")
    rotary.only("type", "default")  # the same in older files
    rotary.only("partial_rotary_factor", 1.0, None)


def _rotary(options: Options) -> Options:
    """Return the options of RoPE; where newer files do not give one, the top level does."""
    parameters = options.values.get("rope_parameters") or {}
    if not isinstance(parameters, dict):
        raise ValueError(f"rope_parameters must be an object; got {parameters!r}")
    names = "rope_theta", "partial_rotary_factor"
    outer = {name: options.values[name] for name in names if name in options.values}
    return Options(outer | parameters)


def _heads(options: Options) -> tuple[int, int, int]:
    """Return the numbers of query heads and of key-value heads, and the head dimension."""
    heads = options.size("num_attention_heads")
    d_head = options.size("head_dim", options.size("hidden_size") // heads)
    return heads, options.size("num_key_value_heads", heads), d_head


def _parts(options: Options) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return name and shape in the file of each weight of a block."""
    d_model, d_ff = options.size("hidden_size"), options.size("intermediate_size")
    heads, kv_heads, d_head = _heads(options)
    queries, keys = heads * d_head, kv_heads * d_head
    return {
        "attention.project_query": ("self_attn.q_proj", (queries, d_model)),
        "attention.project_key": ("self_attn.k_proj", (keys, d_model)),
        "attention.project_value": ("self_attn.v_proj", (keys, d_model)),
        "attention.project_output": ("self_attn.o_proj", (d_model, queries)),
        "feed_forward.gate": ("mlp.gate_proj", (d_ff, d_model)),
        "feed_forward.expand": ("mlp.up_proj", (d_ff, d_model)),
        "feed_forward.contract": ("mlp.down_proj", (d_model, d_ff)),
        "attention_norm": ("input_layernorm", (d_model,)),
        "feed_forward_norm": ("post_attention_layernorm", (d_model,)),
    }
