"""The Python of the pages in depth runs too, with small objects under the names that stand for
the reader's own: `my_module`, `images`, `run`. Blocks that list forms for models of all kinds, one
a line, are left to the tests of those models."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from tests.docs.snippets import DOCS, ROOT, blocks, small
from torch import Tensor, nn

import vaescope as vs

LATENT = 3


class Module(nn.Module):
    """A VAE of 8 by 8 images, which draws what it decodes; trained for a moment."""

    def __init__(self, images: Tensor) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(64, 2 * LATENT), nn.Linear(LATENT, 64)
        optimiser = torch.optim.Adam(self.parameters(), 0.03)
        for _ in range(100):
            decoded, mean, logvar = self(images)
            rate = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum(1).mean()
            loss = (decoded - images).square().flatten(1).sum(1).mean() + 0.05 * rate
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.encoder(x.flatten(1)).chunk(2, dim=1)
        return mean, logvar

    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self.decoder(z)).view(-1, 1, 8, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, logvar = self.encode(x)
        return self.decode(mean + torch.randn_like(mean) * (0.5 * logvar).exp()), mean, logvar


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What pages mean by these names."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("runs")
    data = vs.load_dataset("digits")
    few = data.pick(np.arange(300))
    run, other = (
        vs.train("vae", data, latent=LATENT, steps=10, seed=seed, out=folder) for seed in (0, 1)
    )
    images = few.rows(np.arange(300))
    x = torch.from_numpy(images)
    return {
        "vs": vs, "np": np, "torch": torch, "data": few, "images": images, "run": run,
        "other": other, "my_module": Module(x), "model_a": Module(x), "model_b": Module(x),
        "first": Module(x), "second": Module(x), "third": Module(x), "codes": vs.known.codes(),
        "X": images[:60].reshape(60, -1),
    }  # fmt: skip


def of_data(names: dict[str, Any]) -> None:
    Path("photos").mkdir()
    Path("path/to").mkdir(parents=True)
    pixels = np.random.default_rng(0).integers(0, 256, (40, 64, 64, 3), dtype=np.uint8)
    for number, image in enumerate(pixels):
        Image.fromarray(image).save(f"photos/{number}.png")
    np.savez("path/to/folder-or-file.npz", images=pixels)
    names["table"] = pd.DataFrame({"file": [f"{n}.png" for n in range(40)], "x": np.arange(40) % 3})
    names["table"].to_csv("labels.csv", index=False)


def of_export(names: dict[str, Any]) -> None:
    pytest.importorskip("onnxruntime")
    vs.export_onnx(names["run"], "exported")


def of_geometry(names: dict[str, Any]) -> None:
    decoder = nn.Sequential(nn.Linear(names["codes"].mean.shape[1], 20), nn.Tanh())
    names["decode"] = decoder


def of_inspect(names: dict[str, Any]) -> None:
    model, labels = names["my_module"], np.arange(300) % 3
    names |= {"f": model.encode, "g": model.decode, "y": labels, "s": labels % 2}
    mean = vs.open_model(model, names["images"]).codes.mean
    halves = (mean > np.median(mean, axis=0)).astype(int)  # factors that the latents encode
    names |= {"model": model, "codes": vs.open_model(model, names["images"], factors=halves).codes}


def of_log_likelihood(_: dict[str, Any]) -> None:
    data = vs.load_dataset("digits")
    run = vs.train("beta-vae", data, latent=LATENT, steps=10, out="runs")
    run.path.rename("runs/beta-vae-s0-1a2b3c4d")


def of_own_parts(names: dict[str, Any]) -> None:
    names["images"] = np.random.default_rng(0).random((200, 6), dtype=np.float32)
    names["encoder"], names["decoder"] = nn.Linear(6, 8), nn.Linear(4, 6)
    ends = vs.nets.DiagonalPosterior(8, 4), vs.nets.SquaredErrorLikelihood()
    names["posterior"] = vs.nets.Encoder(names["encoder"], ends[0])
    names["likelihood"] = vs.nets.Decoder(names["decoder"], ends[1])
    names["prior"] = vs.priors.StandardNormal(4)
    where = "own-parts.md, block 1"  # its objective
    source = blocks(DOCS / "own-parts.md", "python")[1]
    exec(compile(small(source, where), where, "exec"), names)
    run = vs.train(
        "vae", names["images"], objective=names["Weighted"](3.0), encoder=names["encoder"],
        decoder=names["decoder"], latent=4, steps=10, out="runs",
    )  # fmt: skip
    run.path.rename("runs/vae-s0-8f598176")


def of_train(names: dict[str, Any]) -> None:
    names["rows"], names["L"] = [], pytest.importorskip("lightning")


def of_watch(names: dict[str, Any]) -> None:
    names["encoder"] = names["my_module"].encode
    names["batches"] = torch.from_numpy(names["images"]).split(100)
    names["logger"] = SimpleNamespace(log=lambda record: None)


def nothing(names: dict[str, Any]) -> None:
    """The common names are enough."""


#: Page -> what its names stand for beside the common ones, and which of its blocks run.
PAGES: dict[str, tuple[Callable[[dict[str, Any]], None], slice]] = {
    "index.md": (nothing, slice(None)),
    "compare.md": (nothing, slice(None)),
    "data.md": (of_data, slice(None)),
    "effective-beta.md": (nothing, slice(None)),
    "estimator.md": (nothing, slice(None)),
    "exchange.md": (nothing, slice(None)),
    "export.md": (of_export, slice(None)),
    "geometry.md": (of_geometry, slice(None)),
    "how-many.md": (nothing, slice(None)),
    "inspect.md": (of_inspect, slice(0, 4, 3)),
    "log-likelihood.md": (of_log_likelihood, slice(None)),
    "own-parts.md": (of_own_parts, slice(None)),
    "prune.md": (nothing, slice(None)),
    "sweeps.md": (nothing, slice(None)),
    "train.md": (of_train, slice(None)),
    "tune-beta.md": (nothing, slice(None)),
    "watch.md": (of_watch, slice(None)),
    "../README.md": (nothing, slice(None)),
}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_in_depth_runs(
    page: str, given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VAESCOPE_DATA", str(tmp_path / "cache"))
    prepare, taken = PAGES[page]
    names = {"__name__": "__main__", **given}
    prepare(names)
    for number, block in enumerate(blocks(DOCS / page, "python")[taken]):
        where = f"{page}, block {number}"
        exec(compile(small(block, where), where, "exec"), names)


def test_pages_with_python_are_run_or_named_here() -> None:
    every = {
        path.name for path in [*DOCS.glob("*.md"), ROOT / "README.md"] if blocks(path, "python")
    }
    assert every - {Path(page).name for page in PAGES} == {"start.md"}
