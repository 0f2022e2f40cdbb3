import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from vaescope.errors import ShapeError
from vaescope.information.discrete import (
    entropy,
    joint_counts,
    mutual_information,
)


def test_mutual_information_of_disentanglement_libs_test() -> None:
    a = np.array([[1, 2, 1, 2], [1, 1, 2, 2]]).T
    b = np.array([[1, 2, 1, 2], [2, 2, 1, 1]]).T
    np.testing.assert_allclose(mutual_information(a, b), np.diag([np.log(2)] * 2), atol=1e-12)


def test_mutual_information_equals_scikit_learns(generator: np.random.Generator) -> None:
    a = generator.integers([20, 5, 1], size=(1000, 3))
    b = (a[:, :2] + generator.integers(3, size=(1000, 2))) // 2
    ours = mutual_information(a, b)
    for i in range(3):
        for j in range(2):
            assert ours[i, j] == pytest.approx(mutual_info_score(a[:, i], b[:, j]), abs=1e-12)


def test_counts_do_not_depend_on_the_chunks(generator: np.random.Generator) -> None:
    a = generator.integers(7, size=(70_000, 2))
    b = generator.integers([3, 11], size=(70_000, 2))
    joint = joint_counts(a, b).joint[1]
    assert joint.shape == (7, 14)
    assert joint[4, 3 + 5] == np.sum((a[:, 1] == 4) & (b[:, 1] == 5))


def test_information_with_itself_is_entropy(generator: np.random.Generator) -> None:
    a = generator.integers(9, size=(500, 2))
    np.testing.assert_allclose(np.diag(mutual_information(a, a)), entropy(a), atol=1e-12)
    np.testing.assert_allclose(joint_counts(a, a).entropy_of_a(), entropy(a), atol=1e-12)


@pytest.mark.parametrize("n", [300, 3000])
def test_chance_is_the_mean_over_permutations(n: int, generator: np.random.Generator) -> None:
    a = np.digitize(generator.normal(size=(n, 1)), np.linspace(-3, 3, 19))
    b = generator.integers([3, 40], size=(n, 2))
    shuffled = [mutual_information(a, b[generator.permutation(n)]) for _ in range(200)]
    np.testing.assert_allclose(joint_counts(a, b).chance(), np.mean(shuffled, axis=0), rtol=0.08)


def test_adjustment_takes_the_bias_away(generator: np.random.Generator) -> None:
    a, b = generator.integers(20, size=(2000, 6)), generator.integers(30, size=(2000, 6))
    counts = joint_counts(a, b)
    plug_in = counts.information().mean()
    assert plug_in == pytest.approx(19 * 29 / 4000, rel=0.1)  # the expansion's first term
    assert counts.adjusted_information().mean() < 0.06 * plug_in
    assert not counts.informed().any()


def test_adjusted_information_of_a_determined_variable_is_its_entropy(
    generator: np.random.Generator,
) -> None:
    b = generator.integers(12, size=(400, 1))
    counts = joint_counts(b[:, ::-1], b)
    np.testing.assert_allclose(counts.adjusted_information()[0], entropy(b), atol=1e-12)
    assert counts.informed().all()


def test_a_weak_relation_is_told_from_chance(generator: np.random.Generator) -> None:
    b = generator.integers(4, size=(2000, 1))
    weak = 0.4 * b[:, 0] + generator.normal(size=2000)
    a = np.digitize(np.column_stack([weak, generator.normal(size=2000)]), np.linspace(-3, 3, 19))
    np.testing.assert_array_equal(joint_counts(a, b).informed(), [True, False])


def test_wrong_shapes_and_classes_are_errors() -> None:
    with pytest.raises(ShapeError, match="same n"):
        mutual_information(np.zeros((3, 1), int), np.zeros((4, 1), int))
    with pytest.raises(ShapeError, match="Count classes from 0"):
        entropy(np.array([[-1], [0]]))


@pytest.mark.parametrize(("n", "classes"), [(288, 16), (300, 3), (5000, 10)])
def test_the_deviation_of_chance_is_that_of_permutations(n: int, classes: int) -> None:
    """Also where cells hold less than one row, and 2 n I is far from chi-squared."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(20, size=(n, 1)), rng.integers(classes, size=(n, 1))
    drawn = [mutual_information(a, rng.permutation(b))[0, 0] for _ in range(400)]
    counts = joint_counts(a, b)
    assert counts.chance_deviation()[0, 0] == pytest.approx(np.std(drawn), rel=0.12)
