from dataclasses import fields

import pytest

import vaescope as vs
from vaescope.errors import UsageError
from vaescope.inspection.effort import EFFORTS, effort_named


def test_fast_does_no_more_than_the_default_and_that_no_more_than_thorough() -> None:
    sizes = [field.name for field in fields(EFFORTS["default"]) if field.name != "metrics"]
    for size in sizes:
        fast, default, thorough = (
            getattr(EFFORTS[name], size) for name in ("fast", "default", "thorough")
        )
        assert 0 <= fast <= default <= thorough > 0, size
        # Fast fits no local decoders, and only thorough looks more closely.
        assert fast > 0 or size in ("fits", "nonlinear", "pilot", "closer")


def test_by_default_local_decoders_are_linear_at_50_points_and_bent_at_10_of_them() -> None:
    assert (EFFORTS["default"].fits, EFFORTS["default"].nonlinear) == (50, 10)


def test_thorough_fits_all_local_decoders_at_the_same_points() -> None:
    assert EFFORTS["thorough"].fits == EFFORTS["thorough"].nonlinear


def test_an_unknown_effort_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="fast, default, thorough"):
        effort_named("quick")


@pytest.mark.slow
def test_what_an_effort_leaves_out_is_null_with_its_reason() -> None:
    x = vs.known.signals()
    found = vs.inspect(vs.known.linear_vae(x, latent=3), x, effort="latents").to_dict()
    assert (found["n"], found["d"], found["metrics"]) == (len(x), 3, {})
    assert found["versions"]["vaescope"] == vs.__version__ and len(found["latents"]["types"]) == 3
    for part in ("correlation", "decomposition", "effective_beta", "overlap"):
        assert found[part] is None and "--effort fast" in found["skipped"][part]
    assert all("--effort fast" in found["skipped"][name] for name in found["geometry"])
