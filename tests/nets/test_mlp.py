import pytest
import torch
from torch import nn

from vaescope.nets import Pair, linear_pair, mlp_pair
from vaescope.nets.mlp import ACTIVATIONS, XTanh


def mlp(event: tuple[int, ...], width: int) -> Pair:
    return mlp_pair(
        event,
        4,
        encoder=(12, 11),
        decoder=(10,),
        encoder_activation=nn.ReLU,
        decoder_activation=nn.Tanh,
        width=width,
    )


@pytest.mark.parametrize("event", [(5,), (1, 8, 8), (3, 4, 6)])
@pytest.mark.parametrize("width", [1, 2])
def test_pairs_map_any_event_and_widen_its_first_axis(event: tuple[int, ...], width: int) -> None:
    for pair in (mlp(event, width), linear_pair(event, 4, width=width)):
        assert pair.encoder(torch.rand(2, *event)).shape == (2, pair.features)
        expected = (2, width * event[0], *event[1:])
        assert pair.decoder(torch.randn(2, 4)).shape == expected


def test_xtanh_is_tanh_and_a_tenth() -> None:
    x = torch.linspace(-4.0, 4.0, 9)
    torch.testing.assert_close(ACTIVATIONS["xtanh"]()(x), torch.tanh(x) + 0.1 * x)
    assert isinstance(ACTIVATIONS["xtanh"](), XTanh)
