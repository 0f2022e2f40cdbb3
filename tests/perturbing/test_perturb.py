"""Perturbed data: within epsilon, same factors, resumed to the same bytes, and its controls."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import vaescope as vs
from vaescope.data import Dataset
from vaescope.data.perturbed import load_perturbed
from vaescope.errors import DataError, Interrupted, UsageError
from vaescope.perturbing import PerturbSettings
from vaescope.perturbing.network import inputs_of, make_network, moved, reflected
from vaescope.perturbing.perturb import perturb_dataset
from vaescope.perturbing.pool import PoolModel, select
from vaescope.perturbing.training import Adversaries, Trace, train_network

ARCS = {name: [0, 4, 4] for name in ("floor_hue", "wall_hue", "object_hue")}
GRID = {"scale": [4], "shape": [0], "orientation": [7]}
#: Two short restarts and a few steps of m: nothing is learnt, all parts run.
QUICK: dict[str, Any] = {
    "pool": 2, "least_contrast": 0.0, "filtered": False, "steps": 4,
    "training": {"steps": 6, "net": {"name": "mlp", "encoder": [8], "decoder": [8]}},
}  # fmt: skip


@pytest.fixture(scope="module")
def rooms() -> Dataset:
    return vs.load_dataset("shapes3d-rendered", size=16, grid=GRID, arcs=ARCS)


def chosen(**others: Any) -> PerturbSettings:
    plain = {"epsilon": 0.175, "pool": 2, "least_contrast": 0.0, "filtered": False, "steps": 4}
    return PerturbSettings(**{**plain, **others})


def test_data_with_one_factor_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"two factors that vary.*digits has 1 \(class\)"):
        vs.perturb("digits", out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_images_stay_within_epsilon_and_keep_their_factors(rooms: Dataset, tmp_path: Path) -> None:
    found = vs.perturb(rooms, out=tmp_path, **QUICK)
    every = np.arange(len(rooms))
    change = found.data.rows(every).astype(np.float64) - rooms.rows(every)
    assert 0.0 < np.abs(change).max() <= 0.175
    assert found.largest == pytest.approx(np.abs(change).max())
    assert found.rms == pytest.approx(np.sqrt((change**2).mean()))
    assert found.data.factors is not None and rooms.factors is not None
    assert found.data.factors.names == rooms.factors.names and found.data.factors.complete
    np.testing.assert_allclose(found.data.factors.values[0], rooms.factors.values[0])
    assert found.data.name == "shapes3d-rendered, perturbed"
    page = (tmp_path / "preview.html").read_text()
    assert "magnified" in page and "0.175" in page
    with np.load(found.path) as arrays:
        facts = json.loads(str(arrays["facts"]))
    assert facts["selection"]["pool"][1]["seed"] == 1
    # The same call returns what is there; another one is refused there.
    before = found.path.read_bytes()
    assert vs.perturb(rooms, out=tmp_path, **QUICK).path.read_bytes() == before
    with pytest.raises(UsageError, match="other settings"):
        vs.perturb(rooms, out=tmp_path, **{**QUICK, "steps": 5})
    linear = {"net": {"name": "linear"}, "latent": 2, "batch": 8, "steps": 2}
    run = vs.train("vae", found.data, out=tmp_path, **linear)
    assert run.open().data.name == "perturbed"
    assert vs.encode(run).factors is not None


@pytest.mark.slow
def test_a_perturbation_that_is_stopped_is_resumed_to_the_same_bytes(
    rooms: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaescope.perturbing.training.RECORD", 1)  # rows of the trace resume too
    training = QUICK["training"]
    whole = perturb_dataset(rooms, chosen(), tmp_path / "whole", training)
    for after in (3, 9, 0):  # in the pool, and twice in the training of m
        calls = iter(range(10_000))
        with pytest.raises(Interrupted):
            perturb_dataset(
                rooms, chosen(), tmp_path / "cut", training,
                stop=lambda calls=calls, after=after: 15 if next(calls) >= after else 0,
            )  # fmt: skip
    again = perturb_dataset(rooms, chosen(), tmp_path / "cut", training)
    for name in ("perturbed.npz", "card.json", "preview.html", "selection.json"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert again.to_dict()["max"] == whole.to_dict()["max"]


def test_data_without_factors_are_refused_with_the_reason(tmp_path: Path) -> None:
    images = np.random.default_rng(0).uniform(size=(20, 1, 8, 8)).astype(np.float32)
    with pytest.raises(UsageError, match="has no factors, but the perturbation is a function"):
        vs.perturb(images, out=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_reflection_is_the_printed_formula() -> None:
    y = torch.tensor([-0.2, 0.0, 0.3, 1.0, 1.15])
    torch.testing.assert_close(reflected(y), torch.tensor([0.2, 0.0, 0.3, 1.0, 0.85]))
    x = torch.rand(1000, generator=torch.Generator().manual_seed(0))
    change = torch.where(torch.arange(1000) % 2 == 0, 1.0, -1.0)
    for epsilon in (1e-3, 0.175, 1.0):
        found = moved(x, change, epsilon)
        assert (found.double() - x.double()).abs().max() <= epsilon
        assert found.min() >= 0.0 and found.max() <= 1.0


def test_the_number_behind_the_neuron_is_affine_in_the_factors(rooms: Dataset) -> None:
    w = inputs_of(rooms, chosen())
    assert w.shape == (64, 3) and w.min() == -1.0 and w.max() == 1.0
    network = make_network(3, rooms.shape, chosen())
    a, b = torch.from_numpy(w[:1]), torch.from_numpy(w[-1:])
    middle = network.neuron(0.5 * a + 0.5 * b)
    torch.testing.assert_close(middle, 0.5 * network.neuron(a) + 0.5 * network.neuron(b))
    bent = make_network(3, rooms.shape, chosen(hidden=8)).neuron
    assert not torch.allclose(bent(0.5 * a + 0.5 * b), 0.5 * bent(a) + 0.5 * bent(b))
    # At 64 pixels it is the study's decoder with one latent.
    large = make_network(3, (3, 64, 64), chosen())
    widths = [part.out_features for part in large.modules() if isinstance(part, torch.nn.Linear)]
    assert widths == [1, 256, 1024] and large(a).shape == (1, 3, 64, 64)


def test_controls_change_what_the_network_sees(rooms: Dataset) -> None:
    plain = inputs_of(rooms, chosen())
    alone = inputs_of(rooms, chosen(kind="one-factor", factor="wall_hue"))
    np.testing.assert_array_equal(alone, plain[:, 1:2])
    orders = [inputs_of(rooms, chosen(kind="relabelled", seed=seed)) for seed in range(4)]
    assert any(not np.array_equal(order, plain) for order in orders)
    for order in orders:  # the same levels, one for one
        for k in range(3):
            pairs = {(a, b) for a, b in zip(plain[:, k], order[:, k], strict=True)}
            assert len(pairs) == 4
    with pytest.raises(UsageError, match="There is no factor"):
        inputs_of(rooms, chosen(kind="one-factor", factor="colour"))


def test_an_untrained_network_is_brought_to_the_size_asked_for(
    rooms: Dataset, tmp_path: Path
) -> None:
    found = perturb_dataset(rooms, chosen(kind="untrained", rms=0.05), tmp_path, {})
    assert found.rms == pytest.approx(0.05, rel=1e-3) and found.largest <= 0.175
    assert found.selection is None and not (tmp_path / "pool").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["perturbed", "reversed"])
def test_the_network_moves_the_difference_of_distortions_the_way_it_is_asked(
    kind: Any, rooms: Dataset, tmp_path: Path
) -> None:
    """With decoders that do not learn, ent - dis falls; with the reversed objective it rises."""
    from vaescope.build import build_vae
    from vaescope.settings import from_command_line
    from vaescope.vae import as_input

    settings = chosen(kind=kind, steps=40, lr=1e-2, decoder_batches=1)
    spec = ["data.name=shapes3d-rendered", "data.size=16", "net.name=linear", "latent=3"]
    one, two = (build_vae(from_command_line("vae", [*spec, f"seed={s}"])) for s in (0, 1))
    x = as_input(rooms.rows(np.arange(64)), torch.device("cpu"))
    adversaries = Adversaries.of([one], [two], x)
    for parameter in adversaries.decoders.parameters():
        parameter.requires_grad_(False)
    inputs = inputs_of(rooms, settings)
    network = make_network(3, rooms.shape, settings)
    noise = torch.randn(2, 5, 64, 3, generator=torch.Generator().manual_seed(0))

    def gap() -> float:
        with torch.no_grad():
            images = moved(x, network(torch.from_numpy(inputs)), 0.175)
            entangled, disentangled = adversaries.losses(np.arange(64), images, noise)
        return float(entangled - disentangled)

    before = gap()
    import vaescope.perturbing.training as module

    kept, module._update = module._update, lambda o, loss: loss.requires_grad and kept(o, loss)  # type: ignore[assignment, func-returns-value]
    try:
        for _ in train_network(
            network, adversaries, rooms, inputs, settings, state=tmp_path / "state", key="",
            stop=lambda: 0, trace=Trace(),
        ):  # fmt: skip
            pass
    finally:
        module._update = kept
    assert (gap() - before) * (1.0 if kind == "reversed" else -1.0) > 0.5


def pool_of(*scores: tuple[float, int]) -> list[PoolModel]:
    return [PoolModel(str(k), k, score, used) for k, (score, used) in enumerate(scores)]


def test_the_best_and_the_worst_are_taken_and_a_pool_without_contrast_is_refused() -> None:
    pool = pool_of((0.3, 3), (0.9, 3), (0.1, 2), (0.5, 3), (0.8, 3))
    settings = chosen(filtered=True, least_contrast=0.2, pool=5)
    found = select(pool, 3, settings)
    assert [m.seed for m in found.entangled + found.disentangled] == [0, 1]  # 2 is over-pruned
    everything = select(pool, 3, chosen(least_contrast=0.2, pool=5))
    assert everything.entangled[0].seed == 2
    both = select(pool, 3, chosen(filtered=True, least_contrast=0.2, pool=5, ensemble=2))
    assert both.contrast == pytest.approx(0.8 - 0.5)
    with pytest.raises(UsageError, match=r"differ by 0\.60; wanted 0\.7"):
        select(pool, 3, chosen(filtered=True, least_contrast=0.7, pool=5))
    with pytest.raises(UsageError, match="fewer than 4 latents"):
        select(pool, 4, settings)


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0.0}, {"epsilon": 1.5}, {"pool": 1}, {"kind": "other"}, {"factor": "wall_hue"},
     {"kind": "one-factor"}, {"rms": 0.1}, {"kind": "untrained", "rms": 0.2}, {"lr": 0.0}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        chosen(**wrong)


def test_a_file_that_is_not_one_of_ours_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    np.savez(path, images=np.zeros((2, 1, 4, 4), np.float32))
    with pytest.raises(DataError, match="lacks"):
        load_perturbed(path)
    with pytest.raises(DataError, match="no file"):
        load_perturbed(tmp_path / "absent.npz")
