"""Leading latents and their overlap with principal components."""

import numpy as np
import pytest

from vaescope.studies.zietlow2022.figure_3_6 import overlap


def test_the_same_space_in_other_columns_overlaps_wholly() -> None:
    columns = np.random.default_rng(0).standard_normal((20, 3))
    mix = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [3.0, 0.0, 1.0]])
    assert overlap(columns, columns @ mix) == pytest.approx(1.0)


def test_orthogonal_spaces_do_not_overlap() -> None:
    assert overlap(np.eye(6)[:, :2], np.eye(6)[:, 3:5]) == 0.0


def test_one_shared_direction_of_two_is_a_half() -> None:
    assert overlap(np.eye(6)[:, :2], np.eye(6)[:, 1:3]) == pytest.approx(0.5)


def test_random_spaces_overlap_by_their_share_of_all_dimensions() -> None:
    draws = np.random.default_rng(0).standard_normal((200, 2, 40, 4))
    found = [overlap(a, b) for a, b in draws]
    np.testing.assert_allclose(np.mean(found), 4 / 40, rtol=0.1)
