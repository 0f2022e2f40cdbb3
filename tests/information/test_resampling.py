import numpy as np

from vaescope.information.discrete import mutual_information
from vaescope.information.resampling import (
    block_weights,
    information_replicates,
    moment_replicates,
)


def test_weights_draw_as_many_blocks_as_there_are(generator: np.random.Generator) -> None:
    rows, weights = block_weights(1000, resamples=50, rng=generator)
    np.testing.assert_array_equal(weights.sum(axis=1), 256)
    assert set(np.bincount(rows)) == {3, 4}
    assert block_weights(10, resamples=2, rng=generator)[1].shape == (2, 10)


def test_replicates_spread_as_fresh_samples_do(generator: np.random.Generator) -> None:
    def draw() -> tuple[np.ndarray, np.ndarray]:
        b = generator.integers(4, size=(2000, 1))
        return (b + generator.integers(3, size=(2000, 1))) // 2, b

    fresh = np.array([mutual_information(*draw())[0, 0] for _ in range(200)])
    replicates = information_replicates(*draw(), resamples=200, rng=generator)
    assert 0.7 < replicates.information[:, 0, 0].std() / fresh.std() < 1.4
    assert replicates.entropy_of_b.shape == (200, 1)


def test_correlations_of_replicates_are_centred_and_spread_as_theory_says(
    generator: np.random.Generator,
) -> None:
    x = generator.normal(size=(5000, 2))
    x[:, 1] = 0.6 * x[:, 0] + 0.8 * x[:, 1] + 1e6
    drawn = moment_replicates(np.column_stack([x, np.ones(5000)]), resamples=300, rng=generator)
    theory = (1 - 0.6**2) / np.sqrt(5000)
    assert 0.8 < drawn[:, 0, 1].std() / theory < 1.25
    assert abs(drawn[:, 0, 1].mean() - np.corrcoef(x.T)[0, 1]) < 0.003
    np.testing.assert_array_equal(drawn[:, 2], 0.0)
