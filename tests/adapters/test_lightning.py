"""Lightning's modules in the usual styles, trained by a real `Trainer`, against their own heads."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import vaescope as vs
from vaescope.errors import ReadingError

L = pytest.importorskip("lightning", reason="the extra lightning is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning has many about short trainings


def body() -> nn.Sequential:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU())


def generator(*end: nn.Module) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 64), *end, nn.Unflatten(1, (1, 8, 8))
    )


def rate(mean: Tensor, logvar: Tensor) -> Tensor:
    return 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum(1).mean()


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.mu, self.logvar = body(), nn.Linear(32, 4), nn.Linear(32, 4)
        self.generator = generator()

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.body(x)
        return self.mu(hidden), self.logvar(hidden)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, logvar = self.heads(x)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        return self.generator(z), mean, logvar


class Base(L.LightningModule):  # type: ignore[misc, name-defined]
    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-2)


class Wrapper(Base):
    """Holds a plain module; the step has binary cross-entropy of logits."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Plain()

    def forward(self, x: Tensor) -> Any:
        return self.model(x)

    def training_step(self, batch: Any, _: int) -> Tensor:
        x, _labels = batch
        y, mean, logvar = self(x)
        lost = F.binary_cross_entropy_with_logits(y, x, reduction="sum") / len(x)
        self.log("loss", lost)
        return lost + rate(mean, logvar)

    def truth(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.model.heads(x)
        return mean, logvar.exp()


class Distributions(Base):
    """As in lightning-bolts: forward gives the reconstruction, the step draws by rsample."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.fc_mu, self.fc_var = body(), nn.Linear(32, 4), nn.Linear(32, 4)
        self.decoder = generator()

    def sample(self, mu: Tensor, log_var: Tensor) -> tuple[Any, Any, Tensor]:
        p = torch.distributions.Normal(torch.zeros_like(mu), torch.ones_like(mu))
        q = torch.distributions.Normal(mu, torch.exp(log_var / 2))
        return p, q, q.rsample()

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.encoder(x)
        return self.decoder(self.sample(self.fc_mu(hidden), self.fc_var(hidden))[2])

    def training_step(self, batch: Any, _: int) -> Tensor:
        x, _labels = batch
        hidden = self.encoder(x)
        p, q, z = self.sample(self.fc_mu(hidden), self.fc_var(hidden))
        lost = F.mse_loss(self.decoder(z), x, reduction="mean")
        kl = torch.distributions.kl_divergence(q, p).mean()
        self.log_dict({"lost": lost, "kl": kl}, on_step=True)
        return lost + 0.1 * kl

    def truth(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.encoder(x)
        return self.fc_mu(hidden), self.fc_var(hidden).exp()


class ForwardIsLoss(Base):
    """forward takes the batch and returns the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.heads, self.generator = body(), nn.Linear(32, 8), generator(nn.Sigmoid())

    def forward(self, batch: Any) -> Tensor:
        x = batch[0]
        mean, logvar = self.heads(self.body(x)).chunk(2, 1)
        y = self.generator(mean + torch.randn_like(mean) * (0.5 * logvar).exp())
        return F.binary_cross_entropy(y, x, reduction="sum") / len(x) + rate(mean, logvar)

    def training_step(self, batch: Any, _: int) -> Tensor:
        loss: Tensor = self(batch)
        self.log("loss", loss, prog_bar=True)
        return loss

    def truth(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.heads(self.body(x)).chunk(2, 1)
        return mean, logvar.exp()


class StepOnly(Base):
    """All of it is in the step, with log standard deviations; it keeps its losses in a list."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.mean, self.log_std = body(), nn.Linear(32, 4), nn.Linear(32, 4)
        self.generator, self.losses = generator(), [0.0]

    def training_step(self, batch: Any, _: int) -> dict[str, Tensor]:
        x = batch[0]
        hidden = self.body(x)
        mean, log_std = self.mean(hidden), self.log_std(hidden)
        y = self.generator(mean + torch.randn_like(mean) * log_std.exp())
        loss = (y - x).square().flatten(1).sum(1).mean() + rate(mean, 2 * log_std)
        self.losses.append(float(loss))
        return {"loss": loss}

    def truth(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.body(x)
        return self.mean(hidden), (2 * self.log_std(hidden)).exp()


class SquaredSigmoid(Base):
    """encode and decode; ends in a sigmoid, but what it loses is a squared error."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.heads, self.generator = body(), nn.Linear(32, 8), generator(nn.Sigmoid())

    def encode(self, x: Tensor) -> Any:
        return self.heads(self.body(x)).chunk(2, 1)

    def decode(self, z: Tensor) -> Tensor:
        y: Tensor = self.generator(z)
        return y

    def forward(self, x: Tensor) -> Tensor:
        mean, logvar = self.encode(x)
        return self.decode(mean + torch.randn_like(mean) * (0.5 * logvar).exp())

    def training_step(self, batch: Any, _: int) -> Tensor:
        x = batch[0]
        mean, logvar = self.encode(x)
        y = self.decode(mean + torch.randn_like(mean) * (0.5 * logvar).exp())
        return 10 * F.mse_loss(y, x, reduction="none").flatten(1).sum(1).mean() + rate(mean, logvar)

    def truth(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.encode(x)
        return mean, logvar.exp()


class Odd(StepOnly):
    """Something follows on the decoder, and the loss is none that is known."""

    def training_step(self, batch: Any, _: int) -> Any:
        x = batch[0]
        mean = self.mean(self.body(x))
        y = torch.sin(3 * self.generator(mean + torch.randn_like(mean)))
        return (y - x).abs().pow(1.5).sum()


class Manual(StepOnly):
    """Steps its optimiser itself: its step is never called."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch: Any, _: int) -> Any:
        raise AssertionError("a step that changes weights")


def trained(kind: type[Base], x: Tensor) -> Any:
    torch.manual_seed(0)
    model = kind()
    rows = torch.utils.data.TensorDataset(x, torch.zeros(len(x), dtype=torch.long))
    trainer = L.Trainer(
        max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(model, torch.utils.data.DataLoader(rows, batch_size=64, shuffle=True))
    return model


STYLES = [
    (Wrapper, "logits", "bernoulli"),
    (Distributions, "pixels", "squared-error"),
    (ForwardIsLoss, "probabilities", "bernoulli"),
    (StepOnly, "pixels", "squared-error"),
    (SquaredSigmoid, "probabilities", "squared-error"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "output", "family"), STYLES, ids=str)
def test_a_module_is_read_as_it_was_trained(
    kind: type[Base], output: str, family: str, digits: Tensor
) -> None:
    model = trained(kind, digits[:768])
    before = {name: value.clone() for name, value in model.state_dict().items()}
    kept = list(getattr(model, "losses", []))
    opened = vs.open_model(model, digits)
    mean, variance = model.eval().truth(digits[opened.rows])
    np.testing.assert_allclose(opened.codes.mean, mean.detach(), atol=1e-5)
    np.testing.assert_allclose(opened.codes.variance, variance.detach(), rtol=1e-4)
    said = {one.what: one for one in opened.inferred}
    assert (said["output"].value, said["value_range"].value) == (output, "0,1")
    assert "loss of its training_step has this distortion" in said["output"].why
    # What is scored: nats of a Bernoulli, or a squared error.
    z = torch.from_numpy(opened.codes.mean[:8])
    x = digits[opened.rows[:8]]
    with opened.evaluating():
        density = opened.decode(z)
        own = -density.log_prob(x)
        y = density.mean
    lost = F.mse_loss if family == "squared-error" else F.binary_cross_entropy
    wanted = lost(y, x, reduction="none").flatten(1).sum(1)
    gap = own - wanted  # but for a constant
    assert float(gap.max() - gap.min()) < 1e-3 * float(wanted.max() - wanted.min())
    after = model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert list(getattr(model, "losses", [])) == kept and "log" not in vars(model)


def test_a_step_with_an_unknown_loss_and_one_that_changes_weights_are_asked_about(
    digits: Tensor,
) -> None:
    for kind in (Odd, Manual):
        with pytest.raises(ReadingError):
            vs.open_model(kind(), digits)
