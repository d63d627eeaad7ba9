"""The feed-forward network against its equations, for every activation, plain and gated."""

import math

import pytest
import torch

from selfattn_book.feed_forward import FeedForward

ACTIVATIONS = {
    "relu": lambda z: z * (z > 0),
    "gelu": lambda z: z / 2 * (1 + torch.erf(z / math.sqrt(2))),
    "gelu_tanh": lambda z: z / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))),
    "silu": lambda z: z / (1 + torch.exp(-z)),
}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_output_follows_the_equation(draw, agree, seeded, activation, gated, bias):
    with seeded(0):
        network = FeedForward(5, 7, activation=activation, gated=gated, bias=bias).double()
    x, state = 3 * draw(2, 3, 5), network.state_dict()
    layers = ["gate", "expand", "contract"] if gated else ["expand", "contract"]
    kinds = ["weight", "bias"] if bias else ["weight"]
    assert list(state) == [f"{layer}.{kind}" for layer in layers for kind in kinds]

    def linear(name, y):
        return y @ state[f"{name}.weight"].T + (state[f"{name}.bias"] if bias else 0)

    hidden = ACTIVATIONS[activation](linear("gate" if gated else "expand", x))
    hidden = hidden * linear("expand", x) if gated else hidden
    agree(network(x), linear("contract", hidden))
    agree(network(x)[1, 2], network(x[1, 2]))


def test_the_defaults():
    network = FeedForward(4, 3)
    assert (network.activation, network.gate, network.dropout.p) == ("relu", None, 0.0)
    assert network.contract.bias is not None
    assert "activation='silu'" in repr(FeedForward(4, 3, activation="silu"))


def test_dropout_drops_hidden_units_in_training_only(draw):
    network, x = FeedForward(4, 3, dropout=1.0), draw(2, 4, dtype=torch.float32)
    bias = network.contract.bias.expand(2, 4)
    torch.testing.assert_close(network(x), bias)
    assert not network.eval()(x).allclose(bias)


@pytest.mark.parametrize(
    ("sizes", "options", "error", "message"),
    [
        ((0, 4), {}, ValueError, "d_model must be at least 1; got 0"),
        ((4, 0), {}, ValueError, "d_ff must be at least 1; got 0"),
        ((4, 3), {"activation": "tanh"}, ValueError, "activation must be one of relu, .*'tanh'"),
        ((4, 3), {"dropout": 2.0}, ValueError, "dropout must be between 0 and 1; got 2.0"),
    ],
)
def test_bad_arguments_are_refused(sizes, options, error, message):
    with pytest.raises(error, match=message):
        FeedForward(*sizes, **options)
