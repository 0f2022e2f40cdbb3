"""`vaescope measure` on real codes, against disentanglement_lib's values."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaescope.cli import main

MODELS = ["btcvae_dsprites", "betaB_dsprites", "VAE_dsprites", "betaH_dsprites",
          "btcvae_dsprites_a0"]  # fmt: skip


def run(monkeypatch: Any, capsys: Any, *arguments: str) -> tuple[int, dict[str, Any]]:
    monkeypatch.setattr("sys.argv", ["vaescope", "measure", *arguments, "--json"])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0), json.loads(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_dlib_protocol_gives_disentanglement_libs_values(
    model: str, shared_data: Callable[[str], Path], monkeypatch: Any, capsys: Any
) -> None:
    codes = shared_data(f"pretrained/codes/{model}_codes.npz")
    oracle = json.loads(shared_data("pretrained/oracle.json").read_text())[model]
    chosen = ["--metrics", "mig,modularity,sap_continuous", "--protocol", "dlib"]
    code, got = run(monkeypatch, capsys, str(codes), *chosen)
    assert code == 0
    scores = got["metrics"]["mean"]
    assert scores["mig"]["value"] == pytest.approx(oracle["MIG_20bins_10000"], abs=1e-6)
    assert scores["modularity"]["value"] == pytest.approx(oracle["modularity"], abs=1e-6)
    assert scores["sap_continuous"]["value"] == pytest.approx(oracle["SAP_cont_10000"], abs=1e-6)
    np.testing.assert_allclose(
        scores["mig"]["details"]["mutual_information"],
        oracle["MI_matrix_nats_latent_by_factor"],
        atol=1e-6,
    )
    correlation = got["correlation"]["mean"]["total_correlation"]
    assert correlation == pytest.approx(oracle["gaussian_TC_mean_all"], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_learnt_metrics_are_close_to_disentanglement_libs(
    model: str, shared_data: Callable[[str], Path], monkeypatch: Any, capsys: Any
) -> None:
    """DCI of one model: gradient boosting of the others is in tests/metrics/test_dci.py."""
    codes = shared_data(f"pretrained/codes/{model}_codes.npz")
    oracle = json.loads(shared_data("pretrained/oracle.json").read_text())[model]
    dci = oracle["DCI_gbt_1000_1000"] if model == MODELS[0] else None
    wanted = "sap" + (",dci_disentanglement,dci_completeness" if dci else "")
    settings = ["--protocol", "dlib", "--train", "1000", "--test", "1000", "--on", "mean"]
    _, got = run(monkeypatch, capsys, str(codes), "--metrics", wanted, *settings)
    scores = got["metrics"]["mean"]
    assert scores["sap"]["value"] == pytest.approx(oracle["SAP_disc_1000_1000"], abs=0.005)
    if dci:
        assert scores["dci_disentanglement"]["value"] == pytest.approx(dci["D"], abs=0.03)
        assert scores["dci_completeness"]["value"] == pytest.approx(dci["C"], abs=0.03)


def test_codes_without_factors_are_measured_as_far_as_they_go(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    generator = np.random.default_rng(0)
    np.savez(tmp_path / "c.npz", mean=generator.normal(size=(500, 3)), std=np.full((500, 3), 0.1))
    code, got = run(monkeypatch, capsys, str(tmp_path / "c.npz"))
    assert code == 0
    alone = {"id_mle", "id_two_nn"}  # these need no factors; the next two are of means
    assert set(got["metrics"]["sample"]) == alone
    assert set(got["metrics"]["mean"]) == alone | {"active_units", "entropy_of_means"}
    assert "factors" in got["skipped"]["metrics"]
    assert got["latents"]["types"] == ["active"] * 3
    code, got = run(monkeypatch, capsys, str(tmp_path / "c.npz"), "--metrics", "mig")
    assert code == 1
    assert "factors" in got["error"]["message"]
    code, got = run(monkeypatch, capsys, str(tmp_path / "c.npz"), "--on", "median")
    assert code == 2


def test_wrong_names_and_files_are_said_also_where_there_are_no_factors(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    path = str(tmp_path / "c.npz")
    np.savez(path, mean=np.eye(3), std=np.ones((3, 3)))
    code, got = run(monkeypatch, capsys, path, "--protocol", "foo")
    assert code != 0 and "there are default, dlib" in got["error"]["message"]
    code, got = run(monkeypatch, capsys, path, "--metrics", "migg")
    assert code != 0 and "no metric migg; there are" in got["error"]["message"]
    assert "Did you mean mig?" in str(got["error"])
    code, got = run(monkeypatch, capsys, f"{path}.not-there")
    assert code != 0 and "does not exist" in got["error"]["message"]
    assert "Errno" not in str(got["error"])


def test_names_of_metrics_may_have_spaces_after_their_commas(
    tmp_path: Path, generator: np.random.Generator, monkeypatch: Any, capsys: Any
) -> None:
    v = generator.integers(3, size=(50, 2))
    np.savez(tmp_path / "two words.npz", mean=v * 1.0, std=np.ones(v.shape), factors=v)
    code, got = run(monkeypatch, capsys, str(tmp_path / "two words.npz"), "--metrics", "mig, mcc")
    assert code == 0 and set(got["metrics"]["mean"]) == {"mig", "mcc"}
