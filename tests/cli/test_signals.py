"""`vaescope inspect` on somebody's weights and files of other fields than images."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vaescope.cli import main

CODE = """
import torch
from torch import nn

class Sequences(nn.Module):
    def __init__(self, time_first=False):
        super().__init__()
        self.time_first = time_first
        self.gru, self.head, self.back = nn.GRU(3, 8), nn.Linear(8, 4), nn.Linear(2, 3 * 6)

    def encode(self, x):
        h = self.gru(x if self.time_first else x.transpose(0, 1))[1][0]
        return self.head(h).chunk(2, 1)

    def decode(self, z):
        y = self.back(z).view(-1, 6, 3)
        return y.transpose(0, 1) if self.time_first else y

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(mu + torch.randn_like(mu) * (0.5 * logvar).exp()), mu, logvar

def rows_first():
    torch.manual_seed(0)
    return Sequences()

def time_first():
    torch.manual_seed(0)
    return Sequences(True)

class Padded(Sequences):
    def encode(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            x.transpose(0, 1), lengths.cpu(), enforce_sorted=False)
        return self.head(self.gru(packed)[1][0]).chunk(2, 1)

    def forward(self, x, lengths):
        mu, logvar = self.encode(x, lengths)
        return self.decode(mu + torch.randn_like(mu) * (0.5 * logvar).exp()), mu, logvar

def padded():
    torch.manual_seed(0)
    return Padded()
"""


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with somebody's code, weights and sensors, in which we are."""
    (tmp_path / "sensors_2207.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    import sensors_2207  # type: ignore[import-not-found]

    with torch.random.fork_rng():
        torch.save(sensors_2207.rows_first().state_dict(), "model.pt")
    rng = np.random.default_rng(0)
    np.save("sensors.npy", 5 * rng.standard_normal((60, 6, 3)).astype(np.float32))
    np.save("lengths.npy", rng.integers(2, 7, 60))
    yield tmp_path
    sys.modules.pop("sensors_2207", None)


def command(monkeypatch: Any, capsys: Any, *words: str) -> tuple[int, dict[str, Any]]:
    line = ["vaescope", "inspect", "model.pt", "--data", "sensors.npy", "--effort", "latents"]
    monkeypatch.setattr("sys.argv", [*line, "--json", *words])
    with torch.random.fork_rng(), pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0), json.loads(capsys.readouterr().out)


def kl_of(content: dict[str, Any]) -> list[float]:
    found: list[float] = content["latents"]["kl"]
    return found


def true_kl(mu: torch.Tensor, logvar: torch.Tensor) -> list[float]:
    kl = 0.5 * (mu.square() + logvar.exp() - 1 - logvar)
    return [float(value) for value in kl.mean(0).detach()]


@pytest.mark.slow
def test_sequences_of_a_file_go_in_as_they_are(there: Path, monkeypatch: Any, capsys: Any) -> None:
    import sensors_2207

    x = torch.from_numpy(np.load("sensors.npy"))
    truth = true_kl(*sensors_2207.rows_first().encode(x))
    words = ["--model", "sensors_2207:rows_first", "--columns", "flow,pressure,ph"]
    code, found = command(monkeypatch, capsys, *words)
    assert code == 0, found
    assert kl_of(found) == pytest.approx(truth, rel=1e-3)
    code, found = command(monkeypatch, capsys, "--model", "sensors_2207:time_first",
                          "--batch-axis", "1")  # fmt: skip
    assert code == 0, found
    assert kl_of(found) == pytest.approx(truth, rel=1e-3)


@pytest.mark.slow
def test_lengths_come_from_a_file(there: Path, monkeypatch: Any, capsys: Any) -> None:
    import sensors_2207

    lengths = np.load("lengths.npy")
    x = torch.from_numpy(np.load("sensors.npy"))
    truth = true_kl(*sensors_2207.padded().encode(x, torch.from_numpy(lengths)))
    words = ["--model", "sensors_2207:padded", "--lengths", "lengths.npy"]
    code, found = command(monkeypatch, capsys, *words)
    assert code == 0, found
    assert kl_of(found) == pytest.approx(truth, rel=1e-3)


@pytest.mark.slow
def test_names_and_units_reach_the_page(there: Path, monkeypatch: Any, capsys: Any) -> None:
    Path("names.txt").write_text("flow\npressure\nph\n")
    line = ["vaescope", "inspect", "model.pt", "--data", "sensors.npy", "--fast",
            "--model", "sensors_2207:rows_first", "--columns", "names.txt",
            "--mean", "1,2,3,4,5,6", "--std", "2", "--kind", "signals"]  # fmt: skip
    monkeypatch.setattr("sys.argv", line)
    with torch.random.fork_rng(), pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code, capsys.readouterr().err
    page = Path("report.html").read_text()
    assert all(name in page for name in ("flow", "pressure"))


@pytest.mark.parametrize(("words", "said"), [
    (["--kind", "sounds"], "kind='sounds'"),
    (["--mean", "one"], "--mean is 'one'"),
    (["--mean", "1"], "Only one of mean= and std="),
    (["--batch-axis", "2"], "batch_axis=2"),
    (["--lengths", "nowhere.npy"], "nowhere.npy"),
])  # fmt: skip
def test_what_is_wrong_is_said(
    words: list[str], said: str, there: Path, monkeypatch: Any, capsys: Any
) -> None:
    code, found = command(monkeypatch, capsys, "--model", "sensors_2207:rows_first", *words)
    assert code in (1, 2)
    assert said in found["error"]["message"] + found["error"]["remedy"]
