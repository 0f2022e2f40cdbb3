"""Conditional models of others: pruned and exported with their condition, and labels that a model
may be given and was trained without."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from tests.adapters.corpus.style import digits, labels
from torch import Tensor, nn
from torch.nn import functional as F

import vaescope as vs
from vaescope.errors import UsageError

D, DEAD = 4, 1


class Labelled(nn.Module):
    """Labels as numbers, which encoder and decoder may be given; one latent is passive."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.mean, self.logvar = nn.Linear(74, 32), nn.Linear(32, D), nn.Linear(32, D)
        self.back = nn.Sequential(nn.Linear(D + 10, 32), nn.ReLU(), nn.Linear(32, 64))
        with torch.no_grad():
            self.logvar.weight.zero_()
            self.logvar.bias.fill_(-4.0)
            self.logvar.bias[DEAD] = self.mean.bias[DEAD] = 0.0
            self.mean.weight[DEAD] = 0.0
            self.mean.weight[:] *= 5.0

    def _hot(self, x: Tensor, y: Tensor | None) -> Tensor:
        return torch.zeros(len(x), 10) if y is None else F.one_hot(y, 10).float()

    def encode(self, x: Tensor, y: Tensor | None = None) -> tuple[Tensor, Tensor]:
        h = torch.relu(self.body(torch.cat([x.flatten(1), self._hot(x, y)], 1)))
        return self.mean(h), self.logvar(h)

    def reparameterize(self, mean: Tensor, logvar: Tensor) -> Tensor:
        return mean + torch.randn_like(mean) * (0.5 * logvar).exp()

    def decode(self, z: Tensor, y: Tensor | None = None) -> Tensor:
        both = torch.cat([z, self._hot(z, y)], 1)
        return torch.sigmoid(self.back(both)).view(-1, 1, 8, 8)

    def forward(self, x: Tensor, y: Tensor | None = None) -> Any:
        mean, logvar = self.encode(x, y)
        return self.decode(self.reparameterize(mean, logvar), y), mean, logvar


@pytest.fixture
def model() -> Labelled:
    torch.manual_seed(0)
    return Labelled().eval()


def test_a_pruned_model_takes_the_condition_that_it_was_pruned_with(model: Labelled) -> None:
    x, y = digits(), labels()
    found = vs.prune(model, x, condition=y)
    assert found.dropped == (DEAD,)
    small = found.model
    kept = [latent for latent in range(D) if latent != DEAD]
    few = slice(0, 7)  # not all ten classes are among these
    with torch.no_grad():
        torch.testing.assert_close(
            small.encode(x[few], y[few]).mean, model.encode(x[few], y[few])[0][:, kept]
        )
        mean, _ = model.encode(x, y)
        ours = small.decode(mean[:, kept], y)
        torch.testing.assert_close(ours.reshape(-1, 64), model.decode(mean, y).reshape(-1, 64))
        again = copy.deepcopy(small)
        torch.testing.assert_close(again.decode(mean[:, kept], y), ours)
    with pytest.raises(UsageError, match="needs its condition"):
        small.encode(x[few])


def test_labels_that_a_model_was_trained_without_are_not_asked_about_again(
    model: Labelled,
) -> None:
    def asked(condition: Any) -> bool:
        opened = vs.open_model(model, digits(), condition=condition)
        return any(one.what == "condition" and one.read == "uncertain" for one in opened.inferred)

    assert asked(None)
    assert not asked(False)
    pruned = vs.prune(model, digits(), condition=False).model
    torch.testing.assert_close(
        pruned.encode(digits()[:3]).mean[:, 0], model.encode(digits()[:3])[0][:, 0]
    )


def test_both_files_take_the_condition(model: Labelled, tmp_path: Any) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from vaescope.exporting import export_onnx

    found = export_onnx(model, tmp_path, digits(), condition=labels().numpy())
    assert found.inputs == {"encoder": ("x", "u"), "decoder": ("z", "u")}
    session = runtime.InferenceSession(found.decoder.read_bytes())
    z = np.zeros((3, D), np.float32)
    u = np.array([[1.0], [2.0], [3.0]], np.float32)
    (got,) = session.run(None, {"z": z, "u": u})
    with torch.no_grad():
        wanted = model.decode(torch.zeros(3, D), torch.tensor([1, 2, 3]))
    np.testing.assert_allclose(got, wanted.numpy(), atol=1e-5)
