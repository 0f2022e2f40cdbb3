"""Models of other libraries on data that are no images: nothing is said about them but the data."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import vaescope as vs


def seeded(make: Any) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make().eval()


@pytest.mark.slow
def test_a_vgae_of_torch_geometric_has_a_latent_of_each_node() -> None:
    geometric = pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    from torch_geometric.data import Data
    from torch_geometric.nn import VGAE, GCNConv

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden, self.mu, self.logstd = GCNConv(5, 8), GCNConv(8, 3), GCNConv(8, 3)

        def forward(self, x: Tensor, edge_index: Tensor) -> Any:
            h = self.hidden(x, edge_index).relu()
            return self.mu(h, edge_index), self.logstd(h, edge_index)

    assert geometric is not None
    generator = torch.Generator().manual_seed(0)
    side = torch.arange(60) % 2
    linked = torch.rand(60, 60, generator=generator) < torch.where(side[:, None] == side, 0.2, 0.03)
    graph = Data(x=torch.randn(60, 5, generator=generator) + side[:, None],
                 edge_index=linked.nonzero().T)  # fmt: skip
    model = seeded(lambda: VGAE(Encoder()))
    found = vs.inspect(model, graph, factors=side.numpy(), effort="fast")
    opened = vs.open_model(model, graph)
    with torch.no_grad():
        mu, logstd = model.encoder(graph.x, graph.edge_index)
    np.testing.assert_allclose(opened.codes.mean, mu, atol=1e-5)
    np.testing.assert_allclose(opened.codes.variance, (2 * logstd).exp(), rtol=1e-3)
    assert found.fit is None and "fit" in found.skipped and found.factors is not None


@pytest.mark.slow
def test_an_audio_autoencoder_of_diffusers_has_temporal_latents() -> None:
    diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
    model = seeded(
        lambda: diffusers.AutoencoderOobleck(
            encoder_hidden_size=8, downsampling_ratios=[2, 2], channel_multiples=[1, 2],
            decoder_channels=8, decoder_input_channels=4, audio_channels=2, sampling_rate=100,
        )
    )  # fmt: skip
    audio = 0.3 * torch.randn(12, 2, 32, generator=torch.Generator().manual_seed(0))
    opened = vs.open_model(model, audio)
    with torch.no_grad():
        q = model.encode(audio).latent_dist
    assert opened.maps is not None and opened.maps.shape == q.mean.shape[2:]
    np.testing.assert_allclose(opened.codes.mean, q.mean.mean(2), atol=1e-5)
    assert opened.maps.kl_by_place is not None
    kl = 0.5 * (q.mean**2 + q.var - 1 - q.var.log()).sum(1).mean(0)
    np.testing.assert_allclose(opened.maps.kl_by_place, kl, rtol=1e-3)


@pytest.mark.slow
def test_a_video_autoencoder_of_diffusers_gets_its_frames_as_they_are() -> None:
    diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
    model = seeded(
        lambda: diffusers.AutoencoderKLCogVideoX(
            down_block_types=("CogVideoXDownBlock3D",) * 4, norm_num_groups=2,
            up_block_types=("CogVideoXUpBlock3D",) * 4, block_out_channels=(4, 4, 4, 4),
            latent_channels=2, layers_per_block=1, temporal_compression_ratio=4,
        )
    )  # fmt: skip
    video = torch.rand(3, 3, 9, 16, 16, generator=torch.Generator().manual_seed(0)) * 2 - 1
    opened = vs.open_model(model, video)
    with torch.no_grad():
        q = model.encode(video).latent_dist
    np.testing.assert_allclose(opened.codes.mean, q.mean.mean((2, 3, 4)), atol=1e-5)
    assert "value_range" not in {one.what for one in opened.inferred}


def test_a_lightning_module_that_returns_a_loss_is_read_by_what_it_draws() -> None:
    lightning = pytest.importorskip("lightning", reason="lightning is not installed")

    class Module(lightning.LightningModule):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.body, self.back = nn.Linear(6, 4), nn.Linear(2, 6)

        def training_step(self, batch: Any, batch_idx: int) -> Tensor:
            x, _ = batch
            mu, logvar = self.body(x).chunk(2, 1)
            z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
            rate = -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum(1).mean()
            return F.mse_loss(self.back(z), x) + rate

    model = seeded(Module)
    x = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
    opened = vs.open_model(model, [(x[:20], torch.zeros(20)), (x[20:], torch.ones(20))])
    with torch.no_grad():
        mu, logvar = model.body(x).chunk(2, 1)
    np.testing.assert_allclose(opened.codes.mean, mu, atol=1e-5)
    np.testing.assert_allclose(opened.codes.variance, logvar.exp(), rtol=1e-3)


@pytest.mark.slow
def test_a_tvae_of_ctgan_is_read_on_its_own_columns() -> None:
    ctgan = pytest.importorskip("ctgan", reason="ctgan is not installed")
    import pandas as pd
    from ctgan.synthesizers.tvae import Encoder

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(40, 10, 200), "dose": rng.normal(1, 0.2, 200),
                          "group": rng.integers(0, 2, 200).astype(str)})  # fmt: skip
    model = ctgan.TVAE(embedding_dim=3, compress_dims=(8,), decompress_dims=(8,), epochs=1)
    model.fit(table, ["group"])
    rows = torch.from_numpy(model.transformer.transform(table).astype(np.float32))
    encoder = Encoder(rows.shape[1], (8,), 3).eval()  # TVAE keeps its decoder alone
    opened = vs.open_model(encode=encoder, decode=lambda z: model.decoder(z)[0], data=rows)
    with torch.no_grad():
        mu, std, _ = encoder(rows)
    np.testing.assert_allclose(opened.codes.mean, mu, atol=1e-5)
    np.testing.assert_allclose(opened.codes.variance, std**2, rtol=1e-3)
