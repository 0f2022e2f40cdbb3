"""Studies of what the objective itself prefers, against closed forms."""

import numpy as np
import pytest

from vaescope.geometry.polar import coordinate_system
from vaescope.studies.mathieu2019 import subspaces, towards_modes
from vaescope.studies.zietlow2022 import coordinates, local_global


def test_the_cost_of_a_flat_sheet_is_the_closed_form_at_any_rotation() -> None:
    """Linear decoders: sigma_k^2 = 1 / (1 + ||column||^2 / s^2), and 1/2 + log(1 / sigma_k)."""
    of, noise = local_global.sheet(0, 0.0), 0.3
    z = np.random.default_rng(0).normal(size=(5, 2))
    for turn in (0.0, 20.0, 45.0):
        columns = (np.diag(local_global.STRETCH) @ local_global._axes(turn)) ** 2
        wanted = float((0.5 + 0.5 * np.log1p(columns.sum(axis=0) / noise**2)).sum())
        assert local_global.cost(of, z, turn, noise) == pytest.approx(wanted, abs=1e-4)
    found, price = local_global.best_turn(of, z, noise, rounds=10)
    assert found == 0.0 and price > 0.0
    # Its slopes are its derivatives.
    bent, step = local_global.sheet(1, local_global.HEIGHT), 1e-6
    for k in range(2):
        moved = (bent(z + step * np.eye(2)[k]) - bent(z)) / step
        assert bent.slopes(z)[:, :, k] == pytest.approx(moved, abs=1e-4)
    assert local_global.apart(3.0, 88.0) == pytest.approx(5.0)


def test_posteriors_of_one_datum_have_the_closed_form_of_their_weights() -> None:
    """Nothing to reconstruct: N(mode, entropy / prior weight times the mode's variance)."""
    x, start = np.zeros(1), np.array([1.8])
    for prior, entropy in ((1.0, 1.0), (4.0, 1.0), (4.0, 2.0)):
        found = towards_modes.solve(x, start, prior, entropy)
        assert found.mean[0] == pytest.approx(2.0, abs=0.01)
        wanted = np.sqrt(entropy / prior * towards_modes.VARIANCE)
        assert found.scale[0] == pytest.approx(wanted, rel=0.02)


def test_rotations_within_a_group_are_free_and_the_gradient_is_that_of_the_prior() -> None:
    z = subspaces.grouped(3, 2, rows=50)
    turn = np.eye(6)
    c, s = np.cos(0.7), np.sin(0.7)
    turn[:2, :2] = [[c, -s], [s, c]]
    value, slope = subspaces._slope(z, 2)
    assert subspaces._slope(z @ turn, 2)[0] == pytest.approx(value, abs=1e-12)
    assert subspaces._slope(z @ turn, 1)[0] != pytest.approx(subspaces._slope(z, 1)[0], abs=1e-6)
    step = np.zeros_like(z)
    step[7, 3] = 1e-6
    numeric = (subspaces._slope(z + step, 2)[0] - value) / 1e-6 * len(z)
    assert slope[7, 3] == pytest.approx(numeric, rel=1e-4)
    # What is within the groups is all of it for the sources, and a third by chance.
    assert subspaces.recovered(turn, 2, 2) == pytest.approx(1.0)
    assert subspaces.recovered(np.full((6, 6), 6**-0.5), 2, 2) == pytest.approx(1 / 3)


def test_codes_made_by_rule_are_of_their_coordinate_system() -> None:
    for arm, kind in (("polar", "polar"), ("cartesian", "cartesian")):
        codes = coordinates.made(4, 1500, arm)
        assert coordinate_system(codes, (0, 1)).kind == kind
