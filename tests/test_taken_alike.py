"""A path, a run, an open model and the model itself are taken alike, and shown in one line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.comparing.hand_made import hand_made, write_run

import vaescope as vs
from vaescope.build import build_data
from vaescope.errors import UsageError

FORMS = ("text", "path", "run", "open", "model")


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    spec, vae = hand_made("seed=3")
    run = write_run(tmp_path_factory.mktemp("alike"), "a", spec, vae)
    return {
        "text": str(run.path), "path": run.path, "run": run, "open": vs.open_model(run),
        "model": vae, "data": build_data(spec.data),
    }  # fmt: skip


ACTS: dict[str, Callable[[Any, Any, Path], Any]] = {
    "encode": lambda m, x, _: vs.encode(m, x).mean,
    "load_vae": lambda m, x, _: vs.encode(vs.load_vae(m), x).mean,
    "compare": lambda m, x, _: len(vs.compare(m, m, data=x, images=False).latents),
    "prune": lambda m, x, out: (
        vs.prune(m, x, out=out).dropped
        if isinstance(m, str | Path | vs.Run)
        else vs.prune(m, x).dropped
    ),
    "inspect": lambda m, x, _: [z.kl_nats for z in vs.inspect(m, x, effort="latents").latents],
}


@pytest.mark.slow
@pytest.mark.parametrize("act", ACTS)
def test_each_act_takes_each_form(act: str, given: dict[str, Any], tmp_path: Path) -> None:
    results = [ACTS[act](given[form], given["data"], tmp_path / form) for form in FORMS]
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], rtol=1e-6)


def test_other_data_of_an_open_model_are_used_or_refused_never_ignored(
    given: dict[str, Any],
) -> None:
    rows = given["data"].rows(np.arange(20))
    assert vs.open_model(given["open"], rows).codes.n == 20
    np.testing.assert_array_equal(
        vs.encode(given["open"], rows).mean, vs.encode(given["run"], rows).mean
    )
    with pytest.raises(UsageError, match="open on Dataset"):
        vs.open_model(given["open"], np.zeros((4, 7), dtype=np.float32))
    with pytest.raises(UsageError, match="is open already"):
        vs.open_model(given["open"], posterior="std")
    stranger = vs.open_model(vs.load_vae(given["run"]), given["data"])
    assert vs.open_model(stranger) is stranger
    with pytest.raises(UsageError, match="load_vae is for models"):
        vs.load_vae(np.linalg)


def test_what_holds_arrays_is_shown_in_one_line(given: dict[str, Any]) -> None:
    opened = given["open"]
    found = vs.inspect(opened, effort="latents")
    compared = vs.compare(given["run"], given["model"], data=given["data"], images=False)
    for one in (given["data"], opened, opened.codes, found, compared):
        assert "\n" not in repr(one)
        assert len(repr(one)) < 120, repr(one)
    assert repr(given["data"]) == "Dataset(synth-linear: 300 rows of shape (3,), no factors)"
