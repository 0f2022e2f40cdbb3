"""Runs through the Hugging Face layout and back: the same bits, or an error that names the file."""

import hashlib
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import vaescope as vs
from vaescope.build import build_vae
from vaescope.data.in_memory import from_arrays
from vaescope.encoding import load_vae
from vaescope.errors import RunError, ShapeError, UsageError, VaescopeError
from vaescope.exporting.hub import publish
from vaescope.presets import PRESETS
from vaescope.runs import Run
from vaescope.sealing import seal_document
from vaescope.settings import from_command_line
from vaescope.specs import ConditionalPriorSpec, Experiment, resolve
from vaescope.training.checkpoint import weights_bytes
from vaescope.vae import NoDecoder

VECTORS = ("data.name=ica-segments", "data.segments=4", "data.per_segment=40", "net.name=mlp",
           "net.encoder=[8]", "net.decoder=[8]", "latent=3", "batch=16", "steps=4")  # fmt: skip
#: Every preset, and what no preset has.
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    **{name: (name, ()) for name in PRESETS},
    "linear": ("vae", ("data.name=synth-linear", "latent=2")),
    "full covariance": ("demo", ("posterior.name=full",)),
    "isotropic": ("demo", ("posterior.name=isotropic",)),
    "learned scale": ("demo", ("likelihood.name=gaussian", "likelihood.learned=true")),
    "learned shares": ("demo", ("prior.name=anisotropic", "prior.learned=true")),
    "learned mean of u": ("ivae", ("prior.learned_mean=true",)),
    "dcgan of 64": ("demo", ("data.size=64", "net.name=dcgan", "net.base=4")),
    **{f"layout {name}": ("vae", (f"net.layout={name}", "net.name=conv"))
       for name in ("rolinek", "klindt", "bhowal")},
}  # fmt: skip


def run_of(folder: Path, spec: Experiment) -> Run:
    """A finished run whose every weight, buffers too, is unlike what a fresh model has."""
    vae = build_vae(spec)
    generator = torch.Generator().manual_seed(1)
    changed = {
        name: value.nan_to_num() + 0.01 * torch.randn(value.shape, generator=generator)
        if value.is_floating_point()
        else value + 3
        for name, value in vae.state_dict().items()
    }
    vae.load_state_dict(changed)
    run = Run.of(spec, "hand", folder)
    run.create(spec)
    run.weights.write_bytes(weights_bytes(vae))
    run.finish({})
    return run


@pytest.fixture
def small(tmp_path: Path) -> Run:
    return run_of(tmp_path, from_command_line("vae", VECTORS))


def test_data_of_another_shape_are_refused_by_all_that_take_a_run(
    small: Run, tmp_path: Path
) -> None:
    other = np.zeros((20, 4), np.float32)
    for use in (
        lambda: vs.encode(small, other),
        lambda: vs.save_pretrained(small, tmp_path / "hf", other),
        lambda: vs.export_onnx(small, tmp_path / "onnx", other),
        lambda: vs.prune(small, other, out=tmp_path / "pruned"),
    ):
        with pytest.raises(ShapeError, match=r"shape \(4,\); this run was trained on .* \(5,\)"):
            use()
    assert sorted(path.name for path in tmp_path.iterdir()) == [small.path.name]


@pytest.fixture
def folder(small: Run, tmp_path: Path) -> Path:
    return publish(small, tmp_path / "hf", "# card\n").folder


def moments(run: Run, x: torch.Tensor, u: torch.Tensor | None) -> list[torch.Tensor]:
    """What a model makes of x, by all its networks."""
    vae = load_vae(run)
    with torch.no_grad():
        q, p = vae.encoder(x, u), vae.prior(u)
        if isinstance(vae.decoder, NoDecoder):  # contrastive learning trains an encoder alone
            return [q.mean, q.variance, p.mean, p.variance]
        output = vae.decoder(q.mean)
        return [q.mean, q.variance, p.mean, p.variance, output.mean, output.log_prob(x)]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_model_comes_back_bit_by_bit(case: str, tmp_path: Path) -> None:
    spec = resolve(from_command_line(CASES[case][0], CASES[case][1]))
    run = run_of(tmp_path, spec)
    loaded = vs.load_pretrained(publish(run, tmp_path / "hf", "# card\n").folder)
    assert loaded.weights.read_bytes() == run.weights.read_bytes()
    assert loaded.open() == spec
    generator = torch.Generator().manual_seed(2)
    x = torch.rand(3, *spec.data.shape, generator=generator)
    sees_u = isinstance(spec.prior, ConditionalPriorSpec)
    u = torch.rand(3, spec.prior.width, generator=generator) if sees_u else None
    before, after = moments(run, x, u), moments(loaded, x, u)
    assert all(value.isfinite().all() for value in before[:2])
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.slow
def test_what_takes_a_run_takes_a_loaded_one(tmp_path: Path) -> None:
    data = vs.load_dataset("ica-segments", segments=4, per_segment=40)
    run = vs.train("vae", data, out=tmp_path, latent=3, batch=16, steps=4)
    saved = vs.save_pretrained(run, tmp_path / "hf")
    loaded = vs.load_pretrained(saved.folder)
    ours, theirs = vs.encode(run), vs.encode(loaded)
    for name in ("mean", "variance", "sample", "factors"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    found, again = (vs.inspect(one, effort="fast") for one in (run, loaded))
    assert again.to_dict() == found.to_dict()
    assert again.training is not None and found.training is not None
    np.testing.assert_array_equal(again.training.loss, found.training.loss)
    assert again.settings == found.settings


@pytest.mark.slow
def test_a_pruned_run_is_published_as_any_other(tmp_path: Path) -> None:
    run = run_of(tmp_path, from_command_line("vae", VECTORS))
    vae = load_vae(run)
    with torch.no_grad():  # latent 1 is the prior whatever x is
        vae.encoder.posterior.head.weight[[1, 4]] = 0.0
        vae.encoder.posterior.head.bias[[1, 4]] = 0.0
        vae.encoder.posterior.head.bias[[3, 5]] = -5.0
    run.weights.write_bytes(weights_bytes(vae))
    loaded = vs.load_pretrained(publish(run, tmp_path / "hf", "").folder)
    result = vs.prune(loaded, out=tmp_path / "pruned")
    assert result.dropped == (1,)
    again = vs.load_pretrained(vs.save_pretrained(result.model, tmp_path / "hf-pruned").folder)
    assert again.open().pruned == result.model.open().pruned is not None
    np.testing.assert_array_equal(vs.encode(again).mean, vs.encode(result.model).mean)
    assert "Pruned from the run" in again.card.read_text()


@pytest.mark.slow
def test_saving_what_was_loaded_writes_the_same_bytes(small: Run, tmp_path: Path) -> None:
    one = vs.save_pretrained(small, tmp_path / "one")
    two = vs.save_pretrained(vs.load_pretrained(one.folder), tmp_path / "two")
    again = vs.save_pretrained(small, tmp_path / "one")
    for saved in (two, again):
        assert saved.files == one.files
        assert all(
            (saved.folder / name).read_bytes() == (one.folder / name).read_bytes()
            for name in ("config.json", "model.safetensors", "README.md")
        )


@pytest.mark.slow
def test_nothing_of_the_machine_is_in_the_files(small: Run, tmp_path: Path) -> None:
    saved = vs.save_pretrained(small, tmp_path / "hf")
    for name in saved.files:
        content = (saved.folder / name).read_bytes()
        assert str(tmp_path).encode() not in content
        assert str(Path.home()).encode() + b"/" not in content


def write_config(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    # Sealed again: what is hostile may have a right seal.
    (folder / "config.json").write_text(json.dumps(seal_document(config | changes)))


def cut(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-7])


def flip(folder: Path) -> None:
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)


def other_setting(folder: Path) -> None:
    experiment = json.loads((folder / "config.json").read_text())["experiment"]
    write_config(folder, experiment=experiment | {"seed": 77})


def unknown_setting(folder: Path) -> None:
    experiment = json.loads((folder / "config.json").read_text())["experiment"]
    write_config(folder, experiment=experiment | {"trust_remote_code": True})


def foreign(folder: Path) -> None:
    (folder / "config.json").write_text('{"_class_name": "AutoencoderKL", "latent_channels": 4}')


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (cut, r"model\.safetensors is damaged"),
        (flip, r"model\.safetensors is damaged"),
        (other_setting, r"config\.json is damaged or was changed"),
        (unknown_setting, r"config\.json cannot be read: There is no setting trust_remote_code"),
        (foreign, r"config\.json was not written by vaescope.*other libraries"),
        (lambda folder: (folder / "config.json").write_text("{"), r"config\.json is not JSON"),
        (lambda folder: (folder / "config.json").write_text("[]"), r"config\.json was not written"),
        (lambda folder: write_config(folder, format=2), r"has format 2; this vaescope reads up to"),
        (lambda folder: write_config(folder, format="x"), r"has format x"),
        (lambda folder: (folder / "model.safetensors").unlink(), r"has no model\.safetensors"),
        (lambda folder: (folder / "config.json").unlink(), r"wanted config\.json; it has README"),
    ],
)
def test_what_is_damaged_or_foreign_is_refused_by_name(
    damage: Callable[[Path], Any], says: str, folder: Path
) -> None:
    vs.load_pretrained(folder)
    damage(folder)
    with pytest.raises(RunError, match=says):
        vs.load_pretrained(folder)


class Trap:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_no_pickle_is_ever_run(name: str, folder: Path, tmp_path: Path) -> None:
    content = pickle.dumps(Trap(tmp_path / "ran"))
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(content)
    write_config(folder, weights_sha256=hashlib.sha256(content).hexdigest())
    with pytest.raises(VaescopeError, match=r"model\.safetensors"):
        vs.load_pretrained(folder)
    assert not (tmp_path / "ran").exists()


def test_weights_of_other_shapes_are_refused(folder: Path, tmp_path: Path) -> None:
    wider = run_of(tmp_path, from_command_line("vae", [*VECTORS, "net.encoder=[9]"]))
    content = wider.weights.read_bytes()
    (folder / "model.safetensors").write_bytes(content)
    write_config(folder, weights_sha256=hashlib.sha256(content).hexdigest())
    with pytest.raises(RunError, match=r"model\.safetensors holds .* do not fit"):
        vs.load_pretrained(folder)


def test_nothing_is_written_over_another_model_or_a_run(small: Run, tmp_path: Path) -> None:
    other = run_of(tmp_path, from_command_line("vae", [*VECTORS, "seed=5"]))
    publish(other, tmp_path / "other", "")
    with pytest.raises(RunError, match="a different model"):
        publish(small, tmp_path / "other", "")
    with pytest.raises(RunError, match="is a run folder"):
        publish(small, other.path, "")
    with pytest.raises(RunError, match="published model"):
        Run(tmp_path / "other").create(small.open())
    foreign_folder = tmp_path / "theirs"
    foreign_folder.mkdir()
    foreign(foreign_folder)
    with pytest.raises(RunError, match="was not written by vaescope"):
        publish(small, foreign_folder, "")


def test_only_finished_runs_are_saved(tmp_path: Path) -> None:
    spec = from_command_line("vae", VECTORS)
    run = Run(tmp_path / "begun")
    run.create(spec)
    with pytest.raises(RunError, match="not finished"):
        vs.save_pretrained(run, tmp_path / "hf")
    assert not (tmp_path / "hf").exists()
    with pytest.raises(UsageError, match="takes a run; got Linear"):
        vs.save_pretrained(torch.nn.Linear(2, 2), tmp_path / "hf")
    with pytest.raises(RunError, match="empty or missing"):
        vs.load_pretrained(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"spec\.json is a run already"):
        vs.load_pretrained(run.path)


def test_results_of_another_run_do_not_get_on_the_card(small: Run, tmp_path: Path) -> None:
    other = run_of(tmp_path, from_command_line("vae", [*VECTORS, "seed=5"]))
    found = vs.inspect(other, effort="fast", images=False)
    with pytest.raises(UsageError, match="not hand-s0"):
        vs.save_pretrained(small, tmp_path / "hf", inspection=found)
    vs.save_pretrained(other, tmp_path / "hf", inspection=found)


def test_a_run_on_own_arrays_needs_them_for_its_card(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    run = vs.train("vae", rows, out=tmp_path, steps=2, latent=2, batch=16)
    with pytest.raises(UsageError, match="your own array"):
        vs.save_pretrained(run, tmp_path / "hf")
    saved = vs.save_pretrained(run, tmp_path / "hf", rows, licence="mit")
    card = saved.run.card.read_text()
    assert "license: mit" in card and "Its owner determines licence" in card
    data = from_arrays(rows)
    loaded = vs.load_pretrained(saved.folder)
    np.testing.assert_array_equal(vs.encode(loaded, data).mean, vs.encode(run, data).mean)
