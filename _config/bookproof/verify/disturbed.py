"""Simulate another machine: rounding that differs in the last places.

Two machines sum in different orders and approximate exponentials by different polynomials, so that
their results differ by a few units in the last place.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

# Sums, matrix products, approximations and factorizations differ between machines; a single sum,
# product, quotient or root does not, by the standard.
_NAMES = """
    mm bmm addmm baddbmm addbmm dot vdot mv addmv addr convolution
    sum mean var var_mean std std_mean prod cumsum cumprod logsumexp logcumsumexp norm trace
    exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh
    sigmoid log_sigmoid_forward softplus gelu silu mish elu erf erfc erfinv lgamma logaddexp
    pow rsqrt hypot _softmax _log_softmax native_layer_norm native_group_norm
    mse_loss binary_cross_entropy binary_cross_entropy_with_logits nll_loss_forward
    _cdist_forward _native_multi_head_attention _transformer_encoder_layer_fwd
    mkldnn_rnn_layer _thnn_fused_gru_cell _thnn_fused_lstm_cell
"""
_ROUNDED = frozenset(_NAMES.split())
_ALSO = ("linalg_", "_linalg_", "cholesky", "_scaled_dot_product")
_UNITS = 2  # in the last place: the largest move
_BITS = {torch.float32: (torch.int32, 23), torch.float64: (torch.int64, 52)}


class DisturbedRounding(TorchDispatchMode):
    """Move each rounded result by a few units in the last place, the same result by the same amount.

    A number with half of its digits zero, such as 0, 1 or 0.25, is taken as exact and stays. No result
    crosses a power of two. Gradients and ``vmap`` are reached, since they call the same operations.
    Operations in place, compiled code, the inside of fused operations, complex numbers, half precision
    and NumPy are not reached.

    Args:
        draw: number of the simulated machine.

    Example:
        >>> thirds = torch.tensor([1.0, 2.0], dtype=torch.float64) / 3
        >>> with DisturbedRounding(draw=1):
        ...     once, again = thirds.exp(), thirds.exp()
        ...     halves = torch.ones(2).mean(), torch.zeros(2).exp()
        >>> torch.equal(once, again), torch.equal(once, thirds.exp())
        (True, False)
        >>> halves
        (tensor(1.), tensor([1., 1.]))
    """

    def __init__(self, draw: int) -> None:
        start: Any = super().__init__
        start()
        self.draw = draw

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Let code be compiled, although its compiled form is not reached."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and move its result if it is a rounded one."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if not _is_rounded(func.overloadpacket.__name__) or "out" in kwargs:
            return result
        return tree_map_only(Tensor, self._moved, result)

    def _moved(self, x: Tensor) -> Tensor:
        if type(x) is not Tensor or x.is_meta or x.dtype not in _BITS:
            return x
        whole, digits = _BITS[x.dtype]
        bits = x.view(whole)
        steps = self._steps(bits.long()).to(whole)
        moved = torch.where(_is_exact(bits, digits), bits, bits + steps)
        crosses = (moved >> digits) != (bits >> digits)
        return torch.where(crosses, bits, moved).view(x.dtype)

    def _steps(self, bits: Tensor) -> Tensor:
        """Return by how many units each result moves: a hash of its bits."""
        mixed = (bits ^ (self.draw * 0x9E3779B97F4A7C1 + 1)) * 0x2545F4914F6CDD1D
        mixed = (mixed ^ (mixed >> 32)) * 0x2545F4914F6CDD1D
        return (mixed >> 40).remainder(2 * _UNITS + 1) - _UNITS


def _is_rounded(name: str) -> bool:
    for ending in ("_backward", "_backward_data"):
        name = name.removesuffix(ending)
    return name in _ROUNDED or (name.startswith(_ALSO) and not name.endswith("_"))


def _is_exact(bits: Tensor, digits: int) -> Tensor:
    return (bits & ((1 << digits // 2) - 1)) == 0
