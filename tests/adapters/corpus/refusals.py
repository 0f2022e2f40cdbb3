"""Models that have no posterior of one Gaussian: a reading of these is wrong whatever it says."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from tests.adapters.corpus.layers import reparameterise
from tests.adapters.corpus.style import mlp
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["REFUSED"]


class Codebook(nn.Module):
    """Nearest entries of a codebook, and their numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.back = mlp(64, 48, 8), mlp(8, 48, 64, end=nn.Sigmoid())
        self.codebook = nn.Embedding(32, 2)

    def encode(self, x: Tensor) -> Any:
        z = self.body(x.flatten(1)).view(len(x), 4, 2)
        numbers = torch.cdist(z, self.codebook.weight[None]).argmin(-1)
        return self.codebook(numbers).flatten(1), numbers

    def decode(self, z: Tensor) -> Tensor:
        return self.back(z).view(-1, 1, 8, 8)


class Rounded(nn.Module):
    """Nearest entries again, in forward only and without a name that says so."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.table = nn.Sequential(nn.Flatten(), mlp(64, 48, 8)), nn.Embedding(32, 8)
        self.decoder = nn.Sequential(mlp(8, 48, 64, end=nn.Sigmoid()), nn.Unflatten(1, (1, 8, 8)))

    def forward(self, x: Tensor) -> Any:
        z = self.encoder(x)
        nearest = self.table(torch.cdist(z, self.table.weight).argmin(-1))
        return self.decoder(z + (nearest - z).detach()), F.mse_loss(nearest, z)


class TwoLevels(nn.Module):
    """Posteriors at two levels: z2 from the image, z1 from the image and z2."""

    def __init__(self) -> None:
        super().__init__()
        self.q_z2, self.q_z1 = mlp(64, 48, 8), mlp(64 + 4, 48, 12)
        self.p_x = mlp(6 + 4, 48, 64, end=nn.Sigmoid())

    def encode(self, x: Tensor) -> Any:
        z2_mu, z2_log_var = self.q_z2(x.flatten(1)).chunk(2, dim=1)
        z2 = reparameterise(z2_mu, z2_log_var)
        z1_mu, z1_log_var = self.q_z1(torch.cat([x.flatten(1), z2], 1)).chunk(2, dim=1)
        return [z1_mu, z1_log_var, z2_mu, z2_log_var, z2]

    def decode(self, z1: Tensor, z2: Tensor) -> Tensor:
        return self.p_x(torch.cat([z1, z2], 1)).view(-1, 1, 8, 8)

    def forward(self, x: Tensor) -> Any:
        z1_mu, z1_log_var, *_, z2 = self.encode(x)
        return self.decode(reparameterise(z1_mu, z1_log_var), z2)


class Categories(nn.Module):
    """Four categorical latents of eight classes, relaxed by Gumbel noise."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.back = mlp(64, 48, 32), mlp(32, 48, 64, end=nn.Sigmoid())

    def encode(self, x: Tensor) -> Tensor:
        return self.body(x.flatten(1)).view(-1, 4, 8)

    def reparameterize(self, q: Tensor) -> Tensor:
        return F.gumbel_softmax(q, tau=0.5).flatten(1)

    def decode(self, z: Tensor) -> Tensor:
        return self.back(z.flatten(1)).view(-1, 1, 8, 8)

    def forward(self, x: Tensor) -> Any:
        q = self.encode(x)
        return self.decode(self.reparameterize(q)), q


class Coupling(nn.Module):
    """A step of a flow, and its log determinant."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.net = mlp(size // 2, 16, size)

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        kept, other = z.chunk(2, 1)
        shift, log_scale = self.net(kept).chunk(2, 1)
        return torch.cat([other * torch.exp(log_scale) + shift, kept], 1), log_scale.sum(1)


class Flow(nn.Module):
    """A Gaussian goes through a flow, and the decoder gets what comes out."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.back = mlp(64, 48, 12), mlp(6, 48, 64, end=nn.Sigmoid())
        self.flows = nn.ModuleList([Coupling(6) for _ in range(3)])

    def encode(self, x: Tensor) -> Any:
        mu, log_var = self.body(x.flatten(1)).chunk(2, dim=1)
        z = before = reparameterise(mu, log_var)
        log_det = torch.zeros(len(x))
        for flow in self.flows:
            z, more = flow(z)
            log_det = log_det + more
        return z, before, mu, log_var, log_det

    def decode(self, z: Tensor) -> Tensor:
        return self.back(z).view(-1, 1, 8, 8)

    def forward(self, x: Tensor) -> Any:
        z, _, mu, log_var, log_det = self.encode(x)
        return self.decode(z), mu, log_var, log_det


class FlowPrior(nn.Module):
    """The flow is the prior's: neither encoder nor decoder calls it."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.back = mlp(64, 48, 12), mlp(6, 48, 64, end=nn.Sigmoid())
        self.flows = nn.ModuleList([Coupling(6) for _ in range(3)])

    def encode(self, x: Tensor) -> Any:
        return self.body(x.flatten(1)).chunk(2, dim=1)

    def decode(self, z: Tensor) -> Tensor:
        return self.back(z).view(-1, 1, 8, 8)

    def forward(self, x: Tensor) -> Any:
        mu, log_var = self.encode(x)
        return self.decode(reparameterise(mu, log_var)), mu, log_var


REFUSED: Mapping[str, Callable[[], nn.Module]] = {
    "codebook": Codebook,
    "rounded in forward": Rounded,
    "two levels": TwoLevels,
    "categories": Categories,
    "flow after the draws": Flow,
    "flow as the prior": FlowPrior,
}
