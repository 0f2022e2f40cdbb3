"""ONNX files give in onnxruntime what torch gives, for batches of any size."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from tests.adapters.pretrained import PASSIVE, rebuilt, sprites
from tests.exporting.test_hub import VECTORS, run_of
from torch import Tensor, nn
from torch.distributions import Distribution, Independent, Normal

import vaescope as vs
from vaescope.build import build_auxiliary, build_data
from vaescope.encoding import load_vae
from vaescope.errors import ExportError, UsageError
from vaescope.exporting import OnnxExport
from vaescope.settings import from_command_line

SIZES = (1, 3, 65)


def ran(file: Path, **inputs: Tensor) -> list[Tensor]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    return [
        torch.from_numpy(value)
        for value in session.run(None, {name: x.numpy() for name, x in inputs.items()})
    ]


def near(got: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


#: What layers, posteriors and likelihoods have that the others have not.
RUNS = {
    "convolutions": ("demo", ()),
    "u and full covariance": ("ivae", ("data.per_segment=10",)),
    "batch norm and laplace": ("demo", ("net.name=dcgan", "net.base=4", "prior.name=sparse",
                                        "likelihood.name=laplace", "posterior.name=isotropic")),
    "a scale for each value": ("pinwheel", ()),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", RUNS)
def test_the_files_of_a_run_equal_torch_at_any_batch_size(case: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, from_command_line(RUNS[case][0], RUNS[case][1]))
    made = vs.export_onnx(run, tmp_path / "onnx")
    spec = run.open()
    data = build_data(spec.data)
    vae, auxiliary = load_vae(run), build_auxiliary(spec, data)
    for size in SIZES:
        rows = np.arange(size) * 3
        x = torch.from_numpy(data.rows(rows))
        u = None if auxiliary is None else torch.from_numpy(auxiliary(rows))
        with torch.no_grad():
            q = vae.encoder(x, u)
            image = vae.decoder(q.mean).mean
        beside = {} if u is None else {"u": u}
        mean, variance, *covariance = ran(made.encoder, x=x, **beside)
        near(mean, q.mean)
        near(variance, q.variance)
        if spec.posterior.name == "full":
            near(covariance[0], q.covariance)
        else:
            assert not covariance
        near(ran(made.decoder, z=q.mean)[0], image)
    nothing_private(made)


def nothing_private(made: OnnxExport) -> None:
    for file in (made.encoder, made.decoder):
        content = file.read_bytes()
        for place in (Path(__file__).parents[2], Path(torch.__file__).parent, Path.home()):
            assert f"{place}/".encode() not in content


class Small(nn.Module):
    """Somebody's autoencoder of vectors; `decode` can be made to misbehave."""

    def __init__(self, decoded: Callable[[Tensor], Tensor] = lambda y: y) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(4, 6), nn.Linear(3, 4)
        self.drop = nn.Dropout(0.5)
        self.decoded = decoded

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_variance = self.drop(self.down(x)).chunk(2, 1)
        return mean, log_variance

    def decode(self, z: Tensor) -> Tensor:
        return self.decoded(self.up(z))


def exported(model: Any, folder: Path, **others: Any) -> OnnxExport:
    rows = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
    return vs.export_onnx(model, folder, rows, posterior="pair,logvar", **others)


@pytest.mark.slow
def test_a_module_of_somebody_else_is_exported_without_its_dropout(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Small()
    made = exported(model, tmp_path / "onnx")
    assert model.training and model.drop.training
    assert made.outputs == {"encoder": ("mean", "variance"), "decoder": ("mean",)}
    assert {check.on for check in made.checks} == {"data", "codes", "prior draws"}
    assert all(check.batches == (1, 2, 65, 100) for check in made.checks)
    assert all(check.rounding is not None for check in made.checks)
    assert made.largest_difference < 1e-6 and "equal torch to" in made.summary()
    model.eval()
    x = torch.randn(7, 4)
    mean, variance = ran(made.encoder, x=x)
    near(mean, model.encode(x)[0].detach())
    near(variance, model.encode(x)[1].detach().exp())


@pytest.mark.slow
@pytest.mark.parametrize(
    "decoded",
    [lambda y: Normal(y, 0.3), lambda y: Independent(Normal(y, y.exp()), 1)],
    ids=["normal", "independent"],
)
def test_a_decoder_that_returns_a_distribution_is_exported_by_its_mean(
    decoded: Callable[[Tensor], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Importing Pyro, as other tests of one process may, switches checks of values off for all.
    monkeypatch.setattr(Distribution, "_validate_args", True)
    torch.manual_seed(0)
    model = Small(decoded)
    made = exported(model, tmp_path / "onnx")
    model.eval()
    z = torch.randn(7, 3)
    near(ran(made.decoder, z=z)[0], model.up(z).detach())
    with pytest.raises(ValueError, match="constraint"):  # checks of values are on again
        Normal(torch.zeros(1), -torch.ones(1))


def wrong_when_exported(y: Tensor) -> Tensor:
    return y + 1e-3 if torch.compiler.is_exporting() else y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decoded", "says"),
    [
        (wrong_when_exported, r"decoder\.onnx differs from torch by \S+ on codes"),
        (lambda y: y if float(y.sum()) > -1e9 else -y, "cannot follow the decoder"),
        (lambda y: y + torch.zeros(int(y.shape[0]), 1), "cannot follow the decoder"),
    ],
    ids=["differs", "branches on values", "fixes the batch"],
)
def test_what_would_not_be_the_same_model_is_not_written(
    decoded: Callable[[Tensor], Tensor], says: str, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    with pytest.raises(ExportError, match=says):
        exported(Small(decoded), tmp_path / "onnx")
    assert not (tmp_path / "onnx").exists()


@pytest.mark.slow
def test_a_pruned_model_of_somebody_else_is_exported_as_any_other(
    tmp_path: Path, shared_data: Callable[[str], Path]
) -> None:
    images = sprites(300)
    pruned = vs.prune(rebuilt("betaB_dsprites", shared_data), images)
    assert pruned.dropped == tuple(PASSIVE["betaB_dsprites"])
    made = vs.export_onnx(pruned.model, tmp_path / "onnx", images)
    assert made.largest_difference <= 1e-5
    with torch.no_grad():
        codes = pruned.model.encode(images[:65]).mean
        image = pruned.model.decode(codes)
    assert codes.shape == (65, 4)
    near(ran(made.encoder, x=images[:65])[0], codes)
    near(ran(made.decoder, z=codes)[0], image)
    near(ran(made.decoder, z=codes[:1])[0], image[:1])


@pytest.mark.parametrize("missing", ["onnx", "onnxscript", "onnxruntime"])
def test_without_the_extra_it_says_what_to_install(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match=rf"needs {missing}.*pip install 'vaescope\[onnx\]'"):
        vs.export_onnx(tmp_path, tmp_path / "onnx")


def test_a_run_and_a_model_need_what_they_need(tmp_path: Path) -> None:
    run = run_of(tmp_path, from_command_line("vae", VECTORS))
    with pytest.raises(UsageError, match="meaning of outputs is known"):
        vs.export_onnx(run, tmp_path / "onnx", output="logits")
    with pytest.raises(UsageError, match="Only a run records its data"):
        vs.export_onnx(Small(), tmp_path / "onnx")


def command(*arguments: str | Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "vaescope", *map(str, arguments), "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    content: dict[str, Any] = json.loads(done.stdout)
    return content | {"code": done.returncode}


@pytest.mark.slow
def test_the_command_writes_both_layouts_and_nothing_else_on_stdout(tmp_path: Path) -> None:
    run = run_of(tmp_path, from_command_line("vae", VECTORS))
    saved = command("export", run.path, "--to", "hf", "--out", tmp_path / "hf")
    assert (saved["code"], saved["to"], saved["folder"]) == (0, "hf", str(tmp_path / "hf"))
    assert set(saved["files"]) == {"README.md", "config.json", "model.safetensors"}
    made = command("export", tmp_path / "hf", "--to", "onnx", "--out", tmp_path / "onnx")
    assert made.keys() == {
        "to", "folder", "encoder", "decoder", "inputs", "outputs", "largest_difference",
        "prior_difference", "tolerance", "checks", "code",
    }  # fmt: skip
    assert (made["code"], made["inputs"]) == (0, {"encoder": ["x"], "decoder": ["z"]})
    assert made["largest_difference"] <= made["tolerance"] == 1e-5
    assert Path(made["encoder"]).exists() and Path(made["decoder"]).exists()
    wrong = command("export", run.path, "--to", "hf", "--out", tmp_path, "--model", "a:b")
    assert (wrong["code"], wrong["error"]["type"]) == (2, "UsageError")
