"""Checked access to a model's configuration and weights: by name, and with nothing left over."""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor, dtype

from selfattn_book._arguments import check_integer, check_positive

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
# Options that change no logits of a model in evaluation mode.
HARMLESS = re.compile(
    r"""_?attn_implementation\w*|_name_or_path|_num_labels|architectures|attention_dropout
    |(attn|embd|resid)_pdrop|(bos|eos|pad|unk)_token_id|chunk_size_feed_forward|do_sample
    |(torch_)?dtype|finetuning_task|gradient_checkpointing|id2label|initializer_range
    |is_llama_config|label2id|max_(length|new_tokens)|model_type|n_special
    |output_(attentions|hidden_states|past)|predict_special_tokens|pretraining_tp|problem_type
    |repetition_penalty|return_dict|summary_\w+|task_specific_params|temperature|tokenizer_class
    |top_[kp]|transformers\.js_config|transformers_version|unsloth_(fixed|version)|use_cache""",
    re.VERBOSE,
)


class Options:
    """The options in a model's ``config.json``; each must be read, or change no logits.

    Example:
        >>> options = Options({"n_head": 4, "eps": 1e-5, "n_inner": None, "num_experts": 8})
        >>> options.size("n_head"), options.size("n_inner", 16), options.number("eps")
        (4, 16, 1e-05)
        >>> options.unread()
        ['num_experts']
    """

    def __init__(self, values: Mapping[str, Any], source: str = "config.json") -> None:
        self.values, self.source, self.read = dict(values), source, set[str]()

    def set_defaults(self, defaults: Mapping[str, Any]) -> None:
        """Set options that are missing; those that are null stay null."""
        self.values = {k: v for k, v in defaults.items() if v is not None} | self.values

    def value(self, name: str, default: Any = None) -> Any:
        """Return an option of any type; the default if it is missing or null."""
        self.read.add(name)
        value = self.values.get(name)
        return default if value is None else value

    def size(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        """Return an integer of at least ``least``; the default if it is missing or null."""
        return check_integer(name, self._given(name, default), least=least)

    def size_or_none(self, name: str) -> int | None:
        """Return an integer of at least 1, or ``None`` if it is missing or null."""
        return None if self.value(name) is None else self.size(name)

    def number(self, name: str, default: float | None = None) -> float:
        """Return a finite number above 0; the default if the option is missing or null."""
        value = self._given(name, default)
        check_positive(name, value)
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """Return a boolean; the default if the option is missing or null."""
        value = self.value(name, default)
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be true or false; got {value!r}")
        return value

    def activation(self, name: str, default: str) -> str:
        """Return a nonlinearity by its name in this book's feed-forward network."""
        value = self.value(name, default)
        if not isinstance(value, str) or value not in ACTIVATIONS:
            raise ValueError(f"{name} must be one of {', '.join(ACTIVATIONS)}; got {value!r}")
        return ACTIVATIONS[value]

    def only(self, name: str, *supported: object) -> None:
        """Raise ``ValueError`` unless an option has a supported value; the first is the default."""
        self.read.add(name)
        value = self.values.get(name, supported[0])
        if not any(type(value) is type(v) and value == v for v in supported):
            rule = " or ".join(map(repr, supported))
            raise ValueError(f"{name} must be {rule} in a supported model; got {value!r}")

    def equal(self, alias: str, name: str) -> None:
        """Raise ``ValueError`` if an option is given under two names with different values."""
        value = self.values.get(name)
        self.read.add(alias)
        if {alias, name} <= self.values.keys() and self.values[alias] != value:
            raise ValueError(f"{alias} must be {name}, {value}; got {self.values[alias]!r}")

    def unread(self) -> list[str]:
        """Return the names of options that may change logits, and that no code has read."""
        given = {name for name, value in self.values.items() if value is not None}
        return sorted(name for name in given - self.read if not HARMLESS.fullmatch(name))

    def nothing_left(self) -> None:
        """Raise ``ValueError`` if an option was not read."""
        if names := self.unread():
            rule = f"{self.source} must hold only options that this book's code knows"
            raise ValueError(f"{rule}; got {names[0]}: {str(self.values[names[0]])[:80]}")

    def _given(self, name: str, default: Any) -> Any:
        value = self.value(name, default)
        if value is None:
            raise ValueError(f"{self.source} must give {name}; it does not")
        return value


class Weights:
    """The tensors of a file, each of which is taken once.

    Example:
        >>> import torch
        >>> weights = Weights({"h.w": torch.ones(2, 3), "h.b": torch.ones(3)}, torch.float64)
        >>> weights.take("h.w", 2, 3).dtype, list(weights.left)
        (torch.float64, ['h.b'])
    """

    def __init__(self, tensors: Mapping[str, Tensor], dtype: dtype) -> None:
        self.left, self.dtype = dict(tensors), dtype

    def take(
        self, name: str, *shape: int, part: int = 0, parts: int = 1, transposed: bool = False
    ) -> Tensor:
        """Remove a tensor and return a copy; raise ``ValueError`` if it is not as expected.

        Args:
            name: name in the file.
            shape: shape of the copy.
            part: number of this part, of ``parts`` along the first axis; the last one removes it.
            parts: number of parts.
            transposed: a matrix is transposed in the file.
        """
        if name not in self.left:
            raise ValueError(f"the weights must hold tensor {name}; they do not")
        tensor, stored = self.left[name], (parts * shape[0], *shape[1:])
        transposed = transposed and len(shape) == 2
        stored = stored[::-1] if transposed else stored
        if tuple(tensor.shape) != stored:
            rule = f"tensor {name} must have shape {stored}, as config.json says"
            raise ValueError(f"{rule}; got {tuple(tensor.shape)}")
        if not tensor.is_floating_point():
            raise ValueError(f"tensor {name} must be floating point; got {tensor.dtype}")
        own = (tensor.mT if transposed else tensor).chunk(parts)[part]
        copy = own.to(self.dtype, copy=True).contiguous()
        if not copy.isfinite().all():
            wrong = copy[~copy.isfinite()][0].item()
            raise ValueError(f"tensor {name} must be finite in {self.dtype}; got {wrong}")
        if part == parts - 1:
            del self.left[name]
        return copy

    def ignore(self, pattern: str) -> None:
        """Remove tensors that are not weights: those whose names match a regular expression."""
        self.left = {n: tensor for n, tensor in self.left.items() if not re.fullmatch(pattern, n)}

    def nothing_left(self) -> None:
        """Raise ``ValueError`` if a tensor was not taken."""
        if self.left:
            some = ", ".join(sorted(self.left)[:5])
            raise ValueError(
                f"each tensor must have a counterpart in this book's model; got {some}"
            )
