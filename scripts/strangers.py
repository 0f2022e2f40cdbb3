"""Public VAE classes, trained for a moment and read by vaescope. Writes a table.

None of their code is here. Bring the repositories of STRANGERS to disk, each at its commit as
DIR/owner+name, and run `python scripts/strangers.py DIR --out docs/results/strangers.md` from the
root of this repository. The truth is what the class's own methods say; the judge is that of the
corpus.
"""

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from foreign_code import as_they_knew_them, load
from result_section import write_section
from torch import Tensor
from torch import distributions as td
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.adapters.corpus.judging import Outcome, outcome_of
from tests.adapters.corpus.style import Style, colour, digits, labels, one_hot

__all__ = ["STRANGERS", "Stranger"]

HEADING = "Public classes"
EXPLAINED = (
    "Made by `python scripts/strangers.py DIR --out docs/results/strangers.md`, where DIR has the",
    "repositories at these commits as `owner+name`. Trained for 100 to 300 steps on digits of the",
    "size that the class takes, with a small beta, then read with no argument but the images.",
)

#: How convolutions on many pixels are trained: as long as one has patience for.
BIG: dict[str, Any] = {"steps": 100, "batch": 32, "rate": 2e-3}
FEW = 96


@dataclass(frozen=True, eq=False)
class Stranger:
    """One class of one repository, and what its own methods say of it."""

    repository: str  # owner/name
    commit: str
    file: str
    name: str  # of the class
    make: Callable[[Any], Any]  # of the module -> a model
    posterior: Callable[..., tuple[Tensor, Tensor]]
    output: Callable[..., Tensor]
    size: int = 28
    images: Callable[[], Tensor] = digits
    settings: dict[str, Any] | None = None  # further fields of Style
    note: str = ""  # tells two models of one class apart

    def style(self, root: Path) -> Style:
        module = load(root / self.repository.replace("/", "+"), self.file)
        more = {"answers": PAIR, "rate": 2e-3, **(BIG if self.size > 32 else {})}
        return Style(
            f"{self.repository} {self.name}{self.note}", lambda: self.make(module), self.posterior,
            self.output, images=lambda: resized(self.images(), self.size),
            **{**more, **(self.settings or {})},
        )  # fmt: skip


def resized(x: Tensor, size: int) -> Tensor:
    """Of large images fewer: convolutions take their time."""
    x = x[:FEW] if size > 32 else x
    return F.interpolate(x, size=(size, size), mode="bilinear").clamp(0, 1)


PAIR = {"posterior": ("logvar", "pair,logvar")}
HALVES = {"posterior": ("halves,logvar",)}
LOGSTD = {"posterior": ("logstd", "pair,logstd")}
SIGNED: dict[str, Any] = {
    "range": (-1.0, 1.0), "trained_with": "squared-error", "beta": 0.05, "answers": PAIR,
}  # fmt: skip
SQUARES: dict[str, Any] = {"trained_with": "squared-error", "beta": 0.05, "answers": PAIR}


def _exp(pair: Any) -> tuple[Tensor, Tensor]:
    mean, logvar = pair
    return mean, logvar.exp()


def by_encode(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    return _exp(model.encode(x))


def by_flat_encode(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    return _exp(model.encode(x.flatten(1)))


def by_encoder(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    return _exp(model.encoder(x))


def by_halves(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    return _exp(model.encoder(x).chunk(2, dim=1))


def decoded(size: int, channels: int = 1) -> Callable[[Any, Tensor], Tensor]:
    return lambda model, z: model.decode(z).view(-1, channels, size, size)


def by_decoder(model: Any, z: Tensor) -> Tensor:
    return model.decoder(z)


EXAMPLES = "77f55b912142e11fcfdf5b530231fb9c52f181e8"
ANTIXK = "a6896b944c918dd7030e7d795a8c13e5c6345ec7"
VAMP = "bb6ff3e58036adbea448e82d7bc55593d605b52c"
KONNY = "977a1ece88e190dd8a556b4e2efb665f759d0772"
TCVAE = "1a3577dbb14642b9ac27010928d12132d0c0fb91"


def _antixk(file: str, name: str, hidden: tuple[int, ...] = (8, 16, 32, 64, 512)) -> Stranger:
    """64 pixels in colour, tanh; its experiment standardises nothing and trains on mean squares."""
    return Stranger(
        "AntixK/PyTorch-VAE", ANTIXK, f"models/{file}.py", name,
        lambda m: getattr(m, name)(3, 10, hidden_dims=list(hidden)),
        by_encode, decoded(64, 3), 64, colour, SQUARES,
    )  # fmt: skip


def _vamp(prior: str) -> Any:
    arguments = SimpleNamespace(
        input_size=[1, 28, 28], z1_size=10, input_type="binary", prior=prior, cuda=False,
        number_components=20, use_training_data_init=False, pseudoinputs_mean=0.05,
        pseudoinputs_std=0.1,
    )  # fmt: skip
    return lambda module: module.VAE(arguments)


def _vamp_stranger(prior: str, **more: Any) -> Stranger:
    return Stranger(
        "jmtomczak/vae_vampprior", VAMP, "models/VAE.py", "VAE", _vamp(prior),
        lambda m, x: _exp(m.q_z(x.flatten(1))), lambda m, z: m.p_x(z)[0].view(-1, 1, 28, 28),
        note=f" ({prior})", settings={"answers": PAIR, **more},
    )  # fmt: skip


def _pseudo_mixture(model: Any) -> td.MixtureSameFamily:
    """Its log_p_z leaves the constants of the Gaussians out, so that it is no density."""
    mean, logvar = model.q_z(model.means(model.idle_input))
    parts = td.Independent(td.Normal(mean, (0.5 * logvar).exp()), 1)
    return td.MixtureSameFamily(td.Categorical(torch.ones(len(mean))), parts)


def _quantitative(*, conv: bool) -> Stranger:
    def posterior(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        parameters = model.encoder(x).view(len(x), model.z_dim, 2)
        return parameters[..., 0], (2 * parameters[..., 1]).exp()

    return Stranger(
        "rtqichen/beta-tcvae", TCVAE, "vae_quant.py", "VAE", lambda m: m.VAE(10, conv=conv),
        posterior, lambda m, z: m.decoder(z).view(-1, 1, 64, 64), 64,
        note=" (conv)" if conv else "",
        settings={"trained_with": "logits", "answers": LOGSTD},
    )  # fmt: skip


def _conditional_posterior(model: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return _exp(model.encoder(x.flatten(1), y.argmax(1)))


STRANGERS: tuple[Stranger, ...] = (
    Stranger("pytorch/examples", EXAMPLES, "vae/main.py", "VAE", lambda m: m.VAE(),
             by_flat_encode, decoded(28)),
    Stranger("yunjey/pytorch-tutorial", "0500d3df5a2a8080ccfccbc00aca0eacc21818db",
             "tutorials/03-advanced/variational_autoencoder/main.py", "VAE", lambda m: m.VAE(),
             by_flat_encode, decoded(28)),
    Stranger("YannDubs/disentangling-vae", "f0452191bab6d94eba0b4e6a065f74dcfd54ac52",
             "disvae/models/vae.py", "VAE",
             lambda m: m.init_specific_model("Burgess", (1, 32, 32), 10),
             by_encoder, by_decoder, 32),
    Stranger("1Konny/Beta-VAE", KONNY, "model.py", "BetaVAE_H", lambda m: m.BetaVAE_H(10, 1),
             by_halves, by_decoder, 64,
             settings={"trained_with": "logits", "answers": HALVES}),
    Stranger("1Konny/Beta-VAE", KONNY, "model.py", "BetaVAE_B", lambda m: m.BetaVAE_B(10, 1),
             by_halves, by_decoder, 64,
             settings={"trained_with": "logits", "answers": HALVES}),
    Stranger("1Konny/FactorVAE", "8c97b1fc6150fa8f9241468b2c687b83335543d4", "model.py",
             "FactorVAE1", lambda m: m.FactorVAE1(10),
             lambda m, x: _exp(m.encode(x).flatten(1).chunk(2, dim=1)),
             lambda m, z: m.decode(z[:, :, None, None]), 64,
             settings={"trained_with": "logits", "answers": HALVES}),
    _quantitative(conv=False),
    _quantitative(conv=True),
    _vamp_stranger("standard"),
    _vamp_stranger("vampprior", log_prior=lambda m, z: _pseudo_mixture(m).log_prob(z),
                   answers={**PAIR, "prior": (_pseudo_mixture,)}),
    Stranger("sksq96/pytorch-vae", "14ce22796fe0ee5120f4f1cdb1dbaf515e72559d", "vae.py", "VAE",
             lambda m: m.VAE(1, z_dim=10), lambda m, x: _exp(m.bottleneck(m.encoder(x))[1:]),
             lambda m, z: m.decoder(m.fc3(z)), 64),
    Stranger("timbmg/VAE-CVAE-MNIST", "4f1b22367a5c5cff88bf97ce78219132aa9fd977", "models.py",
             "VAE", lambda m: m.VAE([784, 256], 8, [256, 784]),
             lambda m, x: _exp(m.encoder(x.flatten(1))),
             lambda m, z: m.decoder(z, None).view(-1, 1, 28, 28)),
    Stranger("timbmg/VAE-CVAE-MNIST", "4f1b22367a5c5cff88bf97ce78219132aa9fd977", "models.py",
             "VAE", lambda m: m.VAE([784, 256], 8, [256, 784], True, 10), _conditional_posterior,
             lambda m, z, y: m.decoder(z, y.argmax(1)).view(-1, 1, 28, 28), note=" (conditional)",
             settings={"conditional": True,
                       "answers": {**PAIR, "condition": (lambda _: labels().numpy(),)}}),
    Stranger("debtanu177/CVAE_MNIST", "24c38621d8dd7417dd3f0432cd23d7b4ee2cc0bd", "train_vae.py",
             "Model", lambda m: _on_cpu(m).Model(), by_encoder, by_decoder, settings=SQUARES),
    Stranger("debtanu177/CVAE_MNIST", "24c38621d8dd7417dd3f0432cd23d7b4ee2cc0bd", "train_cvae.py",
             "Model", lambda m: _on_cpu(m).Model(), lambda m, x, y: _exp(m.encoder(x, y)),
             lambda m, z, y: m.decoder(torch.cat([z, y], 1)), note=" (conditional)",
             settings={**SQUARES, "conditional": True,
                       "answers": {**PAIR, "condition": (lambda _: one_hot(labels()).numpy(),)}}),
    Stranger("dariocazzani/pytorch-AE", "0c627636fd6d1cfd8d1c202fb3046831eaa73db3",
             "models/VAE.py", "Network", lambda m: m.Network(SimpleNamespace(embedding_size=8)),
             by_encode, decoded(28), settings={"answers": PAIR, **BIG}),
    Stranger("podgorskiy/VAE", "ee907bc966f499ad115179f8d84e06107386a295", "net.py", "VAE",
             lambda m: m.VAE(10, layer_count=2, channels=1), by_encode, decoded(16), 16,
             settings={**SIGNED, **BIG}),
    Stranger("kuc2477/pytorch-vae", "726a27eb668edcd7a6afdd23a2ee001a1f31d54f", "model.py", "VAE",
             lambda m: m.VAE("mnist", 32, 1, 32, 10), lambda m, x: _exp(m.q(m.encoder(x))),
             lambda m, z: m.decoder(m.project(z).view(-1, 32, 4, 4)), 32,
             settings={"answers": {"posterior": ()}}),
    Stranger("ethanluoyc/pytorch-vae", "d0f457ead02669bf4ea141002dbd10d305507b12", "vae.py", "VAE",
             lambda m: m.VAE(m.Encoder(784, 128, 8), m.Decoder(8, 128, 784)),
             lambda m, x: (m.encoder(x.flatten(1)).mean, m.encoder(x.flatten(1)).variance),
             lambda m, z: m.decoder(z).mean.view(-1, 1, 28, 28),
             settings={"range": (-0.5, 0.5), "trained_with": "own", "beta": 0.02,
                       "own_nats": lambda _, y, x:
                       -td.Normal(y, 1.0).log_prob(x).flatten(1).sum(1),
                       "answers": {"likelihood": ("gaussian:1",), "output": ("pixels",)}}),
    Stranger("ctallec/world-models", "d6abd9ce97409734a766eb67ccf0d1967ba9bf0c", "models/vae.py",
             "VAE", lambda m: m.VAE(3, 10),
             lambda m, x: (m.encoder(x)[0], (2 * m.encoder(x)[1]).exp()), by_decoder, 64, colour,
             {**SQUARES, "fair": ("probabilities",), "answers": LOGSTD}),
    Stranger("LukeDitria/CNN-VAE", "c2e6419905660e617f9bb1e11af07e5affb49a30", "RES_VAE.py", "VAE",
             lambda m: m.VAE(1, ch=4, latent_channels=10),
             lambda m, x: _exp(part.flatten(1) for part in m.encoder(x)[1:]),
             lambda m, z: m.decoder(z[:, :, None, None]), 64, settings=SIGNED),
    Stranger("bhpfelix/Variational-Autoencoder-PyTorch",
             "135ad8cfff8f5d01a5bfd44fbfc53066150fa8e5", "src/vanila_vae.py", "VAE",
             lambda m: m.VAE(1, 4, 4, 10), by_encode, decoded(128), 128),
    Stranger("bethgelab/slow_disentanglement", "26eef4557ad25f1991b6f5dc774e37e192bdcabf",
             "scripts/model.py", "BetaVAE_H", lambda m: m.BetaVAE_H(10, 1), by_halves, by_decoder,
             64, settings={"trained_with": "logits", "answers": HALVES}),
    Stranger("Lightning-Universe/lightning-bolts", "34958a8892d42714edf02ba896fd5861ebb3cb7e",
             "src/pl_bolts/models/autoencoders/basic_vae/basic_vae_module.py", "VAE",
             lambda m: m.VAE(32, latent_dim=10),
             lambda m, x: _exp((m.fc_mu(m.encoder(x)), m.fc_var(m.encoder(x)))), by_decoder, 32,
             colour, {**SQUARES, "steps": 20}),
    _antixk("vanilla_vae", "VanillaVAE"),
    _antixk("beta_vae", "BetaVAE"),
    _antixk("dip_vae", "DIPVAE"),
    _antixk("info_vae", "InfoVAE"),
    _antixk("betatc_vae", "BetaTCVAE", (32, 32, 32, 32)),
    _antixk("logcosh_vae", "LogCoshVAE"),
)  # fmt: skip


def _on_cpu(module: ModuleType) -> ModuleType:
    module.__dict__["device"] = torch.device("cpu")
    return module


TITLES = (
    "| repository | class | outcome | rate found | true rate | says |",
    "|---|---|---|---|---|---|",
)


def _cells(stranger: Stranger) -> str:
    """The cells that say which class it is."""
    return (
        f"| {stranger.repository} `{stranger.commit[:8]}` | {stranger.file} "
        f"{stranger.name}{stranger.note} |"
    )


def _row(stranger: Stranger, outcome: Outcome) -> str:
    rate = "" if outcome.rate is None else f"{outcome.rate:.2f}"
    says = " ".join(outcome.says.split())[:90].replace("|", "/")
    return f"{_cells(stranger)} {outcome.word} | {rate} | {outcome.true_rate:.2f} | {says} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, help="the page whose section is written anew")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of names; others' rows stay")
    parser.add_argument("--state", default="trained", help="untrained, trained or collapsed")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    as_they_knew_them()
    warnings.simplefilter("ignore")
    rows = {} if arguments.out is None else _rows_of(arguments.out)
    for stranger in STRANGERS:
        name = f"{stranger.repository} {stranger.name}{stranger.note}"
        if not any(part in name for part in arguments.only):
            continue
        try:
            style = stranger.style(arguments.folder)
            outcome = outcome_of(style, arguments.state)
        except Exception as error:
            says = f"{type(error).__name__}: {error}"
            outcome = Outcome(name, arguments.state, "not run", None, float("nan"), says)
        rows[_cells(stranger)] = _row(stranger, outcome)
        print(outcome, flush=True)  # noqa: T201
        if arguments.out:  # after each: a run that is stopped leaves what it found
            _write(arguments.out, rows)


def _rows_of(page: Path) -> dict[str, str]:
    """Rows that a page has already, by what they start with."""
    lines = page.read_text().splitlines() if page.exists() else []
    starts = [_cells(stranger) for stranger in STRANGERS]
    found = {start: [line for line in lines if line.startswith(start)] for start in starts}
    return {start: own[0] for start, own in found.items() if own}


def _write(page: Path, rows: dict[str, str]) -> None:
    """All rows in the order of STRANGERS, and how many have which outcome."""
    starts = [_cells(stranger) for stranger in STRANGERS]
    kept = [rows[start] for start in starts if start in rows]
    counts = Counter(row.split("|")[3].strip() for row in kept)
    summary = ", ".join(f"{word} {n}" for word, n in sorted(counts.items()))
    together = f"Together: {summary}; {len(STRANGERS)} classes are listed."
    write_section(page, HEADING, [*EXPLAINED, "", *TITLES, *kept, "", together])


if __name__ == "__main__":
    main()
