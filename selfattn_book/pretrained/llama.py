"""Llama in this book's parts: which tensor goes where, and how the model is put together."""

from torch import Tensor, nn

from selfattn_book.language import CausalBlock, LanguageModel
from selfattn_book.modern import GatedFeedForward, GroupedAttention
from selfattn_book.pretrained.asking import Options, Weights

State = dict[str, Tensor]


def llama(options: Options) -> LanguageModel:
    """Return a model of this kind, with weights as PyTorch draws them.

    Raises:
        ValueError: an option is missing, or is none that this book's code can do.

    Source:
        :cite:t:`touvron2023llama`, section 2.2.

    Example:
        >>> sizes = {"hidden_size": 8, "intermediate_size": 5, "num_attention_heads": 4}
        >>> sizes |= {"num_key_value_heads": 2, "num_hidden_layers": 1, "vocab_size": 7}
        >>> model = llama(Options(sizes))
        >>> model.blocks[0].attention.num_key_heads, model.blocks[0].feed_forward.gate
        (2, Linear(in_features=8, out_features=5, bias=False))
        >>> llama(Options(sizes | {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}))
        Traceback (most recent call last):
        ValueError: rope_scaling must be None, all that this book's code can do; got ...
    """
    check_options(options)
    width, eps = options.size("hidden_size"), options.number("rms_norm_eps", 1e-6)
    inner = options.size("intermediate_size")
    heads, key_heads, d_head = _heads(options)

    def block() -> CausalBlock:
        attention = GroupedAttention(
            width,
            heads,
            num_key_heads=key_heads,
            d_head=d_head,
            bias=False,
            rotary_base=_rotary(options).number("rope_theta", 10000.0),
        )
        norms = nn.RMSNorm(width, eps=eps), nn.RMSNorm(width, eps=eps)
        return CausalBlock(attention, GatedFeedForward(width, inner), norms)

    return LanguageModel(
        nn.Embedding(options.size("vocab_size"), width),
        [block() for _ in range(options.size("num_hidden_layers"))],
        nn.RMSNorm(width, eps=eps),
        tied=options.flag("tie_word_embeddings", False),
    )


def llama_weights(options: Options, weights: Weights) -> State:
    """Return the weights of such a model under this book's names.

    Raises:
        ValueError: an option is not supported, or a tensor is missing or has another shape.
    """
    check_options(options)
    width, vocabulary = options.size("hidden_size"), options.size("vocab_size")
    state = {
        "embedding.weight": weights.take(
            "model.embed_tokens.weight", vocabulary, width
        ),
        "norm.weight": weights.take("model.norm.weight", width),
    }
    for i in range(options.size("num_hidden_layers")):
        theirs = f"model.layers.{i}."
        # Older files keep the speeds of the clocks, which follow from the options.
        weights.ignore([f"{theirs}self_attn.rotary_emb.inv_freq"])
        for ours, (name, shape) in _parts(options).items():
            tensor = weights.take(f"{theirs}{name}.weight", *shape)
            state[f"blocks.{i}.{ours}.weight"] = tensor
    if not options.flag("tie_word_embeddings", False):
        state["unembedding.weight"] = weights.take(
            "lm_head.weight", vocabulary, width
        )
    return state


def check_options(options: Options) -> None:
    """Refuse what this book's code cannot do."""
    options.only("hidden_act", "silu")
    options.only("attention_bias", False)
    options.only("mlp_bias", False)
    options.only("rope_scaling", None)
    options.only("partial_rotary_factor", 1.0, None)
    rotary = _rotary(options)
    rotary.only("rope_type", "default")
    rotary.only("partial_rotary_factor", 1.0, None)


def _rotary(options: Options) -> Options:
    """Return the options of the clocks, which newer files keep by themselves."""
    parameters = options.said.get("rope_parameters")
    if parameters is None:
        return options
    if not isinstance(parameters, dict):
        rule = "rope_parameters must be names and values"
        raise ValueError(f"{rule}; got {parameters!r}")
    return Options(parameters)


def _heads(options: Options) -> tuple[int, int, int]:
    """Return how many heads there are, of queries and of keys, and how wide each is."""
    heads = options.size("num_attention_heads")
    key_heads = options.size("num_key_value_heads", heads)
    return (
        heads,
        key_heads,
        options.size("head_dim", options.size("hidden_size") // heads),
    )


def _parts(options: Options) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return of each matrix in a block its name in the file, and its shape."""
    width, inner = options.size("hidden_size"), options.size("intermediate_size")
    heads, key_heads, d_head = _heads(options)
    queries, keys = heads * d_head, key_heads * d_head
    return {
        "attention.project_query": ("self_attn.q_proj", (queries, width)),
        "attention.project_key": ("self_attn.k_proj", (keys, width)),
        "attention.project_value": ("self_attn.v_proj", (keys, width)),
        "attention.project_output": ("self_attn.o_proj", (width, queries)),
        "feed_forward.gate": ("mlp.gate_proj", (inner, width)),
        "feed_forward.expand": ("mlp.up_proj", (inner, width)),
        "feed_forward.contract": ("mlp.down_proj", (width, inner)),
        "attention_norm": ("input_layernorm", (width,)),
        "feed_forward_norm": ("post_attention_layernorm", (width,)),
    }
