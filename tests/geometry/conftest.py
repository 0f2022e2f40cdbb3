"""Somebody else's trained decoders, rebuilt from the words of their README, and their codes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

PASSIVE = {
    "VAE_dsprites": (),
    "betaH_dsprites": (),
    "betaB_dsprites": (0, 1, 2, 3, 4, 8),
    "btcvae_dsprites": (0, 1, 5, 7, 9),
    "btcvae_dsprites_a0": (1, 3, 5, 7, 9),
}


class ThirdPartyDecoder(nn.Module):
    """Three linear layers and four transposed convolutions to a 64 x 64 Bernoulli mean."""

    def __init__(self, state: dict[str, Tensor]) -> None:
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(10, 256), nn.Linear(256, 256)
        self.lin3 = nn.Linear(256, 512)
        self.convT_64, self.convT1, self.convT2, self.convT3 = (
            nn.ConvTranspose2d(32, out, 4, 2, 1) for out in (32, 32, 32, 1)
        )
        own = {k.removeprefix("decoder."): v for k, v in state.items() if k.startswith("decoder.")}
        self.load_state_dict(own)

    def forward(self, z: Tensor) -> Tensor:
        x = self.lin2(self.lin1(z).relu()).relu()
        x = self.lin3(x).relu().reshape(-1, 32, 4, 4)
        x = self.convT1(self.convT_64(x).relu()).relu()
        return self.convT3(self.convT2(x).relu()).sigmoid()


@dataclass(frozen=True)
class ThirdParty:
    decode: ThirdPartyDecoder
    mean: np.ndarray
    variance: np.ndarray
    passive: tuple[int, ...]

    @property
    def used(self) -> list[int]:
        return [j for j in range(10) if j not in self.passive]


@pytest.fixture(scope="session")
def third_party(shared_data: Callable[[str], Path]) -> Callable[[str], ThirdParty]:
    def load(name: str) -> ThirdParty:
        state = torch.load(shared_data(f"pretrained/{name}/model.pt"), weights_only=True)
        with np.load(shared_data(f"pretrained/codes/{name}_codes.npz")) as file:
            mean, variance = file["mu"], np.exp(file["logvar"])
        return ThirdParty(ThirdPartyDecoder(state).eval(), mean, variance, PASSIVE[name])

    return load
