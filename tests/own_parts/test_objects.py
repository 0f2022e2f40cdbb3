"""Parts as values of Python: trained from a copy, known again by fingerprint."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import vaescope as vs
from vaescope.errors import RunError, ShapeError, UsageError, VaescopeError
from vaescope.nets.initialisation import torch_default
from vaescope.settings import from_python
from vaescope.training.run import train_run
from vaescope.user_data import as_dataset

X = np.random.default_rng(0).normal(size=(200, 6)).astype(np.float32)


@dataclass(frozen=True)
class Local(vs.Objective):
    """As a notebook defines it: its module cannot be imported by others."""

    weight: float = 1.0

    def __call__(self, vae: vs.VAE, batch: vs.Batch, step: Tensor, noise: Tensor) -> vs.Terms:
        elbo = vs.objectives.BetaVAE()(vae, batch, step, noise)
        loss = elbo.parts["distortion"] + self.weight * elbo.parts["rate"]
        return vs.Terms(loss, elbo.parts, elbo.posterior)


Local.__module__ = "__main__"


def networks(*, dropout: float = 0.0, seed: int = 0) -> dict[str, nn.Module]:
    torch.default_generator.manual_seed(seed)
    encoder = nn.Sequential(nn.Linear(6, 8), nn.Dropout(dropout), nn.Tanh(), nn.Linear(8, 6))
    return {"encoder": encoder, "decoder": nn.Linear(3, 6)}


def train(out: Path, **given: Any) -> vs.Run:
    return vs.train("vae", X, latent=3, steps=20, logging={"every": 5}, out=out, **given)


def test_a_run_with_objects_says_what_it_needs_and_opens_with_them(tmp_path: Path) -> None:
    run = train(tmp_path, objective=Local(0.3), **networks())
    with pytest.raises(RunError) as caught:
        vs.encode(run.path, X)
    assert "vs.open_run(path, objective=..., encoder=..., decoder=...)" in caught.value.remedy
    again = vs.open_run(run.path, objective=Local(0.3), **networks(seed=7))
    np.testing.assert_array_equal(vs.encode(again, X).mean, vs.encode(run, X).mean)
    assert vs.open_model(again, X).objective == Local(0.3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        {"objective": Local(0.4)},
        {"objective": vs.objectives.BetaVAE()},
        {"encoder": nn.Linear(6, 6)},
        {"encoder": networks(dropout=0.1)["encoder"]},
        {"prior": vs.priors.StandardNormal(3)},
        {"vae": None, "encoder": networks()["encoder"], "decoder": None},
    ],
)
def test_another_object_is_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    run = train(tmp_path, objective=Local(0.3), **networks())
    with pytest.raises(VaescopeError):
        vs.open_run(run.path, **{"objective": Local(0.3), **networks(), **other})


def test_training_does_not_change_what_the_caller_holds(tmp_path: Path) -> None:
    given = networks()
    before = [p.clone() for module in given.values() for p in module.parameters()]
    run = train(tmp_path, **given)
    after = [p for module in given.values() for p in module.parameters()]
    assert all(torch.equal(old, new) for old, new in zip(before, after, strict=True))
    trained = vs.load_vae(run).encoder.body
    assert not torch.equal(trained[0].weight, before[0])  # type: ignore[index]


@pytest.mark.slow
def test_weights_that_modules_come_with_are_the_start_and_in_the_digest(tmp_path: Path) -> None:
    first, second = train(tmp_path, **networks(seed=0)), train(tmp_path, **networks(seed=1))
    assert first.path != second.path
    assert train(tmp_path, **networks(seed=0)) == first
    still = train(tmp_path, **networks(seed=0), lr=1e-12)
    torch.testing.assert_close(
        vs.load_vae(still).encoder.body[0].weight, networks(seed=0)["encoder"][0].weight  # type: ignore[index]
    )  # fmt: skip


@pytest.mark.slow
def test_modules_that_give_parameters_train_as_a_vae_without_heads(tmp_path: Path) -> None:
    run = train(tmp_path, **networks())
    encoder, decoder = networks().values()
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-4)
    from vaescope.seeds import order
    from vaescope.training.loop import noise_at

    for step in range(20):
        x = torch.from_numpy(X[order(0, step, batch=64, n=200)])
        mean, log_variance = encoder(x).chunk(2, 1)
        noise = noise_at(0, step, (1, 64, 3), torch.device("cpu"))[0]
        z = mean + (0.5 * log_variance).exp() * noise
        distortion = ((x - decoder(z)) ** 2).sum(1) + 3.0 * np.log(np.pi)
        rate = 0.5 * (mean**2 + log_variance.exp() - 1.0 - log_variance).sum(1)
        optimiser.zero_grad()
        (distortion + rate).mean().backward()
        optimiser.step()
    trained = vs.load_vae(run)
    torch.testing.assert_close(trained.encoder.body[0].weight, encoder[0].weight)  # type: ignore[index]
    torch.testing.assert_close(trained.decoder.body.weight, decoder.weight)


def test_two_tensors_or_a_distribution_are_parameters_too(tmp_path: Path) -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean, self.log_variance = nn.Linear(6, 3), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Any:
            return self.mean(x), self.log_variance(x)

    class Distribution(Two):
        def forward(self, x: Tensor) -> Any:
            return vs.distributions.DiagonalGaussian(self.mean(x), self.log_variance(x))

    weights = []
    for kind in (Two, Distribution):
        torch.default_generator.manual_seed(0)
        run = train(tmp_path, encoder=kind(), decoder=nn.Linear(3, 6))
        weights.append(vs.load_vae(run).encoder.body.mean.weight)
    assert torch.equal(*weights)


def test_dropout_is_resumed_to_the_same_bytes(tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", **networks(dropout=0.5))
    spec = whole.open()
    cut = vs.Run(tmp_path / "cut" / whole.path.name, whole.objects)
    cut.create(spec)

    def some(count: int) -> Iterator[int]:
        yield from [0] * count
        while True:
            yield 15

    signals = some(7)
    data = as_dataset(X)
    with pytest.raises(VaescopeError, match="Stopped by signal 15"):
        list(train_run(cut, cut.open(), data, device=torch.device("cpu"), stop=signals.__next__))
    torch.rand(5)  # whatever the caller draws meanwhile
    list(train_run(cut, cut.open(), data, device=torch.device("cpu")))
    assert cut.weights.read_bytes() == whole.weights.read_bytes()
    assert cut.history.read_bytes() == whole.history.read_bytes()
    off = train(tmp_path / "whole", **networks(dropout=0.0))
    assert off.weights.read_bytes() != whole.weights.read_bytes()


def test_training_leaves_torchs_generator_as_it_was(tmp_path: Path) -> None:
    given = networks(dropout=0.5)
    before = torch.default_generator.get_state()
    train(tmp_path, **given)
    assert torch.equal(torch.default_generator.get_state(), before)


def test_batch_norm_trains_in_the_copy_and_is_saved(tmp_path: Path) -> None:
    norm = nn.BatchNorm1d(6)
    encoder = nn.Sequential(norm, nn.Linear(6, 6))
    run = train(tmp_path, encoder=encoder, decoder=nn.Linear(3, 6))
    assert norm.num_batches_tracked == 0 and norm.training
    trained = vs.load_vae(run).encoder.body[0]  # type: ignore[index]
    assert trained.num_batches_tracked == 20


def test_a_whole_vae_brings_its_latents_prior_and_likelihood(tmp_path: Path) -> None:
    def whole() -> vs.VAE:
        encoder = vs.nets.Encoder(nn.Linear(6, 5), vs.nets.DiagonalPosterior(5, 2))
        decoder = vs.nets.Decoder(nn.Linear(2, 6), vs.nets.LaplaceLikelihood())
        return vs.VAE(encoder, decoder, vs.priors.StudentTPrior(2, 5.0))

    run = vs.train("beta-vae", X, vae=whole(), beta=2.0, steps=10, out=tmp_path)
    assert run.open().latent == 2
    opened = vs.open_model(vs.open_run(run.path, vae=whole()), X)
    assert isinstance(opened.prior, vs.priors.StudentTPrior)
    assert opened.codes.mean.shape == (200, 2)
    with pytest.raises(UsageError, match="has its own posterior"):
        vs.train("vae", X, vae=whole(), prior=vs.priors.StandardNormal(2), out=tmp_path)


def test_a_prior_of_torch_is_trained_with(tmp_path: Path) -> None:
    prior = torch.distributions.Laplace(0.0, 2.0)
    run = train(tmp_path, prior=prior)
    codes = vs.open_model(vs.open_run(run.path, prior=prior), X).codes
    np.testing.assert_allclose(codes.prior.variance, 8.0)
    with pytest.raises(RunError, match="other code, structure or settings"):
        vs.open_run(run.path, prior=torch.distributions.Laplace(0.0, 1.0))


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"encoder": nn.Linear(6, 8), "decoder": nn.Linear(3, 6)}, ShapeError, r"\(2, 4\)"),
        ({"encoder": nn.Linear(6, 6), "decoder": nn.Linear(3, 7)}, ShapeError, r"\(2, 7\)"),
        ({"encoder": nn.Linear(7, 6), "decoder": nn.Linear(3, 6)}, UsageError, "fails on a batch"),
        ({"encoder": nn.LazyLinear(6), "decoder": nn.Linear(3, 6)}, UsageError, "lazy"),
        ({"encoder": nn.Linear(6, 6)}, UsageError, "Only encoder"),
        ({"encoder": len, "decoder": nn.Linear(3, 6)}, UsageError, "wanted an nn.Module"),
        ({"net": torch_default}, UsageError, "wanted a vs.nets.Pair"),
        ({"net": lambda latent: latent}, UsageError, "wanted a vs.nets.Pair"),
        ({"objective": nn.Linear(6, 6)}, UsageError, "wanted a vs.Objective"),
        ({"prior": 3}, UsageError, "not a prior"),
        ({"vae": nn.Linear(6, 6)}, UsageError, "wanted a vs.VAE"),
    ],
)
def test_parts_that_do_not_fit_are_refused_and_leave_no_folder(
    tmp_path: Path, given: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        train(tmp_path, **given)
    assert not list(tmp_path.iterdir())


def test_an_importable_objective_is_saved_by_its_path(tmp_path: Path) -> None:
    run = train(tmp_path, objective=vs.objectives.BetaVAE())
    assert run.open().objective.name == "vaescope.objectives.elbo:BetaVAE"
    assert vs.encode(run.path, X).mean.shape == (200, 3)


def test_settings_stay_settings() -> None:
    assert from_python("vae", {"name": "synth-linear"}, {"prior": "normal"}).prior.name == "normal"


def test_what_is_given_twice_is_refused(tmp_path: Path) -> None:
    twice: list[dict[str, Any]] = [
        {**networks(), "net": "mlp"},
        {**networks(), "net.name": "mlp"},
        {**networks(), "vae": vs.load_vae(train(tmp_path))},
        {"vae": vs.load_vae(train(tmp_path)), "prior": "normal"},
    ]
    for given in twice:
        with pytest.raises(UsageError, match=r"given together|Give vae="):
            train(tmp_path, **given)
    with pytest.raises(UsageError, match=r"vae has 3 latents; latent=5"):
        vs.train("vae", X, vae=vs.load_vae(train(tmp_path)), latent=5, out=tmp_path)


def test_modules_of_a_whole_vae_that_return_tensors_are_refused_with_the_way_to_wrap_them() -> None:
    prior, encoder = vs.priors.StandardNormal(2), nn.Linear(6, 4)
    ends = vs.nets.DiagonalPosterior(4, 2)
    with pytest.raises(UsageError, match=r"encoder of vae= returns Tensor.*vs\.nets\.Encoder\(net"):
        vs.train("vae", X, vae=vs.VAE(encoder, nn.Linear(2, 6), prior))
    whole = vs.VAE(vs.nets.Encoder(encoder, ends), nn.Linear(2, 6), prior)
    with pytest.raises(UsageError, match=r"decoder of vae= returns Tensor.*vs\.nets\.Decoder\(net"):
        vs.train("vae", X, vae=whole)


def test_an_objective_that_holds_a_critic_is_an_object(tmp_path: Path) -> None:
    objective = vs.objectives.FactorVAE(nn.Linear(3, 2))
    run = train(tmp_path, objective=objective)
    assert run.open().objective.name == "object"
    assert "critic" in run.records()[-1]


def test_other_settings_of_an_object_are_another_run_though_one_is_unfinished(
    tmp_path: Path,
) -> None:
    first = train(tmp_path, objective=Local(0.3))
    (first.path / "done.json").unlink()
    assert first.state.exists()
    assert train(tmp_path, objective=Local(0.4)).is_done


def weighted(vae: Any, batch: Any, step: Any, noise: Any, *, weight: float = 1.0) -> vs.Terms:
    terms = vs.objectives.BetaVAE()(vae, batch, step, noise)
    return vs.Terms(weight * terms.loss, terms.parts, terms.posterior)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"objective": {"name": weighted, "weigth": 2.0}},
            "no setting weigth. Did you mean weight",
        ),
        ({"objective": {"name": weighted, "q": 2.0}}, "no setting q. It has weight"),
        ({"objective": weighted, "weight": 2.0}, r'objective={"name": weighted, "weight": 2\.0}'),
        # The preset's own beta would be replaced with its objective, in silence.
        ({"objective": weighted, "beta": 2.0}, "beta and objective were given together"),
        (
            {"objective": lambda v, b, s, n: None},
            "itself an objective takes first vae, batch, step, noise",
        ),
        ({"factors": np.zeros((4, 2), int)}, r"vs\.load_dataset\(data, factors=labels\)"),
    ],
)
def test_settings_that_would_be_lost_or_misread_are_explained(
    tmp_path: Path, settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        vs.train("beta-vae", "synth-linear", latent=2, steps=2, out=tmp_path, **settings)
