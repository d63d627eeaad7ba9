"""A recurrent encoder-decoder with attention, a baseline of Part III.

Shape letters: ``B`` batch, ``S`` source length, ``T`` target length, ``D`` dimension.
"""

import torch
from torch import Tensor, nn

from selfattn_book.attention import scaled_dot_product_attention


class RecurrentEncoderDecoder(nn.Module):
    r"""Read a source with one GRU and continue it with another, which attends to the first's states.

    .. math::
       \begin{aligned}
       h_t &= \operatorname{GRU}(x_t, h_{t-1}) \\
       c_t &= \operatorname{Attention}(h_t, M, M) \\
       \hat y_t &= W [h_t, c_t] + b
       \end{aligned}

    The states of the encoder are the memory :math:`M`, and its last state initializes the decoder.

    Source:
        The recurrent layer is by :cite:t:`cho2014learning`; attention to the states of a recurrent
        encoder by :cite:t:`bahdanau2015neural`, here after the state has been updated, as by
        :cite:t:`luong2015effective`.

    Example:
        >>> model = RecurrentEncoderDecoder(d_model=8)
        >>> source, target = torch.ones(5, 2, 2), torch.ones(5, 3, 2)
        >>> model(source, target).shape, model.predict(source, 7).shape
        (torch.Size([5, 3, 2]), torch.Size([5, 7, 2]))
    """

    def __init__(self, *, d_model: int = 2, d_input: int = 2) -> None:
        super().__init__()
        self.encoder = nn.GRU(d_input, d_model, batch_first=True)
        self.decoder = nn.GRU(d_input, d_model, batch_first=True)
        self.output = nn.Linear(2 * d_model, d_input)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Predict the point after each of a target, which begins with the last source point."""
        memory, last = self.encoder(source)
        return self._decode(target, memory, last)[0]

    def _decode(self, target: Tensor, memory: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        states, last = self.decoder(target, state)
        context, _ = scaled_dot_product_attention(states, memory, memory)
        return self.output(torch.cat([states, context], dim=-1)), last

    @torch.no_grad()
    def predict(self, source: Tensor, length: int) -> Tensor:
        """Continue a source ``(B, S, d_input)`` autoregressively, by ``(B, length, d_input)``."""
        memory, state = self.encoder(source)
        newest, points = source[:, -1:], []
        for _ in range(length):
            newest, state = self._decode(newest, memory, state)
            points.append(newest)
        return torch.cat(points, dim=1)
