"""A VAE trained by Lightning, watched by a callback, and dissected at its end:
python examples/with_lightning.py [--epochs 20] [--beta 4] [--out report.html].

Lightning is not installed with vaescope: pip install 'vaescope[lightning]'
"""

import argparse

import lightning as L
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import vaescope as vs
from vaescope.integrations.lightning import WatchLatents


class SpriteVAE(L.LightningModule):
    """Fully connected, for images of 32 by 32 pixels. Its step returns what a watcher needs."""

    def __init__(self, latent: int = 10, beta: float = 4.0) -> None:
        super().__init__()
        self.beta = beta
        self.encoder = nn.Sequential(
            nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 2 * latent)
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent, 256), nn.ReLU(), nn.Linear(256, 1024), nn.Unflatten(1, (1, 32, 32))
        )

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        return mean, logvar

    def decode(self, z: Tensor) -> Tensor:
        return self.decoder(z)  # logits

    def training_step(self, batch: tuple[Tensor], _: int) -> dict[str, Tensor]:
        (x,) = batch
        mean, logvar = self.encode(x)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        distortion = F.binary_cross_entropy_with_logits(self.decode(z), x, reduction="sum")
        rate = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum()
        return {
            "loss": (distortion + self.beta * rate) / len(x),
            "mean": mean.detach(),
            "logvar": logvar.detach(),
        }

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--beta", type=float, default=4.0)
    parser.add_argument("--out", default="report.html")
    options = parser.parse_args()

    L.seed_everything(0, verbose=False)
    data = vs.load_dataset("dsprites", size=32, grid={"shape": [1], "orientation": [0]})
    images = torch.from_numpy(data.rows(np.arange(len(data))))  # 6,144 ellipses
    module = SpriteVAE(beta=options.beta)
    watcher = WatchLatents()  # logs its numbers, and says each warning when it begins
    trainer = L.Trainer(
        max_epochs=options.epochs,
        accelerator="cpu",
        callbacks=[watcher],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, DataLoader(TensorDataset(images), batch_size=64, shuffle=True))

    assert watcher.seen is not None
    print(watcher.seen.summary())
    inspection = vs.inspect(module, images)
    inspection.save(options.out)
    print(inspection.summary())
    print(f"written: {options.out}")


if __name__ == "__main__":
    main()
