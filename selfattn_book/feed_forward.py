"""The feed-forward network of a Transformer block, plain or gated."""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from selfattn_book._arguments import check_dropout, check_integer, drop

# "gelu_tanh" is the approximation of GPT-2, z/2 (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))).
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class FeedForward(nn.Module):
    r"""Apply a two-layer network to each position separately (FFN, MLP).

    .. math::
       \begin{aligned}
       \text{plain:} \quad \operatorname{ff}(x) &= W_2\, \sigma(W_1 x + b_1) + b_2 \\
       \text{gated:} \quad \operatorname{ff}(x) &=
       W_2 \big(\sigma(W_g x + b_g) \odot (W_1 x + b_1)\big) + b_2
       \end{aligned}

    The Transformer of 2017 uses ``"relu"``, GPT-2 ``"gelu_tanh"``, and Llama ``"silu"`` with a
    gate and without biases (SwiGLU).

    Args:
        d_model: dimension of input and output.
        d_ff: hidden dimension.
        activation: nonlinearity :math:`\sigma`, one of ``ACTIVATIONS``.
        gated: multiply the hidden units by a gate.
        bias: add biases.
        dropout: dropout probability of the hidden units.

    Raises:
        TypeError, ValueError: a size is not an integer, or an argument is out of range.

    Source:
        :cite:t:`vaswani2017attention`, equation 2; GELU, :cite:t:`hendrycks2016gaussian`;
        gated, :cite:t:`shazeer2020glu`, section 2.

    Example:
        >>> import torch
        >>> FeedForward(4, 16, activation="silu", gated=True, bias=False)(torch.ones(2, 3, 4)).shape
        torch.Size([2, 3, 4])
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: str = "relu",
        gated: bool = False,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        d_model = check_integer("d_model", d_model, least=1)
        d_ff = check_integer("d_ff", d_ff, least=1)
        if activation not in ACTIVATIONS:
            rule = f"activation must be one of {', '.join(ACTIVATIONS)}"
            raise ValueError(f"{rule}; got {activation!r}")
        self.activation = activation
        self.gate = nn.Linear(d_model, d_ff, bias) if gated else None
        self.expand = nn.Linear(d_model, d_ff, bias)
        self.contract = nn.Linear(d_ff, d_model, bias)
        self.dropout = nn.Dropout(check_dropout(dropout))

    def forward(self, x: Tensor) -> Tensor:
        """Return the output ``(..., d_model)`` for the input ``(..., d_model)``."""
        activate = ACTIVATIONS[self.activation]
        if self.gate is None:
            hidden = activate(self.expand(x))  # (..., d_ff)
        else:
            hidden = activate(self.gate(x)) * self.expand(x)  # (..., d_ff)
        return self.contract(drop(self.dropout, hidden))

    def extra_repr(self) -> str:
        """Show the activation in the printed module."""
        return f"activation={self.activation!r}"
